//! Verification of a segment's objects against the size and checksum in the manifest.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::storage::manifest::FileRecord;
use crate::storage::objects::ObjectReader;

/// Compares an object's size with its record.
///
/// # Errors
/// [`Error::Damage`].
pub(crate) fn verify_size(path: &str, object: &dyn ObjectReader, record: FileRecord) -> Result<()> {
    if object.bytes() == record.bytes {
        return Ok(());
    }
    let offset = object.bytes().min(record.bytes);
    Err(Error::damage(path, offset, format!("expected {} bytes, found {}", record.bytes, object.bytes())))
}

/// Compares an object's size and content with its record. Reads the object in chunks.
///
/// # Errors
/// [`Error::Damage`], [`Error::Storage`].
pub(crate) fn verify_content(path: &str, object: &dyn ObjectReader, record: FileRecord) -> Result<()> {
    const CHUNK_BYTES: usize = 1 << 20;
    verify_size(path, object, record)?;
    let (mut offset, mut checksum, mut chunk) = (0, 0, vec![0; CHUNK_BYTES]);
    while offset < record.bytes {
        let length = usize::try_from(record.bytes - offset).map_or(CHUNK_BYTES, |rest| rest.min(CHUNK_BYTES));
        object.read_at(offset, &mut chunk[..length])?;
        checksum = crc32c::crc32c_append(checksum, &chunk[..length]);
        offset += length as u64;
    }
    if checksum == record.crc32c { Ok(()) } else { Err(wrong_checksum(path)) }
}

/// Returns the verified content of a whole object.
///
/// # Errors
/// [`Error::Damage`], [`Error::Storage`].
pub(crate) fn read_file(path: &str, object: &dyn ObjectReader, record: FileRecord) -> Result<Bytes> {
    verify_size(path, object, record)?;
    let too_large = |_| Error::damage(path, 0, "the object does not fit into memory");
    let mut content = vec![0; usize::try_from(record.bytes).map_err(too_large)?];
    object.read_at(0, &mut content)?;
    if FileRecord::of(&content) == record { Ok(content.into()) } else { Err(wrong_checksum(path)) }
}

/// Returns the error of an object whose content does not match its record.
pub(super) fn wrong_checksum(path: &str) -> Error {
    Error::damage(path, 0, "the content does not match the checksum in the manifest")
}
