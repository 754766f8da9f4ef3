//! A cache of document blocks on the local disk, which saves requests for documents that are read repeatedly.
//!
//! A block is a file `<segment>-<number>`: the data, then its CRC32C. A missing or damaged block is fetched
//! again, so the files may be deleted at any time. The least recently used block is evicted first.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use ulid::Ulid;

use crate::storage::platform::{private, private_folder};

/// The size of each block in bytes. Only the last block of an object is smaller.
pub(super) const BLOCK_BYTES: u64 = 256 << 10;

const CHECKSUM_BYTES: usize = 4;

/// A folder of blocks with a size limit.
#[derive(Debug)]
pub(in crate::storage) struct BlockCache {
    folder: PathBuf,
    max_bytes: u64,
    usage: Mutex<BlockUsage>,
}

/// The blocks in the folder by last use.
#[derive(Debug, Default)]
struct BlockUsage {
    bytes: u64,
    /// The number of uses so far, which serves as a logical clock.
    uses: u64,
    /// The size and last use of each block, by name.
    blocks: HashMap<String, (u64, u64)>,
    /// The names by last use.
    by_use: BTreeMap<u64, String>,
}

impl BlockUsage {
    fn remove(&mut self, name: &str) {
        if let Some((bytes, used)) = self.blocks.remove(name) {
            self.bytes -= bytes;
            self.by_use.remove(&used);
        }
    }

    fn touch(&mut self, name: &str, bytes: u64) {
        self.remove(name);
        self.uses += 1;
        self.bytes += bytes;
        self.blocks.insert(name.to_owned(), (bytes, self.uses));
        self.by_use.insert(self.uses, name.to_owned());
    }
}

impl BlockCache {
    /// Opens the cache in `folder`, which is created if missing, with at most `max_bytes` bytes. Returns `None` if
    /// `max_bytes` is zero or the folder cannot be used.
    pub(in crate::storage) fn open(folder: &Path, max_bytes: u64) -> Option<Self> {
        if max_bytes == 0 || private_folder().recursive(true).create(folder).is_err() {
            return None;
        }
        let mut found: Vec<(SystemTime, String, u64)> = Vec::new();
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata()) else {
                continue;
            };
            found.push((metadata.modified().ok()?, name, metadata.len()));
        }
        found.sort_unstable();
        let mut usage = BlockUsage::default();
        for (_, name, bytes) in &found {
            usage.touch(name, *bytes);
        }
        let opened = Self { folder: folder.to_owned(), max_bytes, usage: Mutex::new(usage) };
        opened.evict();
        Some(opened)
    }

    fn usage(&self) -> MutexGuard<'_, BlockUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a block if it is cached and intact.
    pub(super) fn get(&self, segment: &str, number: u64, bytes: u64) -> Option<Bytes> {
        let name = file_name(segment, number);
        if !self.usage().blocks.contains_key(&name) {
            return None;
        }
        let content = fs::read(self.folder.join(&name)).ok().and_then(|content| verified(content, bytes));
        let mut usage = self.usage();
        match &content {
            Some(content) => usage.touch(&name, content.len() as u64 + CHECKSUM_BYTES as u64),
            None => usage.remove(&name),
        }
        content
    }

    /// Caches a block. If it cannot be written, the next read fetches it again.
    pub(super) fn put(&self, segment: &str, number: u64, content: &[u8]) {
        let name = file_name(segment, number);
        if self.write(&name, content).is_ok() {
            self.usage().touch(&name, (content.len() + CHECKSUM_BYTES) as u64);
            self.evict();
        }
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let unfinished = self.folder.join(format!("{name}.{}", Ulid::generate()));
        let written = private(OpenOptions::new().write(true).create_new(true)).open(&unfinished).and_then(
            |mut file| {
                file.write_all(content)?;
                file.write_all(&crc32c::crc32c(content).to_le_bytes())
            },
        );
        let renamed = written.and_then(|()| fs::rename(&unfinished, self.folder.join(name)));
        if renamed.is_err() {
            let _evicted_later = fs::remove_file(&unfinished);
        }
        renamed
    }

    /// Removes the least recently used blocks until the others fit.
    fn evict(&self) {
        let mut usage = self.usage();
        while usage.bytes > self.max_bytes {
            let Some((_, name)) = usage.by_use.first_key_value() else { return };
            let name = name.clone();
            usage.remove(&name);
            let _gone = fs::remove_file(self.folder.join(&name));
        }
    }
}

fn file_name(segment: &str, number: u64) -> String {
    format!("{segment}-{number}")
}

/// Returns the bytes of a block if its size and checksum match.
fn verified(mut content: Vec<u8>, bytes: u64) -> Option<Bytes> {
    let end = content.len().checked_sub(CHECKSUM_BYTES).filter(|end| *end as u64 == bytes)?;
    let checksum = content.split_off(end);
    (crc32c::crc32c(&content).to_le_bytes() == checksum[..]).then(|| content.into())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::BlockCache;

    #[test]
    fn the_least_recently_used_block_is_evicted_and_a_damaged_one_is_never_returned() {
        let folder = TempDir::new().expect("a folder");
        let blocks = BlockCache::open(folder.path(), 3_100).expect("a cache");
        for number in 0..3 {
            blocks.put("A", number, &vec![u8::try_from(number).expect("small"); 1_000]);
        }
        assert!(blocks.get("A", 0, 1_000).is_some());
        blocks.put("A", 3, &[3; 1_000]);
        assert!(blocks.get("A", 1, 1_000).is_none(), "least recently used");
        drop(blocks);
        let blocks = BlockCache::open(folder.path(), 3_100).expect("a cache");
        for number in [0, 2, 3] {
            let content = blocks.get("A", number, 1_000).expect("cached");
            assert!(content.iter().all(|byte| u64::from(*byte) == number));
        }
        assert!(blocks.get("A", 0, 999).is_none(), "a different size");
        let file = folder.path().join("A-2");
        let mut damaged = std::fs::read(&file).expect("a block");
        damaged[500] ^= 1;
        std::fs::write(&file, damaged).expect("written");
        assert!(blocks.get("A", 2, 1_000).is_none(), "damaged");
        std::fs::remove_dir_all(folder.path()).expect("removed");
        assert!(blocks.get("A", 3, 1_000).is_none(), "removed from outside");
        blocks.put("A", 4, &[4; 10]);
        assert!(blocks.get("A", 4, 10).is_none(), "cannot be written");
        assert!(BlockCache::open(folder.path(), 0).is_none(), "a limit of zero");
    }
}
