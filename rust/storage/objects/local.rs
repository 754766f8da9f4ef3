//! A local folder as a place of objects, with fsync of files and of the folders that name them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use object_store::local::LocalFileSystem;
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions};
use rustix::fs::{OFlags, fstatvfs};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::storage::objects::{Listed, ObjectReader, ObjectWriter, Objects, PutFault, PutPayload};

/// Only the owner reads and writes what is stored.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// So much of a large file is written before it is made durable. A file system may have whoever makes a small file
/// durable wait for all that others have written and not made durable yet: a merge of half a gigabyte held up
/// every commit for 0.7 s.
const PENDING_BYTES: usize = 8 << 20;

/// The folders of a store.
const FOLDERS: [&str; 3] = ["wal", "segments", "manifest"];

/// A folder of the local file system.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    /// Held open, so that it is this folder whatever its name is by now.
    handle: File,
    store: LocalFileSystem,
    /// Device and number of each of [`FOLDERS`] that was prepared.
    prepared: Vec<(&'static str, (u64, u64))>,
}

impl Folder {
    /// Opens the folder at `root`, which must exist.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no such folder.
    pub fn existing(root: &Path) -> Result<Self> {
        let refusal = |fault: &dyn std::fmt::Display| {
            Error::Options(format!("cannot open the folder `{}`: {fault}", root.display()))
        };
        let root = fs::canonicalize(root).map_err(|fault| refusal(&fault))?;
        let handle = File::open(&root).map_err(|fault| refusal(&fault))?;
        let store = LocalFileSystem::new_with_prefix(&root).map_err(|fault| refusal(&fault))?;
        Ok(Self { root, handle, store: store.with_fsync(true), prepared: Vec::new() })
    }

    /// Opens the folder at `root`, creating it and the folders of a store within it if need be.
    ///
    /// # Errors
    /// [`Error::Options`] if the folder cannot be created or written to.
    pub fn prepared(root: &Path) -> Result<Self> {
        let refusal = |folder: &Path, fault: &dyn std::fmt::Display| {
            Error::Options(format!("cannot create the folder `{}`: {fault}", folder.display()))
        };
        create_folder(root).map_err(|fault| refusal(root, &fault))?;
        let mut opened = Self::existing(root)?;
        for name in FOLDERS {
            let folder = opened.root.join(name);
            let identity = create_folder(&folder).and_then(|()| identity(&folder));
            opened.prepared.push((name, identity.map_err(|fault| refusal(&folder, &fault))?));
        }
        Ok(opened)
    }

    /// Returns the absolute path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Refuses a path whose folder is no longer the one that was prepared: whatever is created there
    /// now would not stand beside what was created before.
    fn refuse_if_moved(&self, path: &str) -> Result<()> {
        let within = path.split('/').next().unwrap_or(path);
        let Some((name, expected)) = self.prepared.iter().find(|(name, _)| *name == within) else {
            return Ok(());
        };
        if identity(&self.file(name)).is_ok_and(|present| present == *expected) {
            return Ok(());
        }
        Err(Error::storage(*name, "the folder was moved or removed since the store was opened"))
    }
}

/// Returns the device and number of a folder: what stays the same while its name may change.
fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::metadata(folder)?;
    Ok((metadata.dev(), metadata.ino()))
}

