//! A generation of the head: a contiguous range of the write-ahead log and its rows.
//!
//! Rows are immutable: a commit adds a batch and deletes the rows that it supersedes. A generation is rotated
//! and flushed as a whole, and is dropped after the manifest with its segment is durable.

use std::sync::Arc;
use std::time::Instant;

use roaring::RoaringBitmap;

use crate::otlp::TraceId;
use crate::storage::head::batch::{HeadBatch, HeadEntry};
use crate::storage::options::Options;
use crate::storage::segment::PartIndexes;

/// The maximum number of batches without indexes. More batches are merged, because a search visits each.
const MAX_BATCHES: usize = 16;

/// A batch of the head with its deletion vector.
#[derive(Debug, Clone)]
pub(crate) struct HeadPart {
    pub(crate) batch: Arc<HeadBatch>,
    pub(crate) deletion_vector: Arc<RoaringBitmap>,
}

impl HeadPart {
    fn live_rows(&self) -> u64 {
        self.batch.entries().len() as u64 - self.deletion_vector.len()
    }

    fn live_entries(&self) -> impl Iterator<Item = Arc<HeadEntry>> {
        let rows = (0u32..).zip(self.batch.entries());
        rows.filter(|(row, _)| !self.deletion_vector.contains(*row)).map(|(_, entry)| entry.clone())
    }

    fn is_indexed(&self) -> bool {
        self.batch.indexes().is_some()
    }
}

/// Rows that are not flushed durably.
#[derive(Debug, Clone)]
pub(crate) struct Generation {
    /// The number of the last write-ahead object whose rows are in this generation.
    pub(crate) wal_through: u64,
    /// The number of its write-ahead objects.
    pub(crate) objects: u64,
    /// The total size of these objects in bytes.
    pub(crate) bytes: u64,
    /// The approximate memory of its rows and their indexes, in bytes.
    pub(crate) memory: u64,
    /// The part of `memory` for rows without an index.
    pub(crate) unindexed_memory: u64,
    /// The arrival time of its first rows.
    pub(crate) since: Option<Instant>,
    pub(crate) parts: Vec<HeadPart>,
    /// The rows that were live at the rotation, which the segment will contain. Later commits delete rows in
    /// memory only, because the superseding rows are not yet durable in a segment.
    pub(crate) rotated_entries: Option<Arc<[Arc<HeadEntry>]>>,
}

impl Generation {
    /// Returns an empty generation that starts after write-ahead object `wal_through`.
    pub(crate) fn after(wal_through: u64) -> Self {
        Self {
            wal_through,
            objects: 0,
            bytes: 0,
            memory: 0,
            unindexed_memory: 0,
            since: None,
            parts: Vec::new(),
            rotated_entries: None,
        }
    }

    /// Returns `true` if the generation is large enough to be rotated.
    pub(crate) fn is_large(&self, options: &Options) -> bool {
        self.bytes >= options.seal_bytes
            || self.objects >= options.seal_objects
            || self.memory >= options.max_head_bytes / 4
    }

    /// Returns the index of the part and the row of a trace, unless it is deleted.
    pub(crate) fn find(&self, trace_id: TraceId) -> Option<(usize, u32)> {
        self.parts.iter().enumerate().rev().find_map(|(index, part)| {
            let row = part.batch.find(trace_id)?;
            (!part.deletion_vector.contains(row)).then_some((index, row))
        })
    }

    /// Deletes a row.
    pub(crate) fn delete(&mut self, part: usize, row: u32) {
        let part = &mut self.parts[part];
        Arc::make_mut(&mut part.deletion_vector).insert(row);
        if self.rotated_entries.is_none() {
            // The superseding trace shares the spans.
            let memory = part.batch.entries()[row as usize].memory();
            self.memory = self.memory.saturating_sub(memory);
            if !part.is_indexed() {
                self.unindexed_memory = self.unindexed_memory.saturating_sub(memory);
            }
        }
    }

    /// Adds a batch of traces that have no other live row. Merges batches if there are too many.
    pub(crate) fn add(&mut self, entries: Vec<Arc<HeadEntry>>) {
        if entries.is_empty() {
            return;
        }
        let memory: u64 = entries.iter().map(|entry| entry.memory()).sum();
        self.memory += memory;
        self.unindexed_memory += memory;
        self.since.get_or_insert_with(Instant::now);
        self.parts
            .push(HeadPart { batch: Arc::new(HeadBatch::new(entries)), deletion_vector: Arc::default() });
        self.parts.retain(|part| part.live_rows() > 0);
        let indexed = self.parts.iter().filter(|part| part.is_indexed()).count();
        if self.parts.len() > indexed + MAX_BATCHES {
            // Merging the smaller half limits the number of merges per row to a logarithm.
            self.parts.sort_by_key(|part| std::cmp::Reverse((part.is_indexed(), part.live_rows())));
            let small = self.parts.split_off(indexed + MAX_BATCHES / 2);
            let entries = small.iter().flat_map(HeadPart::live_entries).collect();
            self.parts
                .push(HeadPart { batch: Arc::new(HeadBatch::new(entries)), deletion_vector: Arc::default() });
        }
    }

    /// Returns the live rows without an index that have not changed after `since`.
    pub(crate) fn unindexed_since(&self, since: Instant) -> Vec<Arc<HeadEntry>> {
        let unindexed = self.parts.iter().filter(|part| !part.is_indexed());
        unindexed.flat_map(HeadPart::live_entries).filter(|entry| entry.since <= since).collect()
    }

    /// Moves the live rows of an indexed batch to that batch. Returns `false` if none of its rows is live
    /// here.
    pub(crate) fn move_to(&mut self, indexed: &Arc<HeadBatch>) -> bool {
        let mut superseded = RoaringBitmap::new();
        for (row, entry) in (0..).zip(indexed.entries()) {
            let own = self.find(entry.trace.trace_id);
            let own = own
                .filter(|(part, own)| Arc::ptr_eq(&self.parts[*part].batch.entries()[*own as usize], entry));
            match own {
                Some((part, own)) => {
                    let part = &mut self.parts[part];
                    Arc::make_mut(&mut part.deletion_vector).insert(own);
                    if !part.is_indexed() {
                        self.unindexed_memory = self.unindexed_memory.saturating_sub(entry.memory());
                    }
                }
                None => {
                    superseded.insert(row);
                }
            }
        }
        if superseded.len() == indexed.entries().len() as u64 {
            return false;
        }
        self.memory += indexed.indexes().map_or(0, PartIndexes::bytes);
        self.parts.push(HeadPart { batch: indexed.clone(), deletion_vector: Arc::new(superseded) });
        self.parts.retain(|part| part.live_rows() > 0);
        true
    }

    /// Returns the batches that have indexes.
    pub(crate) fn indexed_batches(&self) -> Vec<Arc<HeadBatch>> {
        self.parts.iter().filter(|part| part.is_indexed()).map(|part| part.batch.clone()).collect()
    }

    /// Returns the rows that are not deleted.
    pub(crate) fn live_entries(&self) -> Vec<Arc<HeadEntry>> {
        self.parts.iter().flat_map(HeadPart::live_entries).collect()
    }
}
