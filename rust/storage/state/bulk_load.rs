//! Preparing a bulk load: whole traces are merged with their stored spans and written as a segment.
//!
//! The segment is written against one snapshot, while the store continues to work. Then the committer makes
//! it live (`committer/bulk_load.rs`) and resolves changes between the snapshot and the commit.

use std::sync::Arc;

use rayon::prelude::*;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::storage::head::batch::HeadEntry;
use crate::storage::head::into_segment::write_segment;
use crate::storage::manifest::ImportRecord;
use crate::storage::objects::Objects;
use crate::storage::segment::Segment;
use crate::storage::segment::builder::NewSegment;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::snapshot::Snapshot;
use crate::trace::{MAX_SPANS, Span, Trace};

/// A segment of loaded traces, and the rows that they replace in the snapshot.
pub(crate) struct BulkLoad {
    /// `None` if the load has no new data.
    pub(crate) segment: Option<NewSegment>,
    /// The segments in which the traces were looked up.
    pub(crate) searched: Vec<Arc<Segment>>,
    pub(crate) replaced: Vec<ReplacedRow>,
    pub(crate) import: ImportProgress,
}

/// The progress of an import after a load is committed.
pub(crate) enum ImportProgress {
    /// The load does not belong to a recorded import.
    Untracked,
    Reached(ImportRecord),
    /// The import from this source has ended.
    Ended(String),
}

/// A row that is replaced because its trace was merged with the loaded one.
pub(crate) struct ReplacedRow {
    /// The index in [`BulkLoad::searched`].
    pub(crate) segment: usize,
    pub(crate) row: u32,
    /// The loaded trace before the merge.
    pub(crate) loaded: Trace,
}

/// The result of preparing one trace.
struct PreparedTrace {
    /// The merged trace; `None` if the stored trace is the same.
    entry: Option<Arc<HeadEntry>>,
    replaced: Option<ReplacedRow>,
    surplus: u64,
}

impl BulkLoad {
    /// Writes the segment of the new data in `traces`. Also returns the number of spans over the limit of
    /// their trace.
    ///
    /// # Errors
    /// [`crate::error::Error::Damage`] if a stored trace cannot be read, [`crate::error::Error::Storage`].
    pub(crate) fn prepare(
        objects: &dyn Objects,
        cache: &IndexCache,
        snapshot: &Snapshot,
        mut traces: Vec<Trace>,
        import: ImportProgress,
    ) -> Result<(Self, u64)> {
        let segments = snapshot.shared_segments();
        // Adjacent ids are found together in an index.
        traces.sort_unstable_by_key(|trace| trace.trace_id);
        let prepared = traces.into_par_iter().map(|loaded| PreparedTrace::of(&segments, loaded));
        let prepared = prepared.collect::<Result<Vec<_>>>()?;
        let surplus = prepared.iter().map(|prepared| prepared.surplus).sum();
        let (mut entries, mut replaced) = (Vec::with_capacity(prepared.len()), Vec::new());
        for trace in prepared {
            entries.extend(trace.entry);
            replaced.extend(trace.replaced);
        }
        let segment = if entries.is_empty() {
            None
        } else {
            Some(write_segment((objects, cache), &entries, None, false)?)
        };
        // Dropping takes as long as creating.
        entries.into_par_iter().for_each(drop);
        let searched = segments.into_iter().map(|(segment, _)| segment).collect();
        Ok((Self { segment, searched, replaced, import }, surplus))
    }

    /// Returns `true` if the traces were looked up in this segment.
    pub(crate) fn has_searched(&self, segment: &Arc<Segment>) -> bool {
        self.searched.iter().any(|searched| Arc::ptr_eq(searched, segment))
    }
}

impl PreparedTrace {
    fn of(segments: &[(Arc<Segment>, Arc<RoaringBitmap>)], loaded: Trace) -> Result<Self> {
        let location = segments.iter().enumerate().rev().find_map(|(position, (segment, deleted))| {
            let row = segment.find(loaded.trace_id)?;
            (!deleted.contains(row)).then_some((position, row))
        });
        let Some((segment, row)) = location else {
            let nothing = Trace::new(loaded.trace_id, loaded.created_at);
            let (merged, surplus) = merge_loaded(&nothing, &loaded);
            return Ok(Self { entry: Some(Arc::new(HeadEntry::new(merged))), replaced: None, surplus });
        };
        let present = segments[segment].0.trace(row as usize)?;
        if contains(&present, &loaded) {
            return Ok(Self { entry: None, replaced: None, surplus: 0 });
        }
        let (merged, surplus) = merge_loaded(&present, &loaded);
        let replaced = Some(ReplacedRow { segment, row, loaded });
        Ok(Self { entry: Some(Arc::new(HeadEntry::new(merged))), replaced, surplus })
    }
}

/// Returns `true` if merging `loaded` into `present` would change nothing.
fn contains(present: &Trace, loaded: &Trace) -> bool {
    let is_known = |span: &Arc<Span>| present.span(span.span_id).is_some_and(|copy| !span.supersedes(copy));
    loaded.created_at >= present.created_at && loaded.spans().iter().all(is_known)
}

/// Returns `present` with the loaded spans, and the number of spans over the limit of a trace.
pub(crate) fn merge_loaded(present: &Trace, loaded: &Trace) -> (Trace, u64) {
    let max_spans = MAX_SPANS.max(present.spans().len());
    let mut merged = present.with(loaded.spans().iter().cloned());
    let surplus = merged.spans().len().saturating_sub(max_spans);
    if surplus > 0 {
        let mut free = max_spans - present.spans().len();
        let fitting = loaded.spans().iter().filter(|span| {
            let is_new = present.span(span.span_id).is_none();
            let fits = !is_new || free > 0;
            free -= usize::from(is_new && fits);
            fits
        });
        merged = present.with(fitting.cloned().collect::<Vec<_>>());
    }
    // A trace starts with its first span. Fragments do not count.
    merged.created_at = match present.spans() {
        [] => loaded.created_at,
        _ => present.created_at.min(loaded.created_at),
    };
    (merged, surplus as u64)
}