impl Objects for Folder {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutFault> {
        self.refuse_if_moved(path).map_err(PutFault::Failed)?;
        let location = object_store::path::Path::from(path);
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let outcome = self.store.put_opts(&location, content, options);
        match ready(path, outcome.now_or_never()).map_err(PutFault::Failed)? {
            Ok(_) => {}
            Err(object_store::Error::AlreadyExists { .. }) => return Err(PutFault::Exists),
            Err(fault) => return Err(PutFault::Failed(Error::storage(path, fault))),
        }
        let private = fs::set_permissions(self.file(path), Permissions::from_mode(FILE_MODE));
        private.map_err(|fault| PutFault::Failed(Error::storage(path, fault)))?;
        self.refuse_if_moved(path).map_err(PutFault::Failed)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.refuse_if_moved(path)?;
        // Asked by name first: that something is absent can be told even when no file can be opened.
        if fs::symlink_metadata(self.file(path)).is_err_and(|fault| fault.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let location = object_store::path::Path::from(path);
        let read = async { self.store.get(&location).await?.bytes().await };
        match ready(path, read.now_or_never())? {
            Ok(content) => Ok(Some(content)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(fault) => Err(Error::storage(path, fault)),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(self.file(&folder)) {
                Ok(entries) => entries,
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => continue,
                Err(fault) => return Err(Error::storage(folder, fault)),
            };
            for entry in entries {
                let entry = entry.map_err(|fault| Error::storage(&folder, fault))?;
                let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
                let metadata = match entry.metadata() {
                    Ok(metadata) => metadata,
                    // Gone since the folder was read: a writer renames what it has staged, and lets go
                    // of what is folded, while another process backs the store up.
                    Err(fault) if fault.kind() == io::ErrorKind::NotFound => continue,
                    Err(fault) => return Err(Error::storage(&path, fault)),
                };
                if metadata.is_dir() {
                    folders.push(path);
                } else {
                    found.push(Listed { path, bytes: metadata.len() });
                }
            }
        }
        Ok(found)
    }

    fn delete(&self, path: &str) -> Result<()> {
        let file = self.file(path);
        match fs::remove_file(&file) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(Error::storage(path, fault)),
            _ => {}
        }
        // A segment's folder goes with its last file; `wal` and `manifest` are never left empty.
        if let Some(parent) = file.parent().filter(|parent| parent.parent() == Some(&self.file("segments"))) {
            let _still_in_use = fs::remove_dir(parent);
        }
        Ok(())
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        self.refuse_if_moved(path)?;
        let file = self.file(path);
        let created = file.parent().map_or(Ok(()), create_folder).and_then(|()| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(FILE_MODE).open(&file)
        });
        let created = created.map_err(|fault| Error::storage(path, fault))?;
        Ok(Box::new(FolderWriter { path: path.to_owned(), file: created, place: file, pending: 0 }))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        #[allow(clippy::cast_possible_wrap, reason = "a bit mask")]
        let no_follow = OFlags::NOFOLLOW.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(no_follow).open(self.file(path));
        let file = opened.map_err(|fault| match fault.kind() {
            io::ErrorKind::NotFound => Error::damage(path, 0, "the object is missing"),
            _ => Error::storage(path, fault),
        })?;
        let bytes = file.metadata().map_err(|fault| Error::storage(path, fault))?.len();
        Ok(Arc::new(FolderReader { path: path.to_owned(), file, bytes }))
    }

    fn free_bytes(&self) -> Result<Option<u64>> {
        let found = fstatvfs(&self.handle);
        let found = found.map_err(|fault| Error::storage(self.root.display().to_string(), fault))?;
        Ok(Some(found.f_bavail.saturating_mul(found.f_frsize)))
    }
}

/// Returns the output of a local operation, which is done when first polled outside of a runtime.
fn ready<T>(path: &str, output: Option<T>) -> Result<T> {
    output.ok_or_else(|| Error::storage(path, "local storage was used from within an async runtime"))
}

/// Creates a folder and those above it, each durable before anything depends on it.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut present = Some(folder);
    while let Some(ancestor) = present.filter(|path| !path.as_os_str().is_empty() && !path.is_dir()) {
        missing.push(ancestor);
        present = ancestor.parent();
    }
    for folder in missing.into_iter().rev() {
        match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => return Err(fault),
            _ => {}
        }
        sync_parent(folder)?;
    }
    Ok(())
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

struct FolderWriter {
    path: String,
    file: File,
    place: PathBuf,
    /// How many bytes were written since the file was made durable last.
    pending: usize,
}

impl ObjectWriter for FolderWriter {
    fn write(&mut self, content: &[u8]) -> Result<()> {
        let written = content.chunks(PENDING_BYTES).try_for_each(|piece| {
            self.file.write_all(piece)?;
            self.pending += piece.len();
            if self.pending < PENDING_BYTES {
                return Ok(());
            }
            self.pending = 0;
            self.file.sync_data()
        });
        written.map_err(|fault| Error::storage(&self.path, fault))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let durable = self.file.sync_all().and_then(|()| sync_parent(&self.place));
        durable.map_err(|fault| Error::storage(&self.path, fault))
    }
}

#[derive(Debug)]
struct FolderReader {
    path: String,
    file: File,
    bytes: u64,
}

impl ObjectReader for FolderReader {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|fault| match fault.kind() {
            io::ErrorKind::UnexpectedEof => {
                Error::damage(&self.path, offset, format!("expected {} more bytes", buffer.len()))
            }
            // The disk cannot give back what was written to it.
            _ if fault.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                Error::damage(&self.path, offset, fault.to_string())
            }
            _ => Error::storage(&self.path, fault),
        })
    }
}
