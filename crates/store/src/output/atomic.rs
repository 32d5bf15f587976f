//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::WriteError;

/// A file being written beside its destination, under a hidden name, and renamed over it by [`AtomicFile::publish`].
///
/// Until then the destination is as it was; dropped, the new file leaves no trace. Writes are buffered. A destination
/// that is a symbolic link stays one: the file that it leads to is replaced. An existing file keeps its permissions
/// (its owner becomes the one who writes), a new one gets those of the process's umask.
///
/// # Examples
/// ```
/// use std::io::Write;
/// use mnno_store::output::AtomicFile;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("result.txt");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"0.0816\n")?;
/// assert!(!path.exists());
/// file.publish()?;
/// assert_eq!(std::fs::read(&path)?, b"0.0816\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    // The handle closes before the temporary is removed: fields drop in order.
    file: BufWriter<File>,
    temporary: TempPath,
    /// As the caller names it.
    path: PathBuf,
    /// With a symbolic link followed.
    destination: PathBuf,
    /// Whether all that was written is on the disk.
    synced: bool,
}

impl AtomicFile {
    /// Starts a file that is to become `path`.
    ///
    /// # Errors
    /// [`WriteError`] if the folder is missing or refuses new files, or if `path` is a folder, a device, a pipe, a link
    /// that leads nowhere, or a write-protected file.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(WriteError::Folder { path: path.to_owned() });
        }
        let destination = if path.is_symlink() {
            path.canonicalize().map_err(|source| match fs::metadata(path) {
                // As /dev/stdout leads to a pipe.
                Ok(target) if !target.is_file() => WriteError::Special { path: path.to_owned() },
                _ => WriteError::BrokenLink { path: path.to_owned(), source },
            })?
        } else {
            path.to_owned()
        };
        let existing = existing_file(path, &destination)?;
        let folder = match destination.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".mnno-").suffix(".tmp");
        #[cfg(unix)]
        builder.permissions(match &existing {
            Some(metadata) => metadata.permissions(),
            None => std::os::unix::fs::PermissionsExt::from_mode(0o666), // less the umask
        });
        let (file, temporary) = builder.tempfile_in(folder).map_err(|e| creation(path, folder, &e))?.into_parts();
        if let Some(metadata) = existing {
            // Once more, without the umask.
            file.set_permissions(metadata.permissions()).map_err(|source| WriteError::io(path, source))?;
        }
        let file = BufWriter::with_capacity(1 << 16, file);
        Ok(Self { file, temporary, path: path.to_owned(), destination, synced: false })
    }

    /// The destination, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Brings everything written so far to the disk, so that nothing but the rename is left to fail.
    ///
    /// # Errors
    /// [`WriteError`] if the disk is full or fails.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        if !self.synced {
            let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
            synced.map_err(|e| WriteError::io(&self.path, e))?;
            self.synced = true;
        }
        Ok(())
    }

    /// Brings everything to the disk and gives the file its name, in place of what was there.
    ///
    /// # Errors
    /// [`WriteError`] if the disk is full or fails, or the rename is refused; the destination is then as it was.
    pub fn publish(mut self) -> Result<(), WriteError> {
        self.sync()?;
        self.temporary.persist(&self.destination).map_err(|e| WriteError::io(&self.path, e.error))?;
        #[cfg(unix)]
        sync_folder(&self.destination);
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.synced = false;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

/// What lies at the destination now, if it may be replaced.
fn existing_file(path: &Path, destination: &Path) -> Result<Option<fs::Metadata>, WriteError> {
    let path = || path.to_owned();
    match fs::symlink_metadata(destination) {
        Ok(metadata) if metadata.is_dir() => Err(WriteError::Folder { path: path() }),
        Ok(metadata) if !metadata.is_file() => Err(WriteError::Special { path: path() }),
        Ok(metadata) if metadata.permissions().readonly() => Err(WriteError::ReadOnly { path: path() }),
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(WriteError::io(&path(), error)),
    }
}

fn creation(path: &Path, folder: &Path, source: &io::Error) -> WriteError {
    if source.kind() == io::ErrorKind::NotFound && !folder.exists() {
        WriteError::MissingFolder { path: path.to_owned(), folder: folder.to_owned() }
    } else {
        // Without the name of the temporary, which the caller never sees.
        let inner = source.get_ref().and_then(|wrapped| wrapped.source()).and_then(|inner| inner.downcast_ref());
        let code = inner.map_or_else(|| source.raw_os_error(), io::Error::raw_os_error);
        WriteError::io(path, code.map_or_else(|| source.kind().into(), io::Error::from_raw_os_error))
    }
}

/// Makes the rename last through a power cut. The new file is in place already, and some file systems have no such call
/// for a folder, so a failure is no failure of the output.
#[cfg(unix)]
fn sync_folder(destination: &Path) {
    if let Some(folder) = destination.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let _ = File::open(folder).and_then(|f| f.sync_all());
    }
}

/// Whether two paths lead to one file, by links of either kind or by another spelling. A path that leads nowhere is the
/// same as none.
pub fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |path| fs::metadata(path).map(|m| (m.dev(), m.ino()));
        matches!((id(a), id(b)), (Ok(a), Ok(b)) if a == b)
    }
    #[cfg(not(unix))]
    {
        matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
    }
}
