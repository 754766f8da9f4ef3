//! Preparing a bulk load: whole traces are merged with what is stored of them and written as a segment.
//!
//! The segment is written against one snapshot, while the store goes on. The committer then makes it live
//! (`committer/bulk_load.rs`) and resolves what changed between the snapshot and the commit.

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

/// A segment of loaded traces, and what the snapshot held of them when it was written.
pub(crate) struct BulkLoad {
    /// `None` if the load brings nothing new.
    pub(crate) segment: Option<NewSegment>,
    /// The segments in which the traces were looked up.
    pub(crate) searched: Vec<Arc<Segment>>,
    pub(crate) replaced: Vec<ReplacedRow>,
    pub(crate) import: ImportProgress,
}

/// How far an import is once a load is committed.
pub(crate) enum ImportProgress {
    /// The load belongs to no import that is remembered.
    Untracked,
    Reached(ImportRecord),
    /// The import from this source has ended.
    Ended(String),
}

/// A row that is replaced, because its trace was merged with the loaded one.
pub(crate) struct ReplacedRow {
    /// The index in [`BulkLoad::searched`].
    pub(crate) segment: usize,
    pub(crate) row: u32,
    /// The trace as it was loaded.
    pub(crate) loaded: Trace,
}

/// What becomes of one trace.
struct PreparedTrace {
    /// The merged trace; `None` if it is stored like that already.
    entry: Option<Arc<HeadEntry>>,
    replaced: Option<ReplacedRow>,
    surplus: u64,
}

impl BulkLoad {
    /// Writes the segment of what is new in `traces`; also returns how many spans are over the limit of their trace.
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
        let segments = snapshot.sealed();
        // Neighbours in an index are found together.
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
        // As much work as making them was.
        entries.into_par_iter().for_each(drop);
        let searched = segments.into_iter().map(|(segment, _)| segment).collect();
        Ok((Self { segment, searched, replaced, import }, surplus))
    }

    /// Whether the traces were looked up in this segment.
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

/// Whether merging `loaded` into `present` would change nothing.
fn contains(present: &Trace, loaded: &Trace) -> bool {
    let is_known = |span: &Arc<Span>| present.span(span.span_id).is_some_and(|copy| !span.supersedes(copy));
    loaded.created_at >= present.created_at && loaded.spans().iter().all(is_known)
}

/// Returns `present` with the loaded spans, and how many of them were over the limit of a trace.
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
    // A trace begins with its first span, not with a fragment of one.
    merged.created_at = match present.spans() {
        [] => loaded.created_at,
        _ => present.created_at.min(loaded.created_at),
    };
    (merged, surplus as u64)
}
