//! The manifest: the complete list of what is live, numbered; the newest one is the store.
//!
//! A file is one JSON object: `format`, the CRC32C of the text of `manifest`, and `manifest` itself.
//! It holds names, sizes and checksums, never a value that a user sent.

pub(crate) mod quarantined;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::storage::objects::Objects;

/// The format of the store as a whole; a newer one is refused before anything is written.
pub(crate) const FORMAT: u32 = 1;

/// No manifest is larger; a larger file is not even read.
const MAX_BYTES: u64 = 64 << 20;

/// No store lives to count so far.
const MAX_NUMBER: u64 = 1 << 62;

/// What is live.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Equal to the number in the object's name.
    pub(crate) number: u64,
    /// The writer that created it, an ULID.
    pub(crate) writer: String,
    /// Write-ahead objects up to this number are contained in the segments.
    pub(crate) wal_folded_through: u64,
    /// The segments, oldest first.
    pub(crate) segments: Vec<SegmentRecord>,
    /// Damaged segments that no answer shows any more. They stay named, so that the store never
    /// forgets that it was larger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) aside: Vec<AsideRecord>,
    /// How far imports are that did not end yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) imports: Vec<ImportRecord>,
}

/// How far one import is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRecord {
    /// What is imported: a digest, never a value of users.
    pub source: String,
    /// So many of its spans are dealt with.
    pub spans: u64,
    /// So many of those are in the store.
    pub accepted: u64,
    /// So many of those were refused.
    pub rejected: u64,
}

/// One segment that was set aside; its files stay where they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AsideRecord {
    /// The segment as it was named while it was live.
    pub(crate) segment: SegmentRecord,
    /// What is wrong with it: an object, a byte, and what was found there.
    pub(crate) fault: String,
}

/// One live segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SegmentRecord {
    /// The segment's folder, an ULID.
    pub(crate) id: String,
    /// Rows in the segment, hidden ones included.
    pub(crate) rows: u64,
    /// `traces.parquet`.
    pub(crate) traces: FileRecord,
    /// `spans.otlp.zst`.
    pub(crate) documents: FileRecord,
    /// The rows that are hidden, if any.
    pub(crate) hidden: Option<HiddenRecord>,
    /// `spans.dict`, once the segment was compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dictionary: Option<FileRecord>,
    /// Whether documents were written in a hurry, and are to be compressed once there is time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) awaits_compression: bool,
}

/// The size and checksum of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileRecord {
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// CRC32C of the whole content.
    pub(crate) crc32c: u32,
}

impl FileRecord {
    /// Returns the record of this content.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self { bytes: content.len() as u64, crc32c: crc32c::crc32c(content) }
    }
}

/// A live set of hidden rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HiddenRecord {
    /// The number in the object's name.
    pub(crate) number: u64,
    /// How many rows it hides.
    pub(crate) rows: u64,
    /// Its size and checksum.
    pub(crate) file: FileRecord,
}

impl SegmentRecord {
    /// Returns the path of the segment's rows.
    pub(crate) fn traces_path(&self) -> String {
        format!("segments/{}/traces.parquet", self.id)
    }

    /// Returns the path of the segment's documents.
    pub(crate) fn documents_path(&self) -> String {
        format!("segments/{}/spans.otlp.zst", self.id)
    }

    /// Returns the path of the dictionary of the segment's documents.
    pub(crate) fn dictionary_path(&self) -> String {
        format!("segments/{}/spans.dict", self.id)
    }

    /// Returns the path of a set of hidden rows of the segment.
    pub(crate) fn hidden_path(&self, number: u64) -> String {
        format!("segments/{}/hidden-{number}.roaring", self.id)
    }

    /// Returns the paths of all objects of the segment that are live.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> + use<> {
        self.files().map(|(path, _)| path)
    }

    /// Returns the path, size and checksum of all objects of the segment that are live.
    pub(crate) fn files(&self) -> impl Iterator<Item = (String, FileRecord)> + use<> {
        let hidden = self.hidden.map(|hidden| (self.hidden_path(hidden.number), hidden.file));
        let files = [(self.traces_path(), self.traces), (self.documents_path(), self.documents)];
        let dictionary = self.dictionary.map(|file| (self.dictionary_path(), file));
        files.into_iter().chain(dictionary).chain(hidden)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    format: u32,
    crc32c: u32,
    #[serde(borrow)]
    manifest: &'a RawValue,
}

/// The one member that every format will have.
#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

/// Returns the path of the manifest with this number.
pub(crate) fn path(number: u64) -> String {
    format!("manifest/{number:020}.json")
}

/// Returns the number that a path spells, or `None` if it is no manifest's path.
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

    /// Reads the content of the manifest with this number.
    ///
    /// # Errors
    /// [`Error::Damage`], or [`Error::Options`] for a newer format.
    pub(crate) fn decode(number: u64, content: &[u8]) -> Result<Self> {
        let path = path(number);
        let malformed = |fault: serde_json::Error| {
            // JSON faults name a line and a column; the content is one line.
            Error::damage(&path, fault.column() as u64, fault.to_string())
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
        // Numbers are counted up from, and ids become parts of paths.
        if number.max(manifest.wal_folded_through) > MAX_NUMBER {
            return Err(Error::damage(&path, 0, format!("expected numbers up to {MAX_NUMBER}")));
        }
        let segments = manifest.segments.iter().chain(manifest.aside.iter().map(|aside| &aside.segment));
        for segment in segments {
            if Ulid::from_string(&segment.id).is_err() {
                return Err(Error::damage(&path, 0, "expected the id of a segment to be an ULID"));
            }
        }
        Ok(manifest)
    }

    /// Returns whether the newest manifest is another one by now.
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
        const TRIES: usize = 8;
        for _ in 0..TRIES {
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
            // Between listing and reading a writer may have put a newer one and removed this one.
            if let Some(content) = objects.get(&path(number))? {
                return Self::decode(number, &content).map(Some);
            }
        }
        Err(Error::storage("manifest", "the newest manifest is listed, but cannot be read"))
    }
}
