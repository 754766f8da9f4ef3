//! The state of the store as its one writer changes it: segments, generations of the head, and deleted rows.
//!
//! Across states, a trace is identified by its id, never by a row number.

pub(crate) mod bulk_load;
pub(crate) mod claim;
pub(crate) mod command;
pub(crate) mod deletion_vectors;
pub(crate) mod lease;
pub(crate) mod live_segment;
pub(crate) mod merge_spans;
pub(crate) mod open_segments;
pub(crate) mod quarantine_wal;
pub(crate) mod replay;
pub(crate) mod sweep;

use std::collections::BTreeSet;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::otlp::TraceId;
use crate::storage::head::batch::HeadEntry;
use crate::storage::head::generation::Generation;
use crate::storage::manifest::Manifest;
use crate::storage::manifest::quarantined::QuarantinedWal;
use crate::storage::segment::builder::NewSegment;
use crate::storage::snapshot::{Snapshot, SnapshotPart};
use crate::storage::state::live_segment::LiveSegment;
use crate::trace::Trace;

/// The row that holds a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowLocation {
    Segment { segment: usize, row: u32 },
    Head { generation: usize, part: usize, row: u32 },
}

/// A trace in the state after its group is durable.
#[derive(Debug, Clone)]
pub(crate) struct TraceUpdate {
    /// The row that currently holds the trace.
    pub(crate) replaces: Option<RowLocation>,
    /// True if the trace differs from the stored one. Otherwise its spans are only written again.
    pub(crate) is_changed: bool,
    pub(crate) entry: Arc<HeadEntry>,
}

/// Returns the ids of the traces that `updates` change.
pub(crate) fn changed_traces(updates: &[TraceUpdate]) -> Vec<TraceId> {
    updates.iter().filter(|update| update.is_changed).map(|update| update.entry.trace.trace_id).collect()
}

/// The full state of the writer.
#[derive(Debug, Clone)]
pub(crate) struct StoreState {
    pub(crate) manifest: Manifest,
    /// The segments of the manifest, in its order.
    pub(crate) segments: Vec<LiveSegment>,
    /// Oldest first. The last one is open, and the others are rotated.
    pub(crate) generations: Vec<Generation>,
    /// The replayed WAL objects without requests.
    pub(crate) fences: BTreeSet<u64>,
    /// Objects that were unneeded when the store was opened, and whose linger time is not over.
    pub(crate) superseded: Vec<String>,
    /// The damaged WAL objects that the manifest records.
    pub(crate) quarantined_wal: Arc<[QuarantinedWal]>,
}

impl StoreState {
    /// Returns the state of a store whose head is empty.
    pub(crate) fn new(manifest: Manifest, segments: Vec<LiveSegment>) -> Self {
        let generations = vec![Generation::after(manifest.wal_checkpoint)];
        Self {
            manifest,
            segments,
            generations,
            fences: BTreeSet::new(),
            superseded: Vec::new(),
            quarantined_wal: Arc::default(),
        }
    }

    /// Returns the row that holds a trace.
    pub(crate) fn find(&self, trace_id: TraceId) -> Option<RowLocation> {
        let generations = self.generations.iter().enumerate().rev();
        let in_head = generations.map(|(generation, rows)| {
            let (part, row) = rows.find(trace_id)?;
            Some(RowLocation::Head { generation, part, row })
        });
        let segments = self.segments.iter().enumerate().rev();
        let in_segments = segments.map(|(segment, live)| {
            let row = live.segment.find(trace_id)?;
            (!live.deletion_vector.contains(row)).then_some(RowLocation::Segment { segment, row })
        });
        in_head.chain(in_segments).flatten().next()
    }

    /// Returns `true` if a segment has a row of the trace that would be live again if the head were lost.
    pub(crate) fn is_in_segment(&self, trace_id: TraceId) -> bool {
        let mut rows = self.segments.iter().map(|live| (live, live.segment.find(trace_id)));
        rows.any(|(live, row)| row.is_some_and(|row| !live.durable_deletion_vector.contains(row)))
    }

