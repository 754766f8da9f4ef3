//! Documents that were read lately, in blocks on the local disk: what is read again costs no request.
//!
//! A block is `<segment>-<number>`: its bytes, then their CRC32C. It is no truth. One that is missing or
//! not what was written is fetched again, and all of them may be removed at any time. The block that was not
//! used for the longest time goes first.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use ulid::Ulid;

/// The size of all blocks of an object but the last.
pub(super) const BLOCK: u64 = 256 << 10;

const CHECKSUM_BYTES: usize = 4;

/// A folder of blocks.
#[derive(Debug)]
pub(in crate::storage) struct Blocks {
    folder: PathBuf,
    limit: u64,
    known: Mutex<Known>,
}

/// What is in the folder, as far as is known.
#[derive(Debug, Default)]
struct Known {
    bytes: u64,
    /// How often a block was used.
    uses: u64,
    /// By name: the size, and the last use.
    blocks: HashMap<String, (u64, u64)>,
    /// By last use: the name.
    by_use: BTreeMap<u64, String>,
}

impl Known {
    fn remove(&mut self, name: &str) {
        if let Some((bytes, used)) = self.blocks.remove(name) {
            self.bytes -= bytes;
            self.by_use.remove(&used);
        }
    }

    fn used(&mut self, name: &str, bytes: u64) {
        self.remove(name);
        self.uses += 1;
        self.bytes += bytes;
        self.blocks.insert(name.to_owned(), (bytes, self.uses));
        self.by_use.insert(self.uses, name.to_owned());
    }
}

impl Blocks {
    /// Opens the cache in `folder`, which is created if need be, with room for `limit` bytes. `None` if
    /// there is no room, or the folder cannot be used.
    pub(in crate::storage) fn open(folder: &Path, limit: u64) -> Option<Self> {
        if limit == 0 || DirBuilder::new().recursive(true).mode(0o700).create(folder).is_err() {
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
        let mut known = Known::default();
        for (_, name, bytes) in &found {
            known.used(name, *bytes);
        }
        let opened = Self { folder: folder.to_owned(), limit, known: Mutex::new(known) };
        opened.shrink();
        Some(opened)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a block, if it is here and whole.
    pub(super) fn get(&self, segment: &str, number: u64, bytes: u64) -> Option<Bytes> {
        let name = name(segment, number);
        if !self.known().blocks.contains_key(&name) {
            return None;
        }
        let content = fs::read(self.folder.join(&name)).ok().and_then(|content| verified(content, bytes));
        let mut known = self.known();
        match &content {
            Some(content) => known.used(&name, content.len() as u64 + CHECKSUM_BYTES as u64),
            None => known.remove(&name),
        }
        content
    }

    /// Keeps a block. One that cannot be kept is fetched again the next time.
    pub(super) fn put(&self, segment: &str, number: u64, content: &[u8]) {
        let name = name(segment, number);
        if self.write(&name, content).is_ok() {
            self.known().used(&name, (content.len() + CHECKSUM_BYTES) as u64);
            self.shrink();
        }
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let unfinished = self.folder.join(format!("{name}.{}", Ulid::generate()));
        let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished).and_then(
            |mut file| {
                file.write_all(content)?;
                file.write_all(&crc32c::crc32c(content).to_le_bytes())
            },
        );
        let renamed = written.and_then(|()| fs::rename(&unfinished, self.folder.join(name)));
        if renamed.is_err() {
            let _swept_as_the_oldest = fs::remove_file(&unfinished);
        }
        renamed
    }

    /// Removes the blocks that were not used for the longest time, until the others have room.
    fn shrink(&self) {
        let mut known = self.known();
        while known.bytes > self.limit {
            let Some((_, name)) = known.by_use.first_key_value() else { return };
            let name = name.clone();
            known.remove(&name);
            let _gone = fs::remove_file(self.folder.join(&name));
        }
    }
}

fn name(segment: &str, number: u64) -> String {
    format!("{segment}-{number}")
}

/// Returns a block without its checksum, if that is right.
fn verified(mut content: Vec<u8>, bytes: u64) -> Option<Bytes> {
    let end = content.len().checked_sub(CHECKSUM_BYTES).filter(|end| *end as u64 == bytes)?;
    let checksum = content.split_off(end);
    (crc32c::crc32c(&content).to_le_bytes() == checksum[..]).then(|| content.into())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::Blocks;

    #[test]
    fn what_was_used_lately_is_kept_and_nothing_false_is_ever_returned() {
        let folder = TempDir::new().expect("a folder");
        let blocks = Blocks::open(folder.path(), 3_100).expect("a cache");
        for number in 0..3 {
            blocks.put("A", number, &vec![u8::try_from(number).expect("small"); 1_000]);
        }
        assert!(blocks.get("A", 0, 1_000).is_some());
        blocks.put("A", 3, &[3; 1_000]);
        assert!(blocks.get("A", 1, 1_000).is_none(), "used longest ago");
        drop(blocks);
        let blocks = Blocks::open(folder.path(), 3_100).expect("a cache");
        for number in [0, 2, 3] {
            let content = blocks.get("A", number, 1_000).expect("kept");
            assert!(content.iter().all(|byte| u64::from(*byte) == number));
        }
        assert!(blocks.get("A", 0, 999).is_none(), "of another size");
        let file = folder.path().join("A-2");
        let mut damaged = std::fs::read(&file).expect("a block");
        damaged[500] ^= 1;
        std::fs::write(&file, damaged).expect("written");
        assert!(blocks.get("A", 2, 1_000).is_none(), "damaged");
        std::fs::remove_dir_all(folder.path()).expect("removed");
        assert!(blocks.get("A", 3, 1_000).is_none(), "removed by somebody");
        blocks.put("A", 4, &[4; 10]);
        assert!(blocks.get("A", 4, 10).is_none(), "it cannot be kept");
        assert!(Blocks::open(folder.path(), 0).is_none(), "no room for any");
    }
}
