//! The lock on a local folder: one process at a time.
//!
//! The operating system holds the lock and drops it with the process, so a stale file locks nobody
//! out. It is held twice: on the folder itself, which is the same by whatever path it is reached and
//! whatever is removed from it, and on the file `LOCK`, for file systems that lock no folders. The
//! file's text only informs.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// A held lock; released when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _folder: File,
    _file: File,
}

impl Lock {
    /// Takes the lock of the store in the folder `root`.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process, or another store of this process, holds it.
    pub(crate) fn take(root: &Path) -> Result<Self> {
        let path = root.join("LOCK");
        let refusal = |fault: &dyn std::fmt::Display| {
            Error::Options(format!("cannot lock `{}`: {fault}", path.display()))
        };
        let folder = File::open(root).map_err(|fault| refusal(&fault))?;
        // Any other fault: this file system locks no folders.
        if flock(&folder, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(held(root));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(|fault| refusal(&fault))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(held(root)),
            Err(fault) => return Err(refusal(&fault)),
        }
        let text = format!("process {}\n{}\n", std::process::id(), root.display());
        let written = file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|fault| refusal(&fault))?;
        Ok(Self { _folder: folder, _file: file })
    }
}

fn held(root: &Path) -> Error {
    let holder = fs::read_to_string(root.join("LOCK")).unwrap_or_default();
    let holder = holder.lines().next().unwrap_or("another process");
    Error::Locked(format!("`{}` is held by {holder}", root.display()))
}
