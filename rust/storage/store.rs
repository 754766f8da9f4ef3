//! The store as its users see it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;
use crate::error::Result;
use crate::otlp::Export;

/// When the head is cut and when new spans are refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// A generation of the head is cut at this many bytes of spans.
    pub seal_bytes: u64,
    /// A generation is cut at this many write-ahead objects.
    pub seal_objects: u64,
    /// A generation is cut this many seconds after its first trace.
    pub seal_seconds: u64,
    /// Spans are refused while more bytes than this are not sealed.
    pub max_unsealed_bytes: u64,
    /// Spans are refused while more write-ahead objects than this are not sealed.
    pub max_unsealed_objects: u64,
    /// Requests are refused while more bytes than this wait to be written.
    pub max_waiting_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seal_bytes: 64 << 20,
            seal_objects: 10_000,
            seal_seconds: 600,
            max_unsealed_bytes: 256 << 20,
            max_unsealed_objects: 20_000,
            max_waiting_bytes: 64 << 20,
        }
    }
}

/// What became of one export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Spans that are durable now.
    pub accepted: u64,
    /// Spans that were refused.
    pub rejected: u64,
    /// Why the first of them was, or empty.
    pub reason: String,
}

/// The store in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Traces that a search without a filter finds.
    pub traces: u64,
}

/// What a check read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Traces that are not hidden, the write-ahead's not counted.
    pub traces: u64,
}

/// A durable store of traces with one writer.
#[derive(Debug)]
pub struct TraceStore {}

impl TraceStore {
    /// Opens the store in the folder `url` (a path, or a `file://` address), creating it if need be.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] for an address that is not served, `Locked` if another
    /// process holds the store, `Damage` if an object is missing or not what was written.
    pub fn open(_url: &str, _options: Options) -> Result<Self> {
        todo!()
    }

    /// Stores the spans of one request and returns once they are durable and searchable.
    ///
    /// # Errors
    /// `Busy`: nothing was stored, try later. `Stopped`: reopen first. `Closed`.
    pub fn ingest(&self, _export: Export) -> Result<Ingested> {
        todo!()
    }

    /// Returns the present state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        todo!()
    }

    /// Seals the whole head now.
    ///
    /// # Errors
    /// As [`TraceStore::ingest`].
    pub fn flush(&self) -> Result<()> {
        todo!()
    }

    /// Returns the store in numbers.
    pub fn stats(&self) -> Stats {
        todo!()
    }

    /// Ends the store's threads and releases the folder. Snapshots already held stay readable.
    ///
    /// # Errors
    /// If a thread of the store had died.
    pub fn close(&self) -> Result<()> {
        todo!()
    }

    /// Reads every object of the store and verifies it, writing nothing.
    ///
    /// # Errors
    /// The first damage found.
    pub fn check(_url: &str) -> Result<Report> {
        todo!()
    }
}
