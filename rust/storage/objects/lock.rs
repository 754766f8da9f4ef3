//! The lock on a local folder, which admits one process at a time.
//!
//! The operating system releases the lock when the process ends, so a stale file never blocks the store. Two
//! things are locked. One is the folder itself, which is the same for every path to it and after any removal
//! of files. The other is the file `LOCK`, for file systems that cannot lock folders. The text of the file is
//! only informative.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use crate::error::{Error, Result};
use crate::storage::platform::{is_symbolic_link, no_follow, private, try_lock, unlock};

/// A held lock, which is released on drop.
#[derive(Debug)]
pub(crate) struct FolderLock {
    folder: File,
    file: File,
}

impl Drop for FolderLock {
    /// Unlocks explicitly instead of only closing the files. A child process that is being started has copies
    /// of the files until it executes its program, and would hold the lock until then.
    fn drop(&mut self) {
        for file in [&self.folder, &self.file] {
            // If unlocking fails, the lock is released when the last copy is closed.
            let _released_later = unlock(file);
        }
    }
}

impl FolderLock {
    /// Acquires the lock of the store in the folder `root`.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process, or another store of this process, holds it.
    pub(crate) fn acquire(root: &Path) -> Result<Self> {
        let path = root.join("LOCK");
        let failed = |error: &dyn std::fmt::Display| {
            Error::Options(format!("cannot lock `{}`: {error}", path.display()))
        };
        let folder = File::open(root).map_err(|error| failed(&error))?;
        // Any other error means that this file system cannot lock folders.
        if matches!(try_lock(&folder), Ok(false)) {
            return Err(held_by_another(root));
        }
        let mut options = OpenOptions::new();
        let options = no_follow(private(options.read(true).write(true).create(true).truncate(false)));
        let mut file = options.open(&path).map_err(|error| {
            if is_symbolic_link(&error) {
                // Following the link would overwrite a file outside the store.
                return failed(&"it is a symbolic link, expected a file of the store");
            }
            failed(&error)
        })?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(failed(&"expected a file"));
        }
        match try_lock(&file) {
            Ok(true) => {}
            Ok(false) => return Err(held_by_another(root)),
            Err(error) => return Err(failed(&error)),
        }
        let text = format!("process {}\n{}\n", std::process::id(), root.display());
        let written = file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&error))?;
        Ok(Self { folder, file })
    }
}

fn held_by_another(root: &Path) -> Error {
    let holder = fs::read_to_string(root.join("LOCK")).unwrap_or_default();
    let holder = holder.lines().next().unwrap_or("another process");
    Error::Locked(format!("`{}` is held by {holder}", root.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_released_although_a_process_that_is_being_started_has_copies_of_its_files() {
        let root = tempfile::TempDir::new().expect("a folder");
        let lock = FolderLock::acquire(root.path()).expect("a free folder");
        let _copies = [&lock.folder, &lock.file].map(|file| file.try_clone().expect("a copy"));
        assert!(matches!(FolderLock::acquire(root.path()), Err(Error::Locked(_))));
        drop(lock);
        FolderLock::acquire(root.path()).expect("a free folder");
    }
}
