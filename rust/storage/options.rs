//! The options of a store, and the addresses of local ones.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::progress::Progress;

/// The indexes that are built from the documents of segments in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexKind {
    /// The span table, for conditions on spans.
    Spans,
    /// The text index, for conditions on texts.
    Texts,
    /// The attribute index, for conditions on attributes and for the list of their keys. Conditions also need
    /// the span table.
    Attributes,
}

impl IndexKind {
    /// All index kinds.
    pub const ALL: [Self; 3] = [Self::Spans, Self::Texts, Self::Attributes];

    /// Returns the name of the index file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Texts => "text",
            Self::Attributes => "attributes",
        }
    }
}

/// The options of a store: when the head is flushed, when spans are rejected, and how large segments become.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The size of WAL objects in bytes at which a generation of the head is rotated.
    pub seal_bytes: u64,
    /// The number of WAL objects at which a generation is rotated.
    pub seal_objects: u64,
    /// The age of a generation's first trace in seconds at which the generation is rotated.
    pub seal_seconds: u64,
    /// The maximum size of unflushed WAL objects in bytes. Spans are rejected above it.
    pub max_unsealed_bytes: u64,
    /// The maximum memory of the head in bytes. Spans are rejected above it. A generation is rotated at a
    /// quarter of it.
    pub max_head_bytes: u64,
    /// The maximum number of unflushed WAL objects. Spans are rejected above it.
    pub max_unsealed_objects: u64,
    /// The maximum size of unwritten requests in bytes. Requests are rejected above it.
    pub max_waiting_bytes: u64,
    /// The maximum memory for decoding requests in bytes. Further requests wait.
    pub max_decoding_bytes: u64,
    /// The approximate maximum number of traces in a merged segment.
    pub max_segment_traces: u64,
    /// The approximate maximum size of the documents in a merged segment, in bytes.
    pub max_segment_bytes: u64,
    /// The maximum number of segments. At the limit, the smallest segments are merged before the next flush,
    /// even into a segment above the size limits.
    pub max_segments: u64,
    /// The maximum age of a trace in seconds, measured from its start. Older traces are deleted soon after.
    pub retain_seconds: Option<u64>,
    /// The maximum stored size of flushed documents in bytes. The oldest traces are deleted above it.
    pub retain_bytes: Option<u64>,
    /// The maximum age in seconds of a trace that has fragments but no span, measured from the first
    /// fragment. Older ones are deleted.
    pub retain_fragment_seconds: u64,
    /// The minimum free space on the disk of a local store in bytes. Spans are rejected below it; 0 never
    /// rejects.
    pub min_free_bytes: u64,
    /// The folder of cached segment indexes, which must not be shared between stores. Default: `cache` in a
    /// local store's folder. All of its content can be rebuilt.
    pub cache_dir: Option<PathBuf>,
    /// The indexes to build in the background. They reduce the number of documents that searches read.
    pub indexes: Vec<IndexKind>,
    /// The maximum memory in bytes for building an index. A larger index is abandoned, and documents are
    /// checked instead. Writing an index takes the same memory again.
    pub max_index_bytes: u64,
    /// The size of the cache of recently read documents in bytes. Only used for buckets.
    pub cache_bytes: u64,
    /// The time in seconds that superseded objects are kept for followers that may still need them. Default:
    /// 60 in a bucket; 0 in a folder, where open files stay readable.
    pub linger_seconds: Option<u64>,
    /// The polling interval of a follower in milliseconds.
    pub follow_milliseconds: u64,
    /// True if opening fails for an address without a store. Otherwise a store is created there.
    pub existing: bool,
    /// True if opening quarantines damaged segments. Otherwise it fails.
    pub recover: bool,
    /// True if the cache belongs to another process. Then it is only read.
    #[serde(skip)]
    pub is_cache_foreign: bool,
    /// Progress of calls that a caller waits for: opening counts objects; deleting and compacting count
    /// traces.
    #[serde(skip)]
    pub progress: Progress,
}

/// The document indexes to build, and the memory limit of each.
#[derive(Debug, Clone)]
pub(crate) struct Indexing {
    pub(crate) kinds: Vec<IndexKind>,
    /// See [`Options::max_index_bytes`].
    pub(crate) max_bytes: u64,
}

impl Indexing {
    /// Returns `true` if all index kinds are enabled.
    pub(crate) fn has_all_kinds(&self) -> bool {
        IndexKind::ALL.iter().all(|kind| self.kinds.contains(kind))
    }
}

impl Options {
    /// Returns the linger time of superseded objects.
    pub(crate) fn linger(&self) -> Duration {
        Duration::from_secs(self.linger_seconds.unwrap_or(0))
    }

    pub(crate) fn indexing(&self) -> Indexing {
        Indexing { kinds: self.indexes.clone(), max_bytes: self.max_index_bytes }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seal_bytes: 64 << 20,
            seal_objects: 10_000,
            seal_seconds: 600,
            max_unsealed_bytes: 256 << 20,
            max_head_bytes: 512 << 20,
            max_unsealed_objects: 20_000,
            max_waiting_bytes: 64 << 20,
            max_decoding_bytes: 256 << 20,
            max_segment_traces: 1_000_000,
            max_segment_bytes: 1 << 30,
            max_segments: 64,
            retain_seconds: None,
            retain_bytes: None,
            retain_fragment_seconds: 86_400,
            min_free_bytes: 1 << 30,
            cache_dir: None,
            indexes: IndexKind::ALL.to_vec(),
            max_index_bytes: 1 << 30,
            cache_bytes: 4 << 30,
            linger_seconds: None,
            follow_milliseconds: 250,
            existing: false,
            recover: false,
            is_cache_foreign: false,
            progress: Progress::default(),
        }
    }
}

/// The supported addresses, for error messages.
#[cfg(feature = "cloud")]
const SUPPORTED: &str = "a folder, or an address that begins with `file://`, `s3://`, `gs://` or `az://`";
#[cfg(not(feature = "cloud"))]
const SUPPORTED: &str = "a folder or a `file://` address";

/// Returns the folder of an address: a path, or `file://` and an absolute path.
///
/// # Errors
/// [`Error::Options`] for any other scheme. The message contains nothing that may be a secret.
pub(crate) fn folder_of(url: &str) -> Result<PathBuf> {
    let Some((scheme, rest)) = url.split_once("://") else {
        if url.is_empty() {
            return Err(Error::Options("expected a folder, got an empty address".into()));
        }
        return Ok(PathBuf::from(url));
    };
    if !scheme.eq_ignore_ascii_case("file") {
        return Err(Error::Options(format!("expected {SUPPORTED}, got `{scheme}://`")));
    }
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    match percent_decoded(path) {
        Some(path) if path.starts_with('/') => Ok(PathBuf::from(path)),
        _ => Err(Error::Options(format!("expected `file://` and an absolute path, got `{url}`"))),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(decoded).ok()
}
