//! A generation of the head: a contiguous range of write-ahead objects and the rows they brought.
//!
//! Rows are never changed: a commit adds a batch and hides what it replaces. A generation is cut
//! whole, sealed whole, and gone once the manifest with its segment is durable.

use std::sync::Arc;
use std::time::Instant;

use roaring::RoaringBitmap;

use crate::otlp::TraceId;
use crate::storage::head::batch::{Entry, HeadBatch};
use crate::storage::options::Options;

/// More batches than this are merged, so that a search visits few.
const MAX_BATCHES: usize = 16;

/// A batch of the head with its hidden rows.
#[derive(Debug, Clone)]
pub(crate) struct HeadPart {
    pub(crate) batch: Arc<HeadBatch>,
    pub(crate) hidden: Arc<RoaringBitmap>,
}

impl HeadPart {
    fn live_rows(&self) -> u64 {
        self.batch.entries().len() as u64 - self.hidden.len()
    }

    fn live_entries(&self) -> impl Iterator<Item = Arc<Entry>> {
        let rows = (0u32..).zip(self.batch.entries());
        rows.filter(|(row, _)| !self.hidden.contains(*row)).map(|(_, entry)| entry.clone())
    }
}

/// Rows that are not sealed yet.
#[derive(Debug, Clone)]
pub(crate) struct Generation {
    /// The last write-ahead object whose rows are here.
    pub(crate) wal_through: u64,
    /// How many write-ahead objects it holds.
    pub(crate) objects: u64,
    /// The bytes of these objects.
    pub(crate) bytes: u64,
    /// About what its rows take in memory.
    pub(crate) memory: u64,
    /// When its first rows came.
    pub(crate) since: Option<Instant>,
    pub(crate) parts: Vec<HeadPart>,
    /// What its segment will hold, set when it is cut: the rows that were live then. What comes later
    /// hides rows in memory only, for it is not durable in any segment yet.
    pub(crate) cut: Option<Arc<[Arc<Entry>]>>,
}

impl Generation {
    /// Returns an empty generation that begins after write-ahead object `wal_through`.
    pub(crate) fn after(wal_through: u64) -> Self {
        Self { wal_through, objects: 0, bytes: 0, memory: 0, since: None, parts: Vec::new(), cut: None }
    }

    /// Whether it is time to cut it, or it was cut already.
    pub(crate) fn is_large(&self, options: &Options) -> bool {
        self.bytes >= options.seal_bytes
            || self.objects >= options.seal_objects
            || self.memory >= options.max_head_bytes / 4
    }

    /// Returns the part and the row in which the trace stands.
    pub(crate) fn find(&self, trace_id: TraceId) -> Option<(usize, u32)> {
        self.parts.iter().enumerate().rev().find_map(|(place, part)| {
            let row = part.batch.find(trace_id)?;
            (!part.hidden.contains(row)).then_some((place, row))
        })
    }

    /// Hides a row.
    pub(crate) fn hide(&mut self, part: usize, row: u32) {
        let part = &mut self.parts[part];
        Arc::make_mut(&mut part.hidden).insert(row);
        if self.cut.is_none() {
            // Its spans are those of the trace that replaces it.
            self.memory = self.memory.saturating_sub(part.batch.entries()[row as usize].memory());
        }
    }

    /// Adds rows of which none stands elsewhere, and merges if there are many batches now.
    pub(crate) fn add(&mut self, entries: Vec<Arc<Entry>>) {
        if entries.is_empty() {
            return;
        }
        self.memory += entries.iter().map(|entry| entry.memory()).sum::<u64>();
        self.since.get_or_insert_with(Instant::now);
        self.parts.push(HeadPart { batch: Arc::new(HeadBatch::new(entries)), hidden: Arc::default() });
        self.parts.retain(|part| part.live_rows() > 0);
        if self.parts.len() > MAX_BATCHES {
            // Merging the smaller half costs each row a number of merges logarithmic in their count.
            self.parts.sort_by_key(|part| std::cmp::Reverse(part.live_rows()));
            let small = self.parts.split_off(MAX_BATCHES / 2);
            let entries = small.iter().flat_map(HeadPart::live_entries).collect();
            self.parts.push(HeadPart { batch: Arc::new(HeadBatch::new(entries)), hidden: Arc::default() });
        }
    }

    /// Returns the rows that are live now.
    pub(crate) fn live_entries(&self) -> Vec<Arc<Entry>> {
        self.parts.iter().flat_map(HeadPart::live_entries).collect()
    }
}
