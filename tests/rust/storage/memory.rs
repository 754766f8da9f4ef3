//! A place of objects in memory: what a folder is, without a disk to wait for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{Listed, ObjectReader, ObjectWriter, Objects, PutFault};

type Contents = Arc<Mutex<BTreeMap<String, Bytes>>>;

/// Objects by their path. Clones are the same place.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    contents: Contents,
}

fn locked(contents: &Contents) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
    contents.lock().expect("a sound lock")
}

impl Objects for Memory {
    fn put_new(&self, path: &str, content: Bytes) -> std::result::Result<(), PutFault> {
        let mut contents = locked(&self.contents);
        if contents.contains_key(path) {
            return Err(PutFault::Exists);
        }
        contents.insert(path.to_owned(), content);
        Ok(())
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        Ok(locked(&self.contents).get(path).cloned())
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let within = format!("{folder}/");
        let listed =
            |(path, content): (&String, &Bytes)| Listed { path: path.clone(), bytes: content.len() as u64 };
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
