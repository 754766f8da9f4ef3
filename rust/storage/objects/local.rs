//! Objects in a local folder. Files are synced, and so are the folders that name them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};
use crate::storage::platform::{self, no_follow, private, private_folder};

/// The maximum number of unsynced bytes of a stream. On some file systems the fsync of a small file waits for
/// all unsynced data of other files. An unsynced merge of 512 MB delayed every commit by 0.7 s.
const MAX_UNSYNCED_BYTES: usize = 8 << 20;

/// The folders of a store.
const FOLDERS: [&str; 3] = ["wal", "segments", "manifest"];

/// A folder of the local file system.
#[derive(Debug)]
pub struct LocalFolder {
    root: PathBuf,
    /// Kept open, so that it refers to the same folder after a rename.
    handle: File,
    /// The open folders of [`FOLDERS`]; empty if opened for reading.
    folders: Vec<StoreFolder>,
    syncs: Arc<Syncs>,
    /// A counter that makes the names of staged files unique.
    staged: AtomicU64,
}

/// A folder of the store. It is kept open, so that it can be synced when no more files can be opened.
#[derive(Debug)]
struct StoreFolder {
    name: &'static str,
    handle: File,
    /// Device and inode.
    identity: (u64, u64),
}

/// Syncs files and records the first failure. After a failure nothing counts as durable: the kernel reports a
/// disk error once, and may have dropped the unwritten data.
#[derive(Debug, Default)]
struct Syncs {
    has_failed: AtomicBool,
}

impl Syncs {
    fn check(&self, outcome: io::Result<()>) -> io::Result<()> {
        outcome.inspect_err(|_| self.has_failed.store(true, Ordering::Release))?;
        if self.has_failed.load(Ordering::Acquire) {
            return Err(io::Error::other(
                "an earlier sync failed; nothing is durable until the store is opened again",
            ));
        }
        Ok(())
    }
}

impl LocalFolder {
    /// Opens the folder at `root`, which must exist.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no such folder.
    pub fn open_existing(root: &Path) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::Options(format!("cannot open the folder `{}`: {error}", root.display()))
        };
        if !platform::HAS_LOCAL_STORES {
            return Err(failed(&"stores in folders need Linux or macOS"));
        }
        let root = fs::canonicalize(root).map_err(|error| failed(&error))?;
        let handle = File::open(&root).map_err(|error| failed(&error))?;
        Ok(Self { root, handle, folders: Vec::new(), syncs: Arc::default(), staged: AtomicU64::new(0) })
    }

    /// Opens the folder at `root`. Creates it and the folders of a store within it if they are missing.
    ///
    /// # Errors
    /// [`Error::Options`] if the folder cannot be created or written to.
    pub fn open_or_create(root: &Path) -> Result<Self> {
        let failed = |folder: &Path, error: &dyn std::fmt::Display| {
            Error::Options(format!("cannot create the folder `{}`: {error}", folder.display()))
        };
        create_folder(root).map_err(|error| failed(root, &error))?;
        let mut opened = Self::open_existing(root)?;
        for name in FOLDERS {
            let folder = opened.root.join(name);
            let made = create_folder(&folder).and_then(|()| {
                Ok(StoreFolder { name, handle: File::open(&folder)?, identity: identity(&folder)? })
            });
            opened.folders.push(made.map_err(|error| failed(&folder, &error))?);
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

    /// Returns the store folder that contains a path.
    fn folder_of(&self, path: &str) -> Option<&StoreFolder> {
        let within = path.split('/').next().unwrap_or(path);
        self.folders.iter().find(|folder| folder.name == within)
    }

    /// Fails if the path's folder is no longer the opened one. A new object would not be next to the earlier
    /// ones.
    fn check_not_moved(&self, path: &str) -> Result<()> {
        let Some(folder) = self.folder_of(path) else { return Ok(()) };
        if identity(&self.file(folder.name)).is_ok_and(|present| present == folder.identity) {
            return Ok(());
        }
        Err(Error::storage(folder.name, "the folder was moved or removed since the store was opened"))
    }

    /// Writes `content` to a new file next to the object at `path`, syncs it, and returns its path.
    fn stage(&self, path: &str, content: &PutPayload) -> std::result::Result<PathBuf, PutError> {
        let (staged, mut file) = loop {
            let number = self.staged.fetch_add(1, Ordering::Relaxed);
            let staged = self.file(&format!("{path}#{number}"));
            match private(OpenOptions::new().write(true).create_new(true)).open(&staged) {
                Ok(file) => break (staged, file),
                // A process that was killed left the file behind.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(PutError::Failed(Error::storage(path, error))),
            }
        };
        let written = content.iter().try_for_each(|chunk| file.write_all(chunk));
        let outcome = written.map_err(|error| PutError::Failed(Error::storage(path, error))).and_then(|()| {
            let synced = self.syncs.check(file.sync_all());
            synced.map_err(|error| PutError::NotSynced(Error::storage(path, error)))
        });
        if outcome.is_err() {
            remove_staged(&staged);
        }
        outcome.map(|()| staged)
    }

    /// Makes the names in an object's folder durable.
    fn sync_folder_of(&self, path: &str) -> io::Result<()> {
        let synced = match self.folder_of(path) {
            Some(folder) if path.split('/').count() == 2 => folder.handle.sync_all(),
            _ => sync_parent(&self.file(path)),
        };
        self.syncs.check(synced)
    }
}

/// Removes a staged file. If this fails, the next opening of the store removes it.
fn remove_staged(staged: &Path) {
    let _swept_at_next_open = fs::remove_file(staged);
}

/// Returns the identity of a folder, which does not depend on its name.
fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(folder).map(|metadata| platform::identity(&metadata))
}

