//! The bytes of a file, mapped or read. The only unsafe code of this crate.
//!
//! # Contract of the map
//!
//! A mapped file must not be changed or truncated while it is mapped; nobody can enforce that on another process. So:
//! values are read as plain numbers, for which every bit pattern is valid; [`Source::verify_unchanged`] compares size,
//! modification time and identity before a result is published; and a program can call [`install_fault_handler`], since
//! reading past a truncation raises SIGBUS. [`Io::Read`] is immune to all of this.
#![allow(unsafe_code)]

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memmap2::Mmap;

use crate::StoreError;
use crate::error::Need;

/// How a file gets into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// Mapped: pages come and go as they are needed, and data larger than memory can be searched.
    #[default]
    Map,
    /// Read whole into memory: immune to changes by others.
    Read,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

/// An open file: its bytes, and what it looked like when it was opened.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    bytes: Bytes,
    stamp: Stamp,
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    identity: (u64, u64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            (meta.dev(), meta.ino())
        };
        #[cfg(not(unix))]
        let identity = (0, 0);
        Self { size: meta.len(), modified: meta.modified().ok(), identity }
    }
}

impl Source {
    /// Opens a regular file; to be read whole, it must fit `budget` bytes.
    pub(crate) fn open(path: &Path, io: Io, budget: u64) -> Result<Self, StoreError> {
        let fail = |source| StoreError::CannotOpen { path: path.to_owned(), source };
        // Asked before opening, because opening a FIFO waits for a writer.
        let meta = fs::metadata(path).map_err(fail)?;
        if !meta.is_file() {
            let kind = if meta.is_dir() { "a directory" } else { "not a regular file (a pipe, socket or device)" };
            return Err(StoreError::NotAFile { path: path.to_owned(), kind });
        }
        let file = File::open(path).map_err(fail)?;
        let meta = file.metadata().map_err(fail)?;
        let bytes = match io {
            // An empty file cannot be mapped.
            Io::Map if meta.len() > 0 => {
                // SAFETY: the map is read-only and private to this crate, which reads plain numbers out of it: any bit
                // pattern is valid. That the file is not truncated meanwhile is the contract stated above.
                let map = unsafe { Mmap::map(&file) }.map_err(fail)?;
                // Rows that are read here and there are found with fewer walks through page tables, where the system has large
                // pages for files.
                #[cfg(target_os = "linux")]
                let _ = map.advise(memmap2::Advice::HugePage);
                Bytes::Mapped(map)
            }
            _ if meta.len() > budget => {
                let (file, needed) = (path.display().to_string(), meta.len());
                return Err(StoreError::OverBudget { file, needed, need: Need::Read, budget });
            }
            _ => Bytes::Owned(read_whole(file, meta.len()).map_err(fail)?),
        };
        Ok(Self { path: path.to_owned(), bytes, stamp: Stamp::of(&meta) })
    }

    /// Where the file lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// The file as text, without a byte order mark.
    ///
    /// # Errors
    /// The line, from 1, that is no UTF-8.
    pub(crate) fn text(&self) -> Result<&str, usize> {
        let bytes = self.bytes();
        let text = str::from_utf8(bytes).map_err(|e| bytes[..e.valid_up_to()].split(|&b| b == b'\n').count())?;
        Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    /// Whether [`Source::bytes`] is a map of the file.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.bytes, Bytes::Mapped(_))
    }

    /// Bytes of memory that are not the file's own pages.
    pub(crate) fn held(&self) -> u64 {
        match &self.bytes {
            Bytes::Mapped(_) => 0,
            Bytes::Owned(bytes) => bytes.len() as u64,
        }
    }

    /// Has the system fetch a range of a mapped file that will be read soon.
    pub(crate) fn prefetch(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Bytes::Mapped(map) = &self.bytes {
            // Advice that is not taken costs time only.
            let _ = map.advise_range(memmap2::Advice::WillNeed, range.start, range.len());
        }
        #[cfg(not(unix))]
        let _ = range;
    }

    /// Compares the file with what it was when it was opened.
    pub(crate) fn verify_unchanged(&self) -> Result<(), StoreError> {
        let changed = |what| StoreError::Changed { path: self.path.clone(), what };
        let now = match fs::metadata(&self.path) {
            Ok(meta) => Stamp::of(&meta),
            Err(e) => return Err(changed(format!("it can no longer be found ({e})"))),
        };
        let was = self.stamp;
        if now.identity != was.identity {
            Err(changed("another file has taken its place".to_owned()))
        } else if now.size != was.size {
            Err(changed(format!("its size went from {} to {} bytes", was.size, now.size)))
        } else if now.modified != was.modified {
            Err(changed("its modification time is another".to_owned()))
        } else {
            Ok(())
        }
    }
}

/// Reads the `size` bytes that the file system states; of a file that grows meanwhile no more, so that it cannot go on
/// without end. That it grew shows when it is compared with what it was.
fn read_whole(file: File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX))?;
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes the process end with one line on stderr and exit code 74 when a mapped file turns out to be truncated (SIGBUS),
/// in place of a core dump. For programs; a library must leave signals alone. Does nothing where there is no SIGBUS.
pub fn install_fault_handler() {
    #[cfg(unix)]
    {
        extern "C" fn on_fault(_signal: libc::c_int) {
            const MESSAGE: &[u8] = b"error: an input file was truncated or became unreadable while it was mapped\n\
                hint: run again; --io read copies files into memory first and is immune\n";
            // SAFETY: write and _exit are async-signal-safe, and MESSAGE is a constant of the stated length.
            unsafe {
                libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(74);
            }
        }
        // SAFETY: the handler calls async-signal-safe functions only and does not return; sigaction gets a zeroed, then
        // filled structure. A failure leaves the default action in place, which ends the process as well.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Makes the allocator give every freed buffer of 512 KiB or more back to the system at once, so that what a process holds is
/// what it uses. For programs that promise a limit. Does nothing where the allocator is not glibc's, which otherwise keeps
/// buffers of up to 32 MiB, on each thread, once such a one has been freed.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a number of the allocator. A refusal leaves its default in place.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 512 << 10);
    }
}
