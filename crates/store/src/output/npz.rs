//! Archives of npy members.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};

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
    write: impl FnMut(usize, &mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = FirstFailure { file: out, failure: None, position: 0, length: 0 };
    let written = write_members(&mut out, members, write);
    match out.failure {
        Some(failure) => Err(failure.into()),
        None => written,
    }
}

fn write_members<E: From<io::Error>>(
    out: &mut FirstFailure<'_>,
    members: &[Member],
    mut write: impl FnMut(usize, &mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    const HEADER: u64 = 128; // of an npy with two axes
    let mut zip = ZipWriter::new(out);
    for (which, &(name, bytes)) in members.iter().enumerate() {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .system(System::Unix)
            .unix_permissions(0o644)
            .large_file(bytes + HEADER > u64::from(u32::MAX))
            .with_alignment(64);
        zip.start_file(format!("{name}.npy"), options).map_err(io::Error::from)?;
        let mut buffered = BufWriter::with_capacity(1 << 16, &mut zip);
        write(which, &mut buffered)?;
        buffered.flush()?;
    }
    zip.finish().map_err(io::Error::from)?;
    Ok(())
}

/// Keeps the first failure as the system gave it, and after it takes everything without writing it: a zip writer that fails
/// tries again to end its archive when it is dropped, and would print that it cannot.
struct FirstFailure<'a> {
    file: &'a mut AtomicFile,
    failure: Option<io::Error>,
    /// Where the file would stand, and how long it would be, had nothing failed.
    position: u64,
    length: u64,
}

impl FirstFailure<'_> {
    fn attempt(&mut self, action: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> io::Result<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        action(self.file).map_err(|error| {
            let kind = error.kind();
            self.failure = Some(error);
            kind.into()
        })
    }
}

impl Write for FirstFailure<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|file| file.write_all(bytes))?;
        self.position += bytes.len() as u64;
        self.length = self.length.max(self.position);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush)
    }
}

impl Seek for FirstFailure<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.length.checked_add_signed(offset),
        };
        let position = position.ok_or(io::ErrorKind::InvalidInput)?;
        self.attempt(|file| file.seek(SeekFrom::Start(position)).map(drop))?;
        self.position = position;
        Ok(position)
    }
}
