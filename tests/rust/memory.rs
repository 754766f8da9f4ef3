//! A place of objects in memory: what a folder is, without a disk to wait for, and of any bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};

type Contents = Arc<Mutex<BTreeMap<String, Bytes>>>;

/// Objects by their path. Clones are the same place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    contents: Contents,
}

impl Memory {
    /// Returns the files of a folder as objects.
    pub(crate) fn of_folder(root: &Path) -> Self {
        let memory = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(root).expect("inside").to_str().expect("UTF-8").to_owned();
                    memory.set(&name, fs::read(&path).expect("a file"));
                }
            }
        }
        memory
    }

    /// Returns a copy that changes by itself.
    pub(crate) fn copied(&self) -> Self {
        Self { contents: Arc::new(Mutex::new(locked(&self.contents).clone())) }
    }

    /// Makes an object, or makes it another one.
    pub(crate) fn set(&self, path: &str, content: Vec<u8>) {
        locked(&self.contents).insert(path.to_owned(), content.into());
    }

    /// Returns the paths that begin with `folder` and end in `suffix`.
    pub(crate) fn paths(&self, folder: &str, suffix: &str) -> Vec<String> {
        let contents = locked(&self.contents);
        contents.keys().filter(|path| path.starts_with(folder) && path.ends_with(suffix)).cloned().collect()
    }

    /// Returns an object that must be there.
    pub(crate) fn content(&self, path: &str) -> Vec<u8> {
        locked(&self.contents)[path].to_vec()
    }
}

fn locked(contents: &Contents) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
    contents.lock().expect("a sound lock")
}

impl Objects for Memory {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        let mut contents = locked(&self.contents);
        if contents.contains_key(path) {
            return Err(PutError::Exists);
        }
        contents.insert(path.to_owned(), content.into());
        Ok(())
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        Ok(locked(&self.contents).get(path).cloned())
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        let within = format!("{folder}/");
        let listed = |(path, content): (&String, &Bytes)| ListedObject {
            path: path.clone(),
            bytes: content.len() as u64,
        };
        Ok(locked(&self.contents).iter().filter(|(path, _)| path.starts_with(&within)).map(listed).collect())
    }

    fn delete(&self, path: &str) -> Result<()> {
        locked(&self.contents).remove(path);
        Ok(())
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        // What was begun shows, as in a folder.
        locked(&self.contents).insert(path.to_owned(), Bytes::new());
        Ok(Box::new(Writer { path: path.to_owned(), written: Vec::new(), contents: self.contents.clone() }))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        match locked(&self.contents).get(path) {
            Some(content) => Ok(Arc::new(Reader { path: path.to_owned(), content: content.clone() })),
            None => Err(Error::damage(path, 0, "the object is missing")),
        }
    }
}

struct Writer {
    path: String,
    written: Vec<u8>,
    contents: Contents,
}

impl ObjectWriter for Writer {
    fn write(&mut self, content: &[u8]) -> Result<()> {
        self.written.extend_from_slice(content);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { path, written, contents } = *self;
        locked(&contents).insert(path, written.into());
        Ok(())
    }
}

#[derive(Debug)]
struct Reader {
    path: String,
    content: Bytes,
}

impl ObjectReader for Reader {
    fn bytes(&self) -> u64 {
        self.content.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).expect("an offset");
        match self.content.get(start..).and_then(|rest| rest.get(..buffer.len())) {
            Some(wanted) => {
                buffer.copy_from_slice(wanted);
                Ok(())
            }
            None => Err(Error::damage(&self.path, offset, format!("expected {} more bytes", buffer.len()))),
        }
    }
}
