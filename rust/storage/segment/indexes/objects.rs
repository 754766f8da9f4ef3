//! Segment indexes as objects next to the rows and documents, for machines with an empty cache.
//!
//! An object `<index>-<number>` has the exact bytes of the cached file, and is derived data as well. An
//! object that is missing, damaged or of another version is rebuilt and replaced; it never causes an error. A
//! name is used once, like the name of a deletion vector, because a replaced writer may still delete objects
//! by name.

use std::io;
use std::sync::{Mutex, PoisonError};

use arrow_buffer::Buffer;

use super::cache::IndexCache;
use crate::error::{Error, Result};
use crate::storage::manifest::{FileRecord, INDEXES, IndexRecord, SegmentRecord, fresh_number};
use crate::storage::objects::{ObjectReader, Objects};
use crate::storage::segment::verify::{read_file, verify_size, wrong_checksum};

/// The size of one read or write. A bucket splits it into several concurrent requests.
const PIECE_BYTES: usize = 16 << 20;

/// The number of bytes at the end of an object that are checked before it is read.
const END_BYTES: u64 = 64 << 10;

/// The known state of the index objects of a segment.
#[derive(Debug)]
pub(in crate::storage::segment) struct IndexObjects(Mutex<[KnownObject; INDEXES.len()]>);

/// The name of an object, its size and its checksum.
pub(in crate::storage::segment) type NamedObject = (String, FileRecord);

#[derive(Debug, Default)]
struct KnownObject {
    /// The recorded object, if any.
    object: Option<NamedObject>,
    /// True if the open index has the content of the object.
    is_open: bool,
    /// True if the object was missing, damaged or of another version.
    is_useless: bool,
}

impl IndexObjects {
    /// Returns the state of the objects in the record of a segment.
    pub(in crate::storage::segment) fn of(record: &SegmentRecord) -> Self {
        let own = Self(Mutex::default());
        own.note(record);
        own
    }

    /// Updates the state from a newer record of the segment.
    pub(in crate::storage::segment) fn note(&self, record: &SegmentRecord) {
        for index in INDEXES {
            let object = record.index_object(index).map(|(name, file)| (name.to_owned(), file));
            self.change(index, |known| {
                known.is_open &= known.object == object;
                known.is_useless &= known.object == object;
                known.object = object;
            });
        }
    }

    /// Records that an index of this size was opened from the cache. Two versions of a file usually differ in
    /// size. Otherwise the difference is found when an object is opened. So the cache need not be read as a
    /// whole.
    pub(in crate::storage::segment) fn cached(&self, index: &str, bytes: u64) {
        self.change(index, |known| {
            known.is_open = known.object.as_ref().is_some_and(|(_, file)| file.bytes == bytes);
        });
    }

    /// Records if an index was opened from `object`, unless another object was recorded meanwhile.
    pub(in crate::storage::segment) fn fetched(&self, index: &str, object: &NamedObject, is_open: bool) {
        self.change(index, |known| {
            if known.object.as_ref() == Some(object) {
                (known.is_open, known.is_useless) = (is_open, !is_open);
            }
        });
    }

    /// Records that an index was rebuilt, so that its recorded object may differ.
    pub(in crate::storage::segment) fn made(&self, index: &str) {
        self.change(index, |known| known.is_open = false);
    }

    /// Records the new object of an index, which has the content of the open index, or its removal.
    pub(in crate::storage::segment) fn recorded(&self, record: &IndexRecord) {
        self.change(record.index, |known| {
            known.object.clone_from(&record.object);
            (known.is_open, known.is_useless) = (true, false);
        });
    }

    /// Returns the name, size and checksum of the recorded object of an index.
    pub(in crate::storage::segment) fn object(&self, index: &str) -> Option<NamedObject> {
        self.change(index, |known| known.object.clone()).flatten()
    }

    /// Returns `true` if the open index has the content of the recorded object.
    pub(in crate::storage::segment) fn is_open(&self, index: &str) -> bool {
        self.change(index, |known| known.is_open && known.object.is_some()) == Some(true)
    }

    /// Returns `true` if an index has an object that is not known to be unusable.
    pub(in crate::storage::segment) fn may_be_opened(&self, index: &str) -> bool {
        self.change(index, |known| known.object.is_some() && !known.is_useless) == Some(true)
    }

