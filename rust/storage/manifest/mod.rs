//! The manifest: a numbered list of everything that is live. The newest manifest defines the store.
//!
//! A manifest is one JSON object: `format`, the CRC32C of the text of `manifest`, and `manifest` itself. It contains
//! names, sizes and checksums, never a value that a user sent. See docs/reference/storage.md#manifest.

mod records;

pub(crate) mod quarantined;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ulid::Ulid;

pub use self::records::ImportRecord;
pub(crate) use self::records::{DeletionVectorRecord, FileRecord, QuarantineRecord, SegmentRecord};
use crate::error::{Error, Result};
use crate::storage::objects::Objects;

/// The format of the store as a whole. A store with a newer format is rejected before anything is written.
pub(crate) const FORMAT: u32 = 1;

/// The maximum size of a manifest. A larger file is not read.
const MAX_BYTES: u64 = 64 << 20;

/// The maximum of all counters, out of reach of a real store, so that they can be incremented without overflow.
const MAX_NUMBER: u64 = 1 << 62;

/// Everything that is live.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The number in the object's name.
    pub(crate) number: u64,
    /// The writer that created it, a ULID.
    pub(crate) writer: String,
    /// The WAL checkpoint: objects of the write-ahead log up to this number are contained in the segments.
    #[serde(rename = "wal_folded_through")]
    pub(crate) wal_checkpoint: u64,
    /// The segments, oldest first.
    pub(crate) segments: Vec<SegmentRecord>,
    /// Damaged segments that are excluded from every result. They stay recorded, so that the store never forgets that
    /// it was larger.
    #[serde(rename = "aside", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) quarantined: Vec<QuarantineRecord>,
    /// The progress of unfinished imports, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) imports: Vec<ImportRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    format: u32,
    crc32c: u32,
    #[serde(borrow)]
    manifest: &'a RawValue,
}

/// The one member that every format has.
#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

/// Returns the path of the manifest with this number.
pub(crate) fn path(number: u64) -> String {
    format!("manifest/{number:020}.json")
}

/// Returns the number in a path, or `None` if it is not the path of a manifest.
pub(crate) fn number_of(path: &str) -> Option<u64> {
    let digits = path.strip_prefix("manifest/")?.strip_suffix(".json")?;
    let is_plain = digits.len() == 20 && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}

impl Manifest {
    /// Returns the content of the manifest's object.
    pub(crate) fn encode(&self) -> Bytes {
        let text = serde_json::value::to_raw_value(self).expect("plain data");
        let envelope =
            Envelope { format: FORMAT, crc32c: crc32c::crc32c(text.get().as_bytes()), manifest: &text };
        let mut content = serde_json::to_vec(&envelope).expect("plain data");
        content.push(b'\n');
        content.into()
    }

    /// Decodes the content of the manifest with this number.
    ///
    /// # Errors
    /// [`Error::Damage`], or [`Error::Options`] for a newer format.
    pub(crate) fn decode(number: u64, content: &[u8]) -> Result<Self> {
        let path = path(number);
        let malformed = |error: serde_json::Error| {
            // A JSON error has a line and a column; the content is one line, so the column is the offset.
            Error::damage(&path, error.column() as u64, error.to_string())
        };
        let FormatOnly { format } = serde_json::from_slice(content).map_err(malformed)?;
        if format != FORMAT {
            return Err(Error::Options(format!("`{path}` has format {format}, this program reads {FORMAT}")));
        }
        let envelope: Envelope<'_> = serde_json::from_slice(content).map_err(malformed)?;
        let text = envelope.manifest.get();
        if crc32c::crc32c(text.as_bytes()) != envelope.crc32c {
            return Err(Error::damage(&path, 0, "the manifest does not match its checksum"));
        }
        let manifest: Self = serde_json::from_str(text).map_err(malformed)?;
        if manifest.number != number {
            return Err(Error::damage(&path, 0, "the manifest has another number than its name"));
        }
        // Numbers are incremented, and ids become parts of paths.
        if number.max(manifest.wal_checkpoint) > MAX_NUMBER {
            return Err(Error::damage(&path, 0, format!("expected numbers up to {MAX_NUMBER}")));
        }
        let quarantined = manifest.quarantined.iter().map(|record| &record.segment);
        for segment in manifest.segments.iter().chain(quarantined) {
            if Ulid::from_string(&segment.id).is_err() {
                return Err(Error::damage(&path, 0, "expected the id of a segment to be a ULID"));
            }
        }
        Ok(manifest)
    }

    /// Returns whether the newest manifest is a different one.
    pub(crate) fn is_superseded(&self, objects: &dyn Objects) -> bool {
        Self::newest(objects).is_ok_and(|newest| newest.is_some_and(|newest| newest.number != self.number))
    }

    /// Returns the number of the newest manifest, or `None` in an empty store.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(crate) fn newest_number(objects: &dyn Objects) -> Result<Option<u64>> {
        Ok(objects.list("manifest")?.iter().filter_map(|object| number_of(&object.path)).max())
    }

    /// Returns the newest manifest, or `None` in an empty store.
    ///
    /// # Errors
    /// As [`Manifest::decode`], or [`Error::Storage`].
    pub(crate) fn newest(objects: &dyn Objects) -> Result<Option<Self>> {
        const ATTEMPTS: usize = 8;
        for _ in 0..ATTEMPTS {
            let listed = objects.list("manifest")?;
            let Some(number) = listed.iter().filter_map(|object| number_of(&object.path)).max() else {
                return Ok(None);
            };
            if let Some(large) = listed.iter().find(|object| object.bytes > MAX_BYTES) {
                return Err(Error::damage(
                    &large.path,
                    MAX_BYTES,
                    format!("expected at most {MAX_BYTES} bytes"),
                ));
            }
            // Between the listing and this read, a writer may replace this manifest by a newer one.
            if let Some(content) = objects.get(&path(number))? {
                return Self::decode(number, &content).map(Some);
            }
        }
        Err(Error::storage("manifest", "the newest manifest is listed, but cannot be read"))
    }
}
