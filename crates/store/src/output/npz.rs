//! Archives of npy members.

use std::io::{self, BufWriter, Write};
use std::mem::ManuallyDrop;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::AtomicFile;

/// A member: its name without `.npy`, and the bytes of its data.
pub(super) type Member = (&'static str, u64);

/// Writes an npz whose members `write` fills, each called by its number. They are stored, so that they can be mapped, and lie
/// at multiples of 64, which the npy headers keep for the data. A fixed time, system and mode make the bytes reproducible.
pub(super) fn write_npz<E: From<io::Error>>(
    out: &mut AtomicFile,
    members: &[Member],
    mut write: impl FnMut(usize, &mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    const HEADER: u64 = 128; // of an npy with two axes
    // Dropped unfinished, the writer would print to stderr; a failure is told by the error alone.
    let mut zip = ManuallyDrop::new(ZipWriter::new(out));
    for (which, &(name, bytes)) in members.iter().enumerate() {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .system(System::Unix)
            .unix_permissions(0o644)
            .large_file(bytes + HEADER > u64::from(u32::MAX))
            .with_alignment(64);
        zip.start_file(format!("{name}.npy"), options).map_err(io::Error::from)?;
        let mut buffered = BufWriter::with_capacity(1 << 16, &mut *zip);
        write(which, &mut buffered)?;
        buffered.flush()?;
    }
    ManuallyDrop::into_inner(zip).finish().map_err(io::Error::from)?;
    Ok(())
}
