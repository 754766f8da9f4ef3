//! The options of a store, and the addresses of local ones.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::progress::Progress;

/// What a store makes of the documents of its segments in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexKind {
    /// The table of spans, which conditions on spans are answered by.
    Spans,
    /// The index of texts, which conditions on what was said are answered by.
    Texts,
    /// The index of attributes, which conditions on them are answered by, and their keys are listed by. Conditions need the
    /// table of spans, too.
    Attributes,
}

impl IndexKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Spans, Self::Texts, Self::Attributes];

    /// Returns the name of its file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Texts => "text",
            Self::Attributes => "attributes",
        }
    }
}

/// The options a store is opened with: when it seals, when it rejects spans, and how large its segments become.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// A generation of the head is cut at this many bytes of WAL objects.
    pub seal_bytes: u64,
    /// A generation is cut at this many WAL objects.
    pub seal_objects: u64,
    /// A generation is cut this many seconds after its first trace.
    pub seal_seconds: u64,
    /// Spans are rejected while more bytes of WAL objects than this are unsealed.
    pub max_unsealed_bytes: u64,
    /// Spans are rejected while the head takes more bytes of memory than this; a generation is cut at a quarter of it.
    pub max_head_bytes: u64,
    /// Spans are rejected while more WAL objects than this are unsealed.
    pub max_unsealed_objects: u64,
    /// Requests are rejected while more bytes than this wait to be written.
    pub max_waiting_bytes: u64,
    /// Requests wait while decoding other requests takes more bytes of memory than this.
    pub max_decoding_bytes: u64,
    /// Merges produce segments of at most about this many traces.
    pub max_segment_traces: u64,
    /// Merges produce segments of at most about this many bytes of documents.
    pub max_segment_bytes: u64,
    /// With this many segments the smallest are merged before another is sealed, however large they become.
    pub max_segments: u64,
    /// Traces that started more than this many seconds ago are deleted, soon after they are that old.
    pub retain_seconds: Option<u64>,
    /// The oldest traces are deleted while the stored documents of sealed traces have more bytes than this.
    pub retain_bytes: Option<u64>,
    /// Fragments of a trace of which no span has come are deleted this many seconds after the first was received.
    pub retain_fragment_seconds: u64,
    /// Spans are rejected while the disk of a local store has fewer free bytes than this; 0 never rejects.
    pub min_free_bytes: u64,
    /// The folder of cached segment indexes, which belongs to this store alone. By default `cache` in a local store's
    /// own folder. Everything in it can be rebuilt.
    pub cache_dir: Option<PathBuf>,
    /// What is indexed in the background, so that fewer searches read documents.
    pub indexes: Vec<IndexKind>,
    /// An index that takes more bytes of memory while it is made is given up: documents decide instead. Writing it takes
    /// as much again.
    pub max_index_bytes: u64,
    /// For a store in a bucket, how many bytes of recently read documents are cached there.
    pub cache_bytes: u64,
    /// Objects that are not needed any more are kept this many seconds for readers that follow the store and may still hold
    /// them. By default 60 in a bucket, and 0 in a folder, where an open file stays readable.
    pub linger_seconds: Option<u64>,
    /// A store that is followed is looked at this many milliseconds after the last look.
    pub follow_milliseconds: u64,
    /// Whether opening an address without a store fails; otherwise a store is created there.
    pub existing: bool,
    /// Whether opening quarantines damaged segments instead of failing.
    pub recover: bool,
    /// Whether the cache belongs to another process, so that it is only read.
    #[serde(skip)]
    pub is_cache_foreign: bool,
    /// How far what a caller waits for has come: opening the store, counted in objects; deleting and compacting, in traces.
    #[serde(skip)]
    pub progress: Progress,
}

/// Which indexes are made of the documents of a segment, and the memory that one may take.
#[derive(Debug, Clone)]
pub(crate) struct Indexing {
    pub(crate) kinds: Vec<IndexKind>,
    /// See [`Options::max_index_bytes`].
    pub(crate) max_bytes: u64,
}

impl Indexing {
    /// Whether every condition on the contents of traces has its index.
    pub(crate) fn has_all_kinds(&self) -> bool {
        IndexKind::ALL.iter().all(|kind| self.kinds.contains(kind))
    }
}

impl Options {
    /// Returns how long superseded objects linger.
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

/// Returns the folder that an address names: a path, or `file://` and an absolute path.
///
/// # Errors
/// [`Error::Options`] for any other scheme. The message repeats nothing that may be a secret.
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
