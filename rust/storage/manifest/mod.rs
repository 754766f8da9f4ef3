//! The manifest: a numbered list of everything that is live. The newest manifest defines the store.
//!
//! A manifest is one JSON object: `format`, the CRC32C of the text of `manifest`, and `manifest` itself. It contains
//! names, sizes and checksums, never a value that a user sent. See docs/reference/storage.md#manifest.

mod records;

pub(crate) mod quarantined;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::records::ImportRecord;
pub(crate) use self::records::{
    DeletionVectorRecord, FileRecord, INDEXES, IndexRecord, QuarantineRecord, SegmentRecord,
    WalQuarantineRecord, fresh_number,
};
use crate::error::{Error, Result};
use crate::storage::objects::Objects;

/// The format of the store. A store with a newer format is rejected before anything is written. A store with
/// an older format is upgraded by the manifest that claims it.
pub(crate) const FORMAT: u32 = 2;

/// The oldest readable format. Its manifests do not record the end of the write-ahead log.
const OLDEST_FORMAT: u32 = 1;

/// The maximum size of a manifest in bytes. A larger file is not read.
const MAX_BYTES: u64 = 64 << 20;

/// The maximum of all counters. It is far above the counters of a real store, so that they can be incremented
/// without overflow.
const MAX_NUMBER: u64 = 1 << 62;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The number in the object's name.
    pub(crate) number: u64,
    /// The writer that created it, a ULID.
    pub(crate) writer: String,
    /// The WAL checkpoint: segments contain the write-ahead log up to this number.
    #[serde(rename = "wal_folded_through")]
    pub(crate) wal_checkpoint: u64,
    /// The minimum end of the write-ahead log when the manifest was created. Every object after the
    /// checkpoint and up to this number must exist; a missing one is lost.
    #[serde(default)]
    pub(crate) wal_through: u64,
    /// The segments, oldest first.
    pub(crate) segments: Vec<SegmentRecord>,
    /// Damaged segments, which are excluded from every result. They stay recorded as proof that the store was
    /// larger.
    #[serde(rename = "aside", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) quarantined: Vec<QuarantineRecord>,
    /// Damaged objects of the write-ahead log. Only their complete requests are in the store. They stay
    /// recorded too.
    #[serde(rename = "wal_aside", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) quarantined_wal: Vec<WalQuarantineRecord>,
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

/// The only member that is common to all formats.
#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

/// Returns the path of the manifest with this number.
pub(crate) fn path(number: u64) -> String {
    format!("manifest/{number:020}.json")
}

/// Returns the number in a path; `None` if it is not the path of a manifest.
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
            // A JSON error has a line and a column. The content is one line, so the column is the offset.
            Error::damage(&path, error.column() as u64, error.to_string())
        };
        let FormatOnly { format } = serde_json::from_slice(content).map_err(malformed)?;
        if !(OLDEST_FORMAT..=FORMAT).contains(&format) {
            let message =
                format!("`{path}` has format {format}, this program reads {OLDEST_FORMAT} to {FORMAT}");
            return Err(Error::Options(message));
        }
        let envelope: Envelope<'_> = serde_json::from_slice(content).map_err(malformed)?;
        let text = envelope.manifest.get();
        if crc32c::crc32c(text.as_bytes()) != envelope.crc32c {
            return Err(Error::damage(&path, 0, "the manifest does not match its checksum"));
        }
        let mut manifest: Self = serde_json::from_str(text).map_err(malformed)?;
        if format == OLDEST_FORMAT {
            manifest.wal_through = manifest.wal_checkpoint;
        }
        manifest.verify(number).map_err(|message| Error::damage(&path, 0, message))?;
        Ok(manifest)
    }

    /// Returns the first error in the values of the manifest with this number.
    fn verify(&self, number: u64) -> std::result::Result<(), String> {
        if self.number != number {
            return Err("the manifest has another number than its name".into());
        }
        // Numbers are incremented, and ids become parts of paths.
        if number.max(self.wal_through) > MAX_NUMBER {
            return Err(format!("expected numbers up to {MAX_NUMBER}"));
        }
        if self.wal_through < self.wal_checkpoint {
            return Err("the write-ahead log ends before its checkpoint".into());
        }
        let quarantined = self.quarantined.iter().map(|record| &record.segment);
        self.segments.iter().chain(quarantined).try_for_each(SegmentRecord::verify)
    }

    /// Returns the record of a damaged object of the write-ahead log.
    pub(crate) fn quarantined_wal(&self, number: u64) -> Option<&WalQuarantineRecord> {
        self.quarantined_wal.iter().rev().find(|record| (record.first..=record.last).contains(&number))
    }

    /// Records a damaged object of the write-ahead log. Adjacent missing objects become one record.
    pub(crate) fn quarantine_wal(&mut self, record: WalQuarantineRecord, is_missing: bool) {
        self.quarantined_wal.retain(|known| (known.first, known.last) != (record.first, record.last));
        match self.quarantined_wal.last_mut() {
            Some(before) if is_missing && before.ends_before(&record) => before.last = record.last,
            _ => self.quarantined_wal.push(record),
        }
    }

    /// Returns `true` if the newest manifest is a different one.
    pub(crate) fn is_superseded(&self, objects: &dyn Objects) -> bool {
        Self::newest(objects).is_ok_and(|newest| newest.is_some_and(|newest| newest.number != self.number))
    }

    /// Returns the number of the newest manifest; `None` in an empty store.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(crate) fn newest_number(objects: &dyn Objects) -> Result<Option<u64>> {
        Ok(objects.list("manifest")?.iter().filter_map(|object| number_of(&object.path)).max())
    }

    /// Returns the newest manifest of a store.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no store, [`Error::Damage`] if its manifests are lost; otherwise the
    /// errors of [`Manifest::newest`].
    pub(crate) fn newest_of_store(objects: &dyn Objects) -> Result<Self> {
        if let Some(newest) = Self::newest(objects)? {
            return Ok(newest);
        }
        expect_no_objects(objects)?;
        Err(Error::Options("expected a store, found no manifest".into()))
    }

    /// Returns the newest manifest; `None` in an empty store.
    ///
    /// # Errors
    /// The errors of [`Manifest::decode`], or [`Error::Storage`].
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
            // Between the listing and this read, a writer may replace this manifest with a newer one.
            if let Some(content) = objects.get(&path(number))? {
                return Self::decode(number, &content).map(Some);
            }
        }
        Err(Error::storage("manifest", "the newest manifest is listed, but cannot be read"))
    }
}

/// Rejects a store whose manifests are lost. It must not be treated as an empty store.
///
/// # Errors
/// [`Error::Damage`] with the path of an object that no manifest names, [`Error::Storage`].
pub(crate) fn expect_no_objects(objects: &dyn Objects) -> Result<()> {
    let mut present = objects.list("wal")?;
    present.extend(objects.list("segments")?);
    match present.first() {
        None => Ok(()),
        Some(object) => {
            Err(Error::damage(path(1), 0, format!("there is no manifest, but `{}`", object.path)))
        }
    }
}
