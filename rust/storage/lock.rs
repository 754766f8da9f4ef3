//! The lock on a local folder: one process at a time.
//!
//! The operating system holds the lock and drops it with the process, so a stale file locks nobody
//! out. The file's text only informs.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};

/// A held lock; released when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the store in the folder `root`.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process, or another store of this process, holds it.
    pub(super) fn take(root: &Path) -> Result<Self> {
        let path = root.join("LOCK");
        let refusal = |fault: &dyn std::fmt::Display| {
            Error::Options(format!("cannot lock `{}`: {fault}", path.display()))
        };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(|fault| refusal(&fault))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                let _unknown_holder = file.read_to_string(&mut holder);
                let holder = holder.lines().next().unwrap_or("another process");
                return Err(Error::Locked(format!("`{}` is held by {holder}", root.display())));
            }
            Err(fault) => return Err(refusal(&fault)),
        }
        let text = format!("process {}\n{}\n", std::process::id(), root.display());
        let written = file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|fault| refusal(&fault))?;
        Ok(Self { _file: file })
    }
}
