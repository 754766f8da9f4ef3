//! Object storage in memory, whose content a test may change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};

use super::files::paths_below;

type SharedObjects = Arc<Mutex<BTreeMap<String, Bytes>>>;

/// Objects by path. Clones share their content.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    objects: SharedObjects,
    reads: Arc<AtomicUsize>,
    /// Paths of objects that cannot be read.
    failing: Arc<Mutex<BTreeSet<String>>>,
    keeps_indexes: bool,
}

impl Memory {
    /// Returns the same storage, but with indexes of segments as objects, like a bucket.
    pub(crate) fn keeping_indexes(self) -> Self {
        Self { keeps_indexes: true, ..self }
    }

    /// Returns the same objects as another process sees them, with failures of its own.
    pub(crate) fn elsewhere(&self) -> Self {
        Self { objects: self.objects.clone(), keeps_indexes: self.keeps_indexes, ..Self::default() }
    }

    /// Makes every range read of an object fail.
    pub(crate) fn fail(&self, path: &str) {
        self.failing.lock().expect("a sound lock").insert(path.to_owned());
    }

    /// Returns the files of a folder as objects.
    pub(crate) fn of_folder(root: &Path) -> Self {
        let memory = Self::default();
        for path in paths_below(root) {
            let name = path.strip_prefix(root).expect("below the root").to_str().expect("UTF-8");
            memory.set(name, fs::read(&path).expect("a file"));
        }
        memory
    }

    /// Returns an independent copy.
    pub(crate) fn deep_clone(&self) -> Self {
        let objects = Arc::new(Mutex::new(locked(&self.objects).clone()));
        Self { objects, keeps_indexes: self.keeps_indexes, ..Self::default() }
    }

    /// Writes the objects as files of a folder.
    pub(crate) fn write_to(&self, root: &Path) {
        for (path, content) in locked(&self.objects).iter() {
            let file = root.join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, content).expect("written");
        }
    }

    /// Returns the number of range reads.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Creates or replaces an object.
    pub(crate) fn set(&self, path: &str, content: Vec<u8>) {
        locked(&self.objects).insert(path.to_owned(), content.into());
    }

    /// Returns the paths that start with `folder` and end with `suffix`.
    pub(crate) fn paths(&self, folder: &str, suffix: &str) -> Vec<String> {
        let contents = locked(&self.objects);
        contents.keys().filter(|path| path.starts_with(folder) && path.ends_with(suffix)).cloned().collect()
    }

    /// Returns the content of an object, which must exist.
    pub(crate) fn content(&self, path: &str) -> Vec<u8> {
        locked(&self.objects)[path].to_vec()
    }
}

fn locked(contents: &SharedObjects) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
    contents.lock().expect("a sound lock")
}

impl Objects for Memory {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        let mut contents = locked(&self.objects);
        if contents.contains_key(path) {
            return Err(PutError::Exists);
        }
        contents.insert(path.to_owned(), content.into());
        Ok(())
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        Ok(locked(&self.objects).get(path).cloned())
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        let within = format!("{folder}/");
        let listed = |(path, content): (&String, &Bytes)| ListedObject {
            path: path.clone(),
            bytes: content.len() as u64,
        };
        Ok(locked(&self.objects).iter().filter(|(path, _)| path.starts_with(&within)).map(listed).collect())
    }

    fn delete(&self, path: &str) -> Result<()> {
        locked(&self.objects).remove(path);
        Ok(())
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        // An unfinished object is listed, as in a folder.
        locked(&self.objects).insert(path.to_owned(), Bytes::new());
        Ok(Box::new(MemoryWriter {
            path: path.to_owned(),
            written: Vec::new(),
            objects: self.objects.clone(),
        }))
    }

    fn keeps_indexes(&self) -> bool {
        self.keeps_indexes
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        match locked(&self.objects).get(path) {
            Some(content) => {
                let (path, content) = (path.to_owned(), content.clone());
                let (reads, failing) = (self.reads.clone(), self.failing.clone());
                Ok(Arc::new(MemoryReader { path, content, reads, failing }))
            }
            None => Err(Error::damage(path, 0, "the object is missing")),
        }
    }
}

struct MemoryWriter {
    path: String,
    written: Vec<u8>,
    objects: SharedObjects,
}

impl ObjectWriter for MemoryWriter {
    fn write(&mut self, content: &[u8]) -> Result<()> {
        self.written.extend_from_slice(content);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { path, written, objects } = *self;
        locked(&objects).insert(path, written.into());
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryReader {
    path: String,
    content: Bytes,
    reads: Arc<AtomicUsize>,
    failing: Arc<Mutex<BTreeSet<String>>>,
}

impl ObjectReader for MemoryReader {
    fn bytes(&self) -> u64 {
        self.content.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.failing.lock().expect("a sound lock").contains(&self.path) {
            return Err(Error::storage(&self.path, "injected"));
        }
        let start = usize::try_from(offset).expect("an offset");
        match self.content.get(start..).and_then(|rest| rest.get(..buffer.len())) {
            Some(content) => {
                buffer.copy_from_slice(content);
                Ok(())
            }
            None => Err(Error::damage(&self.path, offset, format!("expected {} more bytes", buffer.len()))),
        }
    }
}
