//! The records of a manifest: segments, their files, and imports in progress.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// The names of the indexes of a segment: of its rows, then what is made of its documents.
pub(crate) const INDEXES: [&str; 4] = ["index", "spans", "text", "attributes"];

/// The progress of one import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRecord {
    /// A digest that identifies the source, never a value that a user sent.
    pub source: String,
    /// How many of its spans have been processed.
    pub spans: u64,
    /// How many of those are in the store.
    pub accepted: u64,
    /// How many of those were rejected.
    pub rejected: u64,
}

/// One live segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SegmentRecord {
    /// The name of the segment's folder, a ULID.
    pub(crate) id: String,
    /// The number of rows in the segment, deleted ones included.
    pub(crate) rows: u64,
    /// `traces.parquet`.
    pub(crate) traces: FileRecord,
    /// `spans.otlp.zst`.
    pub(crate) documents: FileRecord,
    /// The deleted rows, if any.
    #[serde(rename = "hidden")]
    pub(crate) deletion_vector: Option<DeletionVectorRecord>,
    /// `spans.dict`, once the segment is compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dictionary: Option<FileRecord>,
    /// Whether the documents were stored uncompressed under load and are still to be compressed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) awaits_compression: bool,
    /// Further files in the segment's folder, by name. What a program does not know is kept, copied and verified.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) files: BTreeMap<String, FileRecord>,
}

/// What the record of a segment is to say of one of its indexes.
#[derive(Debug)]
pub(crate) struct IndexRecord {
    pub(crate) segment_id: String,
    /// One of [`INDEXES`].
    pub(crate) index: &'static str,
    /// The name of its object, with its size and checksum; `None` if it is to have none.
    pub(crate) object: Option<(String, FileRecord)>,
}

/// A quarantined segment. Its files stay where they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuarantineRecord {
    /// The segment's record from when it was live.
    pub(crate) segment: SegmentRecord,
    /// The damage that was found: an object, an offset, and a message.
    #[serde(rename = "fault")]
    pub(crate) error: String,
}

/// Damaged objects of the write-ahead log. Those that are there stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WalQuarantineRecord {
    /// The number of the first object.
    pub(crate) first: u64,
    /// The number of the last object. Several objects have one record if they are damaged alike.
    pub(crate) last: u64,
    /// The damage that was found in each: an offset and a message.
    #[serde(rename = "fault")]
    pub(crate) error: String,
    /// How many requests are lost, if that is known.
    pub(crate) lost: Option<u64>,
    /// The writer that created them unless they name another one.
    pub(crate) writer: String,
}

impl WalQuarantineRecord {
    /// Whether `next` is the record of the next object, with the same damage.
    pub(super) fn ends_before(&self, next: &Self) -> bool {
        self.last + 1 == next.first
            && (&self.error, self.lost, &self.writer) == (&next.error, next.lost, &next.writer)
    }

    /// Returns the writer; one that wrote nothing if the record names none.
    pub(crate) fn writer(&self) -> Ulid {
        Ulid::from_string(&self.writer).unwrap_or_default()
    }

    /// Whether the record and the objects must stay: requests are lost, or are still in no segment.
    pub(crate) fn is_needed(&self, checkpoint: u64) -> bool {
        self.lost != Some(0) || self.last > checkpoint
    }
}

/// The deletion vector of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeletionVectorRecord {
    /// The number in the object's name.
    pub(crate) number: u64,
    /// The number of deleted rows.
    pub(crate) rows: u64,
    /// Its size and checksum.
    pub(crate) file: FileRecord,
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
    /// Returns the record of an object with this content.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self { bytes: content.len() as u64, crc32c: crc32c::crc32c(content) }
    }
}