/// Returns `true` if a path was not accessible because it does not exist.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl Objects for LocalFolder {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        self.check_not_moved(path).map_err(PutError::Failed)?;
        let staged = self.stage(path, &content)?;
        let linked = fs::hard_link(&staged, self.file(path));
        remove_staged(&staged);
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(PutError::Exists),
            Err(error) => return Err(PutError::Failed(Error::storage(path, error))),
        }
        let synced = self.sync_folder_of(path);
        synced.map_err(|error| PutError::NotSynced(Error::storage(path, error)))?;
        self.check_not_moved(path).map_err(PutError::Failed)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.check_not_moved(path)?;
        // The name is checked first, so that a missing object is reported even if no more files can be
        // opened.
        if fs::symlink_metadata(self.file(path)).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        match fs::read(self.file(path)) {
            Ok(content) => Ok(Some(content.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::storage(path, error)),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(self.file(&folder)) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::storage(folder, error)),
            };
            for entry in entries {
                let entry = entry.map_err(|error| Error::storage(&folder, error))?;
                let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
                let metadata = match entry.metadata() {
                    Ok(metadata) => metadata,
                    // Removed since the folder was read. During a backup by another process, the writer
                    // renames staged files and removes flushed ones.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(Error::storage(&path, error)),
                };
                if metadata.is_dir() {
                    folders.push(path);
                } else {
                    found.push(ListedObject { path, bytes: metadata.len() });
                }
            }
        }
        Ok(found)
    }

    fn delete(&self, path: &str) -> Result<()> {
        let file = self.file(path);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::storage(path, error)),
            _ => {}
        }
        // The folder of a segment is removed with its last file. `wal` and `manifest` are never empty.
        if let Some(parent) = file.parent().filter(|parent| parent.parent() == Some(&self.file("segments"))) {
            let _still_in_use = fs::remove_dir(parent);
        }
        Ok(())
    }

    fn is_at_location(&self) -> Result<bool> {
        let failed = |error| Error::storage(self.root.display().to_string(), error);
        let opened = self.handle.metadata().map_err(failed)?;
        match identity(&self.root) {
            Ok(present) => Ok(present == platform::identity(&opened)),
            Err(error) if is_absence(&error) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        self.check_not_moved(path)?;
        let file = self.file(path);
        let created = file
            .parent()
            .map_or(Ok(()), create_folder)
            .and_then(|()| private(OpenOptions::new().write(true).create_new(true)).open(&file));
        let created = created.map_err(|error| Error::storage(path, error))?;
        let (path, syncs) = (path.to_owned(), self.syncs.clone());
        Ok(Box::new(LocalWriter { path, file: created, location: file, unsynced: 0, syncs }))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        let opened = no_follow(OpenOptions::new().read(true)).open(self.file(path));
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::damage(path, 0, "the object is missing"),
            _ => Error::storage(path, error),
        })?;
        let bytes = file.metadata().map_err(|error| Error::storage(path, error))?.len();
        Ok(Arc::new(LocalReader { path: path.to_owned(), file, bytes }))
    }

    fn free_bytes(&self) -> Result<Option<u64>> {
        let found = platform::free_bytes(&self.handle);
        found.map(Some).map_err(|error| Error::storage(self.root.display().to_string(), error))
    }
}

/// Creates a folder and its missing parents. Each is durable before the next one is created in it.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut present = Some(folder);
    while let Some(ancestor) = present.filter(|path| !path.as_os_str().is_empty() && !path.is_dir()) {
        missing.push(ancestor);
        present = ancestor.parent();
    }
    for folder in missing.into_iter().rev() {
        match private_folder().create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
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

struct LocalWriter {
    path: String,
    file: File,
    location: PathBuf,
    /// The number of bytes written since the last sync.
    unsynced: usize,
    syncs: Arc<Syncs>,
}

impl ObjectWriter for LocalWriter {
    fn write(&mut self, content: &[u8]) -> Result<()> {
        let written = content.chunks(MAX_UNSYNCED_BYTES).try_for_each(|chunk| {
            self.file.write_all(chunk)?;
            self.unsynced += chunk.len();
            if self.unsynced < MAX_UNSYNCED_BYTES {
                return Ok(());
            }
            self.unsynced = 0;
            self.syncs.check(self.file.sync_data())
        });
        written.map_err(|error| Error::storage(&self.path, error))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let durable = self.file.sync_all().and_then(|()| sync_parent(&self.location));
        let durable = self.syncs.check(durable);
        durable.map_err(|error| Error::storage(&self.path, error))
    }
}

#[derive(Debug)]
struct LocalReader {
    path: String,
    file: File,
    bytes: u64,
}

impl ObjectReader for LocalReader {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        platform::read_exact_at(&self.file, buffer, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                Error::damage(&self.path, offset, format!("expected {} more bytes", buffer.len()))
            }
            _ if platform::is_unreadable(&error) => Error::damage(&self.path, offset, error.to_string()),
            _ => Error::storage(&self.path, error),
        })
    }

    fn will_read(&self, offset: u64, length: u64) {
        platform::will_read(&self.file, offset, length);
    }
}