    /// Returns the trace of a row.
    ///
    /// # Errors
    /// The errors of [`crate::storage::segment::Segment::trace`].
    pub(crate) fn trace(&self, location: RowLocation) -> Result<Trace> {
        match location {
            RowLocation::Segment { segment, row } => self.segments[segment].segment.trace(row as usize),
            RowLocation::Head { generation, part, row } => {
                let part = &self.generations[generation].parts[part];
                Ok(part.batch.trace(row as usize).clone())
            }
        }
    }

    /// Returns the position of the segment with this id.
    pub(crate) fn position_of(&self, segment_id: &str) -> Option<usize> {
        self.segments.iter().position(|live| live.record.id == segment_id)
    }

    /// Returns the open generation.
    pub(crate) fn open_generation(&mut self) -> &mut Generation {
        self.generations.last_mut().expect("the last generation is always open")
    }

    /// Returns the number of the last WAL object.
    pub(crate) fn wal_through(&self) -> u64 {
        self.generations.last().expect("the last generation is always open").wal_through
    }

    /// Applies updates that are durable as WAL object `number`, which has `bytes` bytes.
    pub(crate) fn apply(&mut self, updates: Vec<TraceUpdate>, number: u64, bytes: u64) {
        for location in updates.iter().filter_map(|update| update.replaces) {
            match location {
                RowLocation::Segment { segment, row } => self.segments[segment].delete_in_memory([row]),
                RowLocation::Head { generation, part, row } => self.generations[generation].delete(part, row),
            }
        }
        let open = self.open_generation();
        open.add(updates.into_iter().map(|update| update.entry).collect());
        open.objects += number - open.wal_through;
        open.bytes += bytes;
        open.wal_through = number;
    }

    /// Rotates the open generation: it takes no more rows, and its segment will contain the rows that are
    /// live now.
    pub(crate) fn rotate(&mut self) {
        let open = self.open_generation();
        open.rotated_entries = Some(open.live_entries().into());
        let next = Generation::after(open.wal_through);
        self.generations.push(next);
    }

    /// Returns the segments after the oldest generation is flushed as `flushed`. Rows that it supersedes are
    /// deleted durably. Its own rows that were superseded after the rotation are deleted in memory.
    pub(crate) fn with_flushed(&self, flushed: Option<NewSegment>) -> Result<Vec<LiveSegment>> {
        let mut segments = self.segments.clone();
        let Some(flushed) = flushed else { return Ok(segments) };
        for older in &mut segments {
            let mut superseded = RoaringBitmap::new();
            for row in older.deletion_vector.as_ref() - older.durable_deletion_vector.as_ref() {
                if flushed.segment.find(older.segment.trace_id(row as usize)?).is_some() {
                    superseded.insert(row);
                }
            }
            older.delete(&superseded);
        }
        let generation = &self.generations[0];
        let rotated = generation.rotated_entries.iter().flat_map(|entries| entries.iter());
        let superseded =
            rotated.map(|entry| entry.trace.trace_id).filter(|id| generation.find(*id).is_none());
        let mut flushed = LiveSegment::new(flushed);
        let rows: Vec<u32> = superseded.filter_map(|id| flushed.segment.find(id)).collect();
        flushed.delete_in_memory(rows);
        segments.push(flushed);
        Ok(segments)
    }

    /// Returns this state as a snapshot for searches.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let segments = self.segments.iter();
        let segments =
            segments.map(|live| SnapshotPart::of_segment(live.segment.clone(), live.deletion_vector.clone()));
        let head = self.generations.iter().flat_map(|generation| &generation.parts);
        let head = head.map(|part| SnapshotPart::head(part.batch.clone(), part.deletion_vector.clone()));
        Snapshot::new(segments.chain(head).collect())
    }

    /// Returns the approximate memory of the rows in the head, in bytes.
    pub(crate) fn head_memory(&self) -> u64 {
        self.generations.iter().map(|generation| generation.memory).sum()
    }

    /// Returns the bytes and the number of the WAL objects after the checkpoint.
    pub(crate) fn unflushed(&self) -> (u64, u64) {
        let sum = |(bytes, objects), generation: &Generation| {
            (bytes + generation.bytes, objects + generation.objects)
        };
        self.generations.iter().fold((0, 0), sum)
    }
}