    fn change<T>(&self, index: &str, change: impl FnOnce(&mut KnownObject) -> T) -> Option<T> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = INDEXES.iter().position(|name| *name == index)?;
        Some(change(&mut known[position]))
    }
}

/// Reads the object of an index and compares it with its record. The content becomes a cache file, or stays
/// in memory if this process may not write to the cache. `None` if the object is missing or damaged.
/// `may_end_with` checks the last bytes first, so that an object of another version is not read in vain.
///
/// # Errors
/// [`Error::Storage`] or [`Error::Busy`] if it cannot be read now.
pub(in crate::storage::segment) fn fetch(
    objects: &dyn Objects,
    cache: &IndexCache,
    record: &SegmentRecord,
    (index, (name, file)): (&str, &NamedObject),
    may_end_with: impl FnOnce(&[u8]) -> bool,
) -> Result<Option<Buffer>> {
    let (path, file) = (record.file_path(name), *file);
    let fetched = objects.open(&path).and_then(|object| {
        verify_size(&path, object.as_ref(), file)?;
        if !may_end_with(&end_of(object.as_ref())?) {
            return Ok(None);
        }
        let mut failed = None;
        let written = cache.write_with(record, index, |out| {
            copy(&path, object.as_ref(), file, out)?.map_err(|error| {
                failed = Some(error);
                io::Error::other("the object cannot be copied")
            })
        });
        match (failed, written.and_then(|()| cache.map(record, index))) {
            (Some(error), _) => Err(error),
            (None, Some(content)) => Ok(Some(content)),
            // If the cache cannot be written, the index is kept in memory.
            (None, None) => {
                read_file(&path, object.as_ref(), file).map(|content| Some(Buffer::from(content)))
            }
        }
    });
    match fetched {
        Err(Error::Damage { .. }) => Ok(None),
        fetched => fetched,
    }
}

/// Returns the last bytes of an object, which usually include the whole section table.
fn end_of(object: &dyn ObjectReader) -> Result<Vec<u8>> {
    let bytes = object.bytes();
    let length = bytes.min(END_BYTES);
    let mut end = vec![0; usize::try_from(length).unwrap_or_default()];
    object.read_at(bytes - length, &mut end)?;
    Ok(end)
}

/// Copies an object in chunks. The inner result is [`Error::Damage`] if the object does not match its record,
/// or the read error.
///
/// # Errors
/// The copy cannot be written.
fn copy(
    path: &str,
    object: &dyn ObjectReader,
    file: FileRecord,
    out: &mut dyn io::Write,
) -> io::Result<Result<()>> {
    let (mut offset, mut checksum, mut piece) = (0, 0, Vec::new());
    while offset < file.bytes {
        let length = usize::try_from(file.bytes - offset).map_or(PIECE_BYTES, |rest| rest.min(PIECE_BYTES));
        piece.resize(length, 0);
        if let Err(error) = object.read_at(offset, &mut piece) {
            return Ok(Err(error));
        }
        checksum = crc32c::crc32c_append(checksum, &piece);
        out.write_all(&piece)?;
        offset += length as u64;
    }
    let is_same = checksum == file.crc32c;
    Ok(if is_same { Ok(()) } else { Err(wrong_checksum(path)) })
}

/// Writes an index object under a new name, unless `is_cancelled` returns true meanwhile. Returns its record.
///
/// # Errors
/// [`Error::Cancelled`], [`Error::Storage`]. The written object is deleted if possible.
pub(in crate::storage::segment) fn write(
    objects: &dyn Objects,
    record: &SegmentRecord,
    (index, content): (&'static str, &[u8]),
    is_cancelled: &dyn Fn() -> bool,
) -> Result<IndexRecord> {
    let name = format!("{index}-{}", fresh_number());
    let path = record.file_path(&name);
    let written = objects.create(&path).and_then(|mut object| {
        for piece in content.chunks(PIECE_BYTES) {
            if is_cancelled() {
                return Err(Error::Cancelled);
            }
            object.write(piece)?;
        }
        object.finish()
    });
    if let Err(error) = written {
        let _deleted_at_next_open = objects.delete(&path);
        return Err(error);
    }
    let object = Some((name, FileRecord::of(content)));
    Ok(IndexRecord { segment_id: record.id.clone(), index, object })
}
