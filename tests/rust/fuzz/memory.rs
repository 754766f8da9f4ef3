//! Objects in memory, so that a store can be made of any bytes, and quickly.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{Listed, ObjectReader, ObjectWriter, Objects, PutFault};

/// Objects by their paths; a clone holds the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    objects: Arc<Mutex<BTreeMap<String, Bytes>>>,
}

impl Memory {
    /// Returns the files of a folder as objects.
    pub(super) fn of_folder(root: &Path) -> Self {
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
    pub(super) fn copied(&self) -> Self {
        Self { objects: Arc::new(Mutex::new(self.objects.lock().expect("a sound lock").clone())) }
    }

    /// Makes an object, or makes it another one.
    pub(super) fn set(&self, path: &str, content: Vec<u8>) {
        self.objects.lock().expect("a sound lock").insert(path.to_owned(), content.into());
    }

    /// Returns the paths that begin with `folder` and end in `suffix`.
    pub(super) fn paths(&self, folder: &str, suffix: &str) -> Vec<String> {
        let objects = self.objects.lock().expect("a sound lock");
        objects.keys().filter(|path| path.starts_with(folder) && path.ends_with(suffix)).cloned().collect()
    }

    /// Returns an object that must be there.
    pub(super) fn content(&self, path: &str) -> Vec<u8> {
        self.objects.lock().expect("a sound lock")[path].to_vec()
    }
}

impl Objects for Memory {
    fn put_new(&self, path: &str, content: Bytes) -> std::result::Result<(), PutFault> {
        let mut objects = self.objects.lock().expect("a sound lock");
        if objects.contains_key(path) {
            return Err(PutFault::Exists);
        }
        objects.insert(path.to_owned(), content);
        Ok(())
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        Ok(self.objects.lock().expect("a sound lock").get(path).cloned())
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let objects = self.objects.lock().expect("a sound lock");
        let within = objects.iter().filter(|(path, _)| path.starts_with(&format!("{folder}/")));
        Ok(within.map(|(path, content)| Listed { path: path.clone(), bytes: content.len() as u64 }).collect())
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.objects.lock().expect("a sound lock").remove(path);
        Ok(())
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        Ok(Box::new(Writer { memory: self.clone(), path: path.to_owned(), content: Vec::new() }))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        match self.get(path)? {
            Some(content) => Ok(Arc::new(Reader { path: path.to_owned(), content })),
            None => Err(Error::damage(path, 0, "the object is missing")),
        }
    }
}

struct Writer {
    memory: Memory,
    path: String,
    content: Vec<u8>,
}

impl ObjectWriter for Writer {
    fn write(&mut self, content: &[u8]) -> Result<()> {
        self.content.extend_from_slice(content);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.memory.set(&self.path, self.content);
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
        let from = usize::try_from(offset).expect("a place in memory");
        match self.content.get(from..from.saturating_add(buffer.len())) {
            Some(content) => buffer.copy_from_slice(content),
            None => return Err(Error::damage(&self.path, offset, "expected more bytes")),
        }
        Ok(())
    }
}
