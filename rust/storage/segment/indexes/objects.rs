//! The indexes of a segment as objects beside its rows and documents, for machines whose cache is empty.
//!
//! An object `<index>-<number>` is what the cache has, byte by byte, and as derived as that: one that is missing,
//! damaged or of another version is made anew and replaced, and refuses nothing. A name is given once, as that of a
//! deletion vector is: a writer that was replaced may still delete what it knew by name.

use std::io;
use std::sync::{Mutex, PoisonError};

use arrow_buffer::Buffer;

use super::cache::IndexCache;
use crate::error::{Error, Result};
use crate::storage::manifest::{FileRecord, INDEXES, IndexRecord, SegmentRecord, fresh_number};
use crate::storage::objects::{ObjectReader, Objects};
use crate::storage::segment::verify::{read_file, verify_size, wrong_checksum};

/// How much is read or written at once. A bucket splits it into several requests that are sent together.
const PIECE_BYTES: usize = 16 << 20;

/// How much of an object is looked at before it is read.
const END_BYTES: u64 = 64 << 10;

/// What is known of the objects of a segment's indexes.
#[derive(Debug)]
pub(in crate::storage::segment) struct IndexObjects(Mutex<[KnownObject; INDEXES.len()]>);

/// The name of an object, its size and its checksum.
pub(in crate::storage::segment) type NamedObject = (String, FileRecord);

#[derive(Debug, Default)]
struct KnownObject {
    /// What is recorded, if anything.
    object: Option<NamedObject>,
    /// Whether it is what is open.
    is_open: bool,
    /// Whether it was found to be missing, damaged or of another version.
    is_useless: bool,
}

impl IndexObjects {
    /// Returns what the record of a segment says.
    pub(in crate::storage::segment) fn of(record: &SegmentRecord) -> Self {
        let own = Self(Mutex::default());
        own.note(record);
        own
    }

    /// Notes what a newer record of the segment says.
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

    /// Notes that an index of this size was opened from the cache. Files of two versions differ in their size, or are found out
    /// when an object is opened: so that not every byte of the cache is read.
    pub(in crate::storage::segment) fn cached(&self, index: &str, bytes: u64) {
        self.change(index, |known| {
            known.is_open = known.object.as_ref().is_some_and(|(_, file)| file.bytes == bytes);
        });
    }

    /// Notes whether an index was opened from `object`, unless another one was recorded meanwhile.
    pub(in crate::storage::segment) fn fetched(&self, index: &str, object: &NamedObject, is_open: bool) {
        self.change(index, |known| {
            if known.object.as_ref() == Some(object) {
                (known.is_open, known.is_useless) = (is_open, !is_open);
            }
        });
    }

    /// Notes that an index was made anew, so that an object that is recorded of it is not what is open.
    pub(in crate::storage::segment) fn made(&self, index: &str) {
        self.change(index, |known| known.is_open = false);
    }

    /// Notes what is recorded of an index from now on: what is open, or nothing.
    pub(in crate::storage::segment) fn recorded(&self, record: &IndexRecord) {
        self.change(record.index, |known| {
            known.object.clone_from(&record.object);
            (known.is_open, known.is_useless) = (true, false);
        });
    }

    /// Returns the name of the object of an index, with its size and checksum, if one is recorded.
    pub(in crate::storage::segment) fn object(&self, index: &str) -> Option<NamedObject> {
        self.change(index, |known| known.object.clone()).flatten()
    }

    /// Whether what is open is the object that is recorded.
    pub(in crate::storage::segment) fn is_open(&self, index: &str) -> bool {
        self.change(index, |known| known.is_open && known.object.is_some()) == Some(true)
    }

    /// Whether there is an object of an index, which was not found to be useless.
    pub(in crate::storage::segment) fn may_be_opened(&self, index: &str) -> bool {
        self.change(index, |known| known.object.is_some() && !known.is_useless) == Some(true)
    }

    fn change<T>(&self, index: &str, change: impl FnOnce(&mut KnownObject) -> T) -> Option<T> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = INDEXES.iter().position(|name| *name == index)?;
        Some(change(&mut known[position]))
    }
}

/// Reads the object of an index and compares it with what is recorded of it. It becomes a file of the cache, or is in memory
/// if this process may not write there. `None` if it is missing or damaged, or `may_end_with` says of its last bytes that it
/// is of another version, so that it is not read for nothing.
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
            // A cache that cannot be written only costs memory.
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

/// Returns the last bytes of an object, in which most often the whole table of its sections is.
fn end_of(object: &dyn ObjectReader) -> Result<Vec<u8>> {
    let bytes = object.bytes();
    let length = bytes.min(END_BYTES);
    let mut end = vec![0; usize::try_from(length).unwrap_or_default()];
    object.read_at(bytes - length, &mut end)?;
    Ok(end)
}

/// Copies an object piece by piece. Returns [`Error::Damage`] if it does not match its record, or why it cannot be read.
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

/// Writes the object of an index under a new name, unless `is_cancelled` returns true meanwhile. Returns what the record of the
/// segment is to say of it.
///
/// # Errors
/// [`Error::Cancelled`], [`Error::Storage`]. What was written is deleted as far as possible.
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
