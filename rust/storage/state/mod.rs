//! The state of the store as its one writer changes it: segments, generations, and who hides what.
//!
//! Between two states a trace is known by its id, never by a row's number.

pub(crate) mod merge_spans;
pub(crate) mod open_segments;

use std::collections::BTreeSet;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::otlp::TraceId;
use crate::storage::head::batch::HeadEntry;
use crate::storage::head::generation::Generation;
use crate::storage::manifest::{Manifest, SegmentRecord};
use crate::storage::segment::Segment;
use crate::storage::snapshot::{Snapshot, SnapshotPart};
use crate::storage::workers::flush::Written;
use crate::trace::Trace;

/// A live segment with the rows that are hidden in it.
#[derive(Debug, Clone)]
pub(crate) struct Sealed {
    pub(crate) record: SegmentRecord,
    pub(crate) segment: Arc<Segment>,
    /// Hidden durably: their traces stand in newer segments, or were deleted.
    pub(crate) durably_hidden: Arc<RoaringBitmap>,
    /// Hidden in this state: those, and the rows whose traces stand in the head. After a crash the
    /// latter are needed again, for the head is replayed on top of them.
    pub(crate) hidden: Arc<RoaringBitmap>,
}

/// Where a trace stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Sealed { segment: usize, row: u32 },
    Head { generation: usize, part: usize, row: u32 },
}

/// A trace as it will stand once a group is durable.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// Where it stands until then.
    pub(crate) replaces: Option<Place>,
    pub(crate) entry: Arc<HeadEntry>,
}

/// Everything the writer knows.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// The newest manifest.
    pub(crate) manifest: Manifest,
    /// The segments the manifest names, in its order.
    pub(crate) sealed: Vec<Sealed>,
    /// Oldest first; the last one is open, those before are cut.
    pub(crate) generations: Vec<Generation>,
    /// The write-ahead objects that were replayed and hold nothing.
    pub(crate) fences: BTreeSet<u64>,
}

impl State {
    /// Returns the state of a store whose head is empty.
    pub(crate) fn new(manifest: Manifest, sealed: Vec<Sealed>) -> Self {
        let generations = vec![Generation::after(manifest.wal_checkpoint)];
        Self { manifest, sealed, generations, fences: BTreeSet::new() }
    }

    /// Returns where a trace stands.
    pub(crate) fn find(&self, trace_id: TraceId) -> Option<Place> {
        let generations = self.generations.iter().enumerate().rev();
        let in_head = generations.map(|(generation, rows)| {
            let (part, row) = rows.find(trace_id)?;
            Some(Place::Head { generation, part, row })
        });
        let segments = self.sealed.iter().enumerate().rev();
        let in_segments = segments.map(|(segment, sealed)| {
            let row = sealed.segment.find(trace_id)?;
            (!sealed.hidden.contains(row)).then_some(Place::Sealed { segment, row })
        });
        in_head.chain(in_segments).flatten().next()
    }

    /// Returns the trace that stands at `place`.
    ///
    /// # Errors
    /// As [`Segment::trace`].
    pub(crate) fn trace(&self, place: Place) -> Result<Trace> {
        match place {
            Place::Sealed { segment, row } => self.sealed[segment].segment.trace(row as usize),
            Place::Head { generation, part, row } => {
                let part = &self.generations[generation].parts[part];
                Ok(part.batch.trace(row as usize).clone())
            }
        }
    }

    /// Returns the open generation.
    pub(crate) fn open_generation(&mut self) -> &mut Generation {
        self.generations.last_mut().expect("the last generation is always open")
    }

    /// Returns the number of the last write-ahead object.
    pub(crate) fn wal_through(&self) -> u64 {
        self.generations.last().expect("the last generation is always open").wal_through
    }

    /// Makes changes that are durable as write-ahead object `number`, which has `bytes` bytes.
    pub(crate) fn apply(&mut self, changes: Vec<Change>, number: u64, bytes: u64) {
        for place in changes.iter().filter_map(|change| change.replaces) {
            match place {
                Place::Sealed { segment, row } => {
                    Arc::make_mut(&mut self.sealed[segment].hidden).insert(row);
                }
                Place::Head { generation, part, row } => self.generations[generation].delete(part, row),
            }
        }
        let open = self.open_generation();
        open.add(changes.into_iter().map(|change| change.entry).collect());
        open.objects += number - open.wal_through;
        open.bytes += bytes;
        open.wal_through = number;
    }

    /// Cuts the open generation: it takes no more rows, and its segment will hold what is live now.
    pub(crate) fn cut(&mut self) {
        let open = self.open_generation();
        open.cut = Some(open.live_entries().into());
        let next = Generation::after(open.wal_through);
        self.generations.push(next);
    }

    /// Returns the segments as they stand once the oldest generation is sealed as `written`: with the
    /// rows it supersedes hidden durably, and without what came after the cut.
    pub(crate) fn sealing(&self, written: Option<Written>) -> Result<Vec<Sealed>> {
        let mut sealed = self.sealed.clone();
        let Some(Written { record, segment }) = written else { return Ok(sealed) };
        for older in &mut sealed {
            let mut superseded = RoaringBitmap::new();
            for row in older.hidden.as_ref() - older.durably_hidden.as_ref() {
                if segment.find(older.segment.trace_id(row as usize)?).is_some() {
                    superseded.insert(row);
                }
            }
            older.hide(&superseded);
        }
        // What came after the cut stands in younger generations and hides rows here.
        let generation = &self.generations[0];
        let cut = generation.cut.iter().flat_map(|entries| entries.iter());
        let gone = cut.map(|entry| entry.trace.trace_id).filter(|id| generation.find(*id).is_none());
        let hidden: RoaringBitmap = gone.filter_map(|id| segment.find(id)).collect();
        sealed.push(Sealed { record, segment, durably_hidden: Arc::default(), hidden: Arc::new(hidden) });
        Ok(sealed)
    }

    /// Returns this state as searches see it.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let sealed = self.sealed.iter();
        let sealed = sealed.map(|sealed| SnapshotPart::sealed(sealed.segment.clone(), sealed.hidden.clone()));
        let head = self.generations.iter().flat_map(|generation| &generation.parts);
        let head = head.map(|part| SnapshotPart::head(part.batch.clone(), part.deletion_vector.clone()));
        Snapshot::new(sealed.chain(head).collect())
    }

    /// Returns about what the rows that are not folded into segments take in memory.
    pub(crate) fn in_memory(&self) -> u64 {
        self.generations.iter().map(|generation| generation.memory).sum()
    }

    /// Returns the bytes and the count of the write-ahead objects that are not folded into segments.
    pub(crate) fn unsealed(&self) -> (u64, u64) {
        let sum = |(bytes, objects), generation: &Generation| {
            (bytes + generation.bytes, objects + generation.objects)
        };
        self.generations.iter().fold((0, 0), sum)
    }
}
