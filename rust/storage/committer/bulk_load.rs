//! Adoption: traces come in bulk and become a segment of their own, past the head and the write-ahead.
//!
//! The segment is written beside the store's work, as a seal would write it, against one snapshot. The
//! committer then seals the head, so that every trace stands in some segment, and in one manifest adds
//! the new one, hides the rows it replaces, and says how far the import is. What moved between the
//! snapshot and the commit is merged again there, into a small segment beside it.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam_channel::Receiver;
use rayon::prelude::*;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::otlp::TraceId;
use crate::storage::committer::{Committer, Order};
use crate::storage::head::batch::HeadEntry;
use crate::storage::manifest::ImportRecord;
use crate::storage::objects::Objects;
use crate::storage::segment::Segment;
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::snapshot::Snapshot;
use crate::storage::state::Sealed;
use crate::storage::workers::flush::{Written, discard, write_segment};
use crate::trace::{MAX_SPANS, Trace};

/// The manifest remembers so many imports that were begun and never ended.
const MOST_RECORDS: usize = 64;

/// Traces that are written as a segment, and what was true when they were.
pub(crate) struct Adoption {
    /// `None` if the import brought nothing new.
    written: Option<Written>,
    /// The segments in which the traces were looked up.
    looked: Vec<Arc<Segment>>,
    moved: Vec<Moved>,
    /// The import and how far it is; `None` in it to forget it.
    pub(crate) progress: Option<(String, Option<ImportRecord>)>,
}

/// A trace that was merged with what stood in a segment.
struct Moved {
    /// The place in `looked`.
    segment: usize,
    row: u32,
    /// What the import brings of it.
    brought: Trace,
}

/// What becomes of one trace.
struct Prepared {
    /// The trace as it will stand; `None` if it stands so already.
    entry: Option<Arc<HeadEntry>>,
    moved: Option<Moved>,
    surplus: u64,
}

/// Writes the segment of what is new in `traces`; also returns how many spans are over the limit.
///
/// # Errors
/// [`crate::error::Error::Damage`] if what is stored of a trace cannot be read.
pub(crate) fn prepare(
    objects: &dyn Objects,
    cache: &IndexCache,
    snapshot: &Snapshot,
    mut traces: Vec<Trace>,
) -> Result<(u64, Adoption)> {
    let sealed = snapshot.sealed();
    // Neighbours in an index are found together.
    traces.sort_unstable_by_key(|trace| trace.trace_id);
    let prepared = traces.into_par_iter().map(|brought| Prepared::of(&sealed, brought));
    let prepared = prepared.collect::<Result<Vec<_>>>()?;
    let surplus = prepared.iter().map(|prepared| prepared.surplus).sum();
    let (mut entries, mut moved) = (Vec::with_capacity(prepared.len()), Vec::new());
    for trace in prepared {
        entries.extend(trace.entry);
        moved.extend(trace.moved);
    }
    let written =
        if entries.is_empty() { None } else { Some(write_segment(objects, cache, &entries, false)?) };
    let looked = sealed.into_iter().map(|(segment, _)| segment).collect();
    Ok((surplus, Adoption { written, looked, moved, progress: None }))
}

impl Prepared {
    fn of(sealed: &[(Arc<Segment>, Arc<RoaringBitmap>)], brought: Trace) -> Result<Self> {
        let place = sealed.iter().enumerate().rev().find_map(|(place, (segment, hidden))| {
            let row = segment.find(brought.trace_id)?;
            (!hidden.contains(row)).then_some((place, row))
        });
        let Some((segment, row)) = place else {
            let nothing = Trace::new(brought.trace_id, brought.created_at);
            let (merged, surplus) = merged(&nothing, &brought);
            return Ok(Self { entry: Some(Arc::new(HeadEntry::new(merged))), moved: None, surplus });
        };
        let present = sealed[segment].0.trace(row as usize)?;
        if brings_nothing(&present, &brought) {
            return Ok(Self { entry: None, moved: None, surplus: 0 });
        }
        let (merged, surplus) = merged(&present, &brought);
        let moved = Some(Moved { segment, row, brought });
        Ok(Self { entry: Some(Arc::new(HeadEntry::new(merged))), moved, surplus })
    }
}

fn brings_nothing(present: &Trace, brought: &Trace) -> bool {
    let is_known = |span: &Arc<_>| is_known(present, span);
    brought.created_at >= present.created_at && brought.spans().iter().all(is_known)
}

fn is_known(present: &Trace, span: &Arc<crate::trace::Span>) -> bool {
    present.span(span.span_id).is_some_and(|copy| !span.supersedes(copy))
}

/// Returns `present` with what was brought, and how many spans were too many for one trace.
fn merged(present: &Trace, brought: &Trace) -> (Trace, u64) {
    let most = MAX_SPANS.max(present.spans().len());
    let mut merged = present.with(brought.spans().iter().cloned());
    let surplus = merged.spans().len().saturating_sub(most);
    if surplus > 0 {
        let mut room = most - present.spans().len();
        let fitting = brought.spans().iter().filter(|span| {
            let is_new = present.span(span.span_id).is_none();
            let fits = !is_new || room > 0;
            room -= usize::from(is_new && fits);
            fits
        });
        merged = present.with(fitting.cloned().collect::<Vec<_>>());
    }
    merged.created_at = present.created_at.min(brought.created_at);
    (merged, surplus as u64)
}