impl SegmentRecord {
    /// Returns the size of all objects of the segment but its indexes, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let indexes: u64 = self.index_objects().map(|(_, file)| file.bytes).sum();
        self.files().map(|(_, file)| file.bytes).sum::<u64>() - indexes
    }

    /// Returns the name of the object of an index, with its size and checksum, if there is one.
    pub(crate) fn index_object(&self, index: &str) -> Option<(&str, FileRecord)> {
        let mut files = self.files.iter().map(|(name, file)| (name.as_str(), *file));
        files.find(|(name, _)| index_of(name) == Some(index))
    }

    /// Records the object of an index, or that there is none. Returns the name of the one that was recorded before.
    pub(crate) fn record_index(
        &mut self,
        index: &str,
        object: Option<(String, FileRecord)>,
    ) -> Option<String> {
        let before = self.index_object(index).map(|(name, _)| name.to_owned());
        if let Some(before) = &before {
            self.files.remove(before);
        }
        self.files.extend(object);
        before
    }

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

    /// Returns the path of the segment's deletion vector with this number.
    pub(crate) fn deletion_vector_path(&self, number: u64) -> String {
        format!("segments/{}/hidden-{number}.roaring", self.id)
    }

    /// Returns the path of a further file of the segment.
    pub(crate) fn file_path(&self, name: &str) -> String {
        format!("segments/{}/{name}", self.id)
    }

    /// Returns what is wrong with the names in the record, which become parts of paths.
    pub(super) fn verify(&self) -> std::result::Result<(), String> {
        const OWN: [&str; 3] = ["traces.parquet", "spans.otlp.zst", "spans.dict"];
        if Ulid::from_string(&self.id).is_err() {
            return Err("expected the id of a segment to be a ULID".into());
        }
        let is_plain = |name: &str| {
            let mut bytes = name.bytes();
            bytes.next().is_some_and(|first| first.is_ascii_lowercase())
                && bytes
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte))
        };
        let is_own = |name: &str| OWN.contains(&name) || name.starts_with("hidden-");
        match self.files.keys().find(|name| !is_plain(name) || is_own(name)) {
            Some(name) => Err(format!("expected a plain name of a further file, found `{name}`")),
            None => Ok(()),
        }
    }

    /// Returns the paths of all live objects of the segment.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> + use<> {
        self.files().map(|(path, _)| path)
    }

    /// Returns the paths, sizes and checksums of all live objects of the segment.
    pub(crate) fn files(&self) -> impl Iterator<Item = (String, FileRecord)> + use<> {
        let files = [(self.traces_path(), self.traces), (self.documents_path(), self.documents)];
        let dictionary = self.dictionary.map(|file| (self.dictionary_path(), file));
        let deleted =
            self.deletion_vector.map(|vector| (self.deletion_vector_path(vector.number), vector.file));
        files
            .into_iter()
            .chain(dictionary)
            .chain(deleted)
            .chain(self.index_objects())
            .chain(self.further_files())
    }

    /// Returns the paths, sizes and checksums of the objects of indexes.
    pub(crate) fn index_objects(&self) -> impl Iterator<Item = (String, FileRecord)> + use<> {
        self.files_that(|name| index_of(name).is_some())
    }

    /// Returns the paths, sizes and checksums of the other further files, known or not.
    pub(crate) fn further_files(&self) -> impl Iterator<Item = (String, FileRecord)> + use<> {
        self.files_that(|name| index_of(name).is_none())
    }

    fn files_that(&self, is_wanted: impl Fn(&str) -> bool) -> std::vec::IntoIter<(String, FileRecord)> {
        let files = self.files.iter().filter(|(name, _)| is_wanted(name));
        files.map(|(name, file)| (self.file_path(name), *file)).collect::<Vec<_>>().into_iter()
    }
}

/// Returns a number for the name of an object of a segment, which was never given before and never will be again: the
/// upper half of a ULID, which is the time, then chance.
pub(crate) fn fresh_number() -> u64 {
    u64::try_from(Ulid::generate().0 >> 64).expect("the upper half")
}

/// Returns the index whose object has this name, `<index>-<number>`.
fn index_of(name: &str) -> Option<&str> {
    let (index, number) = name.split_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && INDEXES.contains(&index)).then_some(index)
}
