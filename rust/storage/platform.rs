//! Differences between operating systems in the handling of local files.
//!
//! Stores in folders need Unix, because they lock and sync folders and read at an offset. On other systems
//! the crate compiles and keeps caches as far as possible, but opens no store in a folder.

#[cfg(not(unix))]
pub(crate) use other::*;
#[cfg(unix)]
pub(crate) use unix::*;

/// True if stores can be kept in local folders.
pub(crate) const HAS_LOCAL_STORES: bool = cfg!(unix);

#[cfg(unix)]
mod unix {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    #[cfg(target_os = "linux")]
    use std::num::NonZeroU64;
    use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};

    use rustix::fs::{FlockOperation, OFlags, flock, fstatvfs};
    use rustix::io::Errno;

    /// Makes a new file readable and writable for its owner only.
    pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
        options.mode(0o600)
    }

    /// Returns a builder of folders that only their owner can access.
    pub(crate) fn private_folder() -> DirBuilder {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        builder
    }

    /// Makes opening fail if the name is a symbolic link.
    pub(crate) fn no_follow(options: &mut OpenOptions) -> &mut OpenOptions {
        #[allow(clippy::cast_possible_wrap, reason = "a bit mask")]
        let no_follow = OFlags::NOFOLLOW.bits() as i32;
        options.custom_flags(no_follow)
    }

    /// Returns `true` if opening a file failed because its name is a symbolic link.
    pub(crate) fn is_symbolic_link(error: &io::Error) -> bool {
        error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
    }

    /// Returns `true` if the disk failed to read written data.
    pub(crate) fn is_unreadable(error: &io::Error) -> bool {
        error.raw_os_error() == Some(Errno::IO.raw_os_error())
    }

    /// Returns the device and inode of a file or folder, which identify it after a rename.
    pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
        (metadata.dev(), metadata.ino())
    }

    /// Fills `buffer` with the bytes of a file at `offset`.
    pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        file.read_exact_at(buffer, offset)
    }

    /// Prefetches bytes of a file into the system's cache, on systems that support it. Errors are ignored
    /// here, because the later read reports them.
    #[cfg(target_os = "linux")]
    pub(crate) fn will_read(file: &File, offset: u64, length: u64) {
        let _ = rustix::fs::fadvise(file, offset, NonZeroU64::new(length), rustix::fs::Advice::WillNeed);
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn will_read(_file: &File, _offset: u64, _length: u64) {}

    /// Locks a file or folder. Returns `false` if another process holds the lock.
    pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn unlock(file: &File) -> io::Result<()> {
        Ok(flock(file, FlockOperation::Unlock)?)
    }

    /// Returns the free space in bytes on the file system of a file or folder.
    pub(crate) fn free_bytes(file: &File) -> io::Result<u64> {
        let found = fstatvfs(file)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }
}

#[cfg(not(unix))]
mod other {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io;

    pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(crate) fn private_folder() -> DirBuilder {
        DirBuilder::new()
    }

    pub(crate) fn no_follow(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(crate) fn is_symbolic_link(_error: &io::Error) -> bool {
        false
    }

    pub(crate) fn is_unreadable(_error: &io::Error) -> bool {
        false
    }

    pub(crate) fn identity(_metadata: &Metadata) -> (u64, u64) {
        (0, 0)
    }

    pub(crate) fn read_exact_at(_file: &File, _buffer: &mut [u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn will_read(_file: &File, _offset: u64, _length: u64) {}

    pub(crate) fn try_lock(_file: &File) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn unlock(_file: &File) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn free_bytes(_file: &File) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