impl Committer {
    /// Makes an adoption live and durable; requests that come meanwhile are held back.
    ///
    /// # Errors
    /// As [`Committer::install`]; [`crate::error::Error::Busy`] if the disk is too full.
    pub(crate) fn adopt(&mut self, adoption: Adoption, orders: &Receiver<Order>) -> Result<()> {
        let record = adoption.written.as_ref().map(|written| written.record.clone());
        let outcome = match self.refusal() {
            Some(refusal) => Err(refusal),
            None => self.seal_head(orders).and_then(|()| self.commit_adoption(adoption)),
        };
        // A segment that may be live must stay; the next opening knows.
        if let (Some(record), Err(_), None) = (record, &outcome, &self.stopped) {
            discard(self.objects.as_ref(), &self.cache(), &record);
        }
        outcome
    }

    fn commit_adoption(&mut self, adoption: Adoption) -> Result<()> {
        let imports = self.imports_with(adoption.progress);
        let Some(written) = adoption.written else {
            return self.install_with(self.state.sealed.clone(), self.folded_through(), imports);
        };
        let mut next = self.state.sealed.clone();
        let mut clashes = HashMap::new();
        for Moved { segment, row, brought } in adoption.moved {
            let looked = &adoption.looked[segment];
            match next.iter_mut().find(|sealed| Arc::ptr_eq(&sealed.segment, looked)) {
                Some(sealed) if !sealed.hidden.contains(row) => sealed.hide(&RoaringBitmap::from([row])),
                // Superseded, merged into another segment, or deleted.
                _ => drop(clashes.insert(brought.trace_id, brought)),
            }
        }
        for sealed in next.iter().filter(|sealed| !is_among(&adoption.looked, &sealed.segment)) {
            for trace_id in shared_traces(sealed, &written.segment)? {
                if let std::collections::hash_map::Entry::Vacant(vacant) = clashes.entry(trace_id) {
                    let row = written.segment.find(trace_id).expect("found just now");
                    vacant.insert(written.segment.trace(row as usize)?);
                }
            }
        }
        let resolved = self.resolve(&mut next, &clashes)?;
        let gone = clashes.keys().filter_map(|trace_id| written.segment.find(*trace_id)).collect();
        let mut adopted = Sealed::new(written);
        adopted.hide(&gone);
        next.push(adopted);
        let small = resolved.as_ref().map(|written| written.record.clone());
        next.extend(resolved.map(Sealed::new));
        let outcome = self.install_with(next, self.folded_through(), imports);
        if let (Some(record), Err(_), None) = (small, &outcome, &self.stopped) {
            discard(self.objects.as_ref(), &self.cache(), &record);
        }
        outcome.map(|()| self.publish())
    }

    fn folded_through(&self) -> u64 {
        self.state.manifest.wal_checkpoint
    }

    /// Merges what clashed with what stands in `next`, hides it there, and writes what comes of it.
    fn resolve(&self, next: &mut [Sealed], clashes: &HashMap<TraceId, Trace>) -> Result<Option<Written>> {
        let mut entries = Vec::with_capacity(clashes.len());
        for brought in clashes.values() {
            let place = next.iter().enumerate().find_map(|(place, sealed)| {
                let row = sealed.segment.find(brought.trace_id)?;
                (!sealed.hidden.contains(row)).then_some((place, row))
            });
            let trace = match place {
                None => brought.clone(),
                Some((place, row)) => {
                    let present = next[place].segment.trace(row as usize)?;
                    next[place].hide(&RoaringBitmap::from([row]));
                    merged(&present, brought).0
                }
            };
            entries.push(Arc::new(HeadEntry::new(trace)));
        }
        if entries.is_empty() {
            return Ok(None);
        }
        write_segment(self.objects.as_ref(), &self.cache(), &entries, false).map(Some)
    }

    /// Returns how far imports are once this one is so far.
    fn imports_with(&self, progress: Option<(String, Option<ImportRecord>)>) -> Vec<ImportRecord> {
        let mut imports = self.state.manifest.imports.clone();
        if let Some((source, so_far)) = progress {
            imports.retain(|record| record.source != source);
            imports.extend(so_far);
            let forgotten = imports.len().saturating_sub(MOST_RECORDS);
            imports.drain(..forgotten);
        }
        imports
    }
}

impl Sealed {
    /// Returns a segment of which no row is hidden.
    fn new(Written { record, segment }: Written) -> Self {
        Self { record, segment, durably_hidden: Arc::default(), hidden: Arc::default() }
    }
}

fn is_among(looked: &[Arc<Segment>], segment: &Arc<Segment>) -> bool {
    looked.iter().any(|other| Arc::ptr_eq(other, segment))
}

/// Returns the traces of live rows of `sealed` that are in `written` too.
fn shared_traces(sealed: &Sealed, written: &Segment) -> Result<Vec<TraceId>> {
    let rows = u32::try_from(sealed.record.rows).unwrap_or(u32::MAX);
    let live = (0..rows).into_par_iter().filter(|row| !sealed.hidden.contains(*row));
    let shared = live.map(|row| {
        let trace_id = sealed.segment.trace_id(row as usize)?;
        Ok(written.find(trace_id).map(|_| trace_id))
    });
    Ok(shared.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
