//! Committing a bulk load: one manifest makes its segment live, without the head and the WAL.
//!
//! The segment was written against one snapshot ([`BulkLoad::prepare`]). First the head is flushed, so that
//! every trace is in a segment. Then one manifest adds the new segment, deletes the rows that it replaces,
//! and records the progress of the import. Traces that changed between the snapshot and the commit are merged
//! again, into a small segment of their own.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;

use crossbeam_channel::Receiver;
use rayon::prelude::*;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::otlp::TraceId;
use crate::storage::committer::Committer;
use crate::storage::head::batch::HeadEntry;
use crate::storage::head::into_segment::write_segment;
use crate::storage::manifest::ImportRecord;
use crate::storage::segment::Segment;
use crate::storage::segment::builder::NewSegment;
use crate::storage::state::bulk_load::{BulkLoad, ImportProgress, ReplacedRow, merge_loaded};
use crate::storage::state::command::Command;
use crate::storage::state::live_segment::LiveSegment;
use crate::trace::Trace;

/// The maximum number of unfinished imports that the manifest keeps.
const MAX_IMPORT_RECORDS: usize = 64;

/// The loaded traces whose stored rows have changed since the snapshot.
type Conflicts = HashMap<TraceId, Trace>;

impl Committer {
    /// Makes a bulk load live and durable. Other commands are deferred.
    ///
    /// # Errors
    /// The errors of [`Committer::commit_manifest`]; [`crate::error::Error::Busy`] if the disk is too full.
    pub(super) fn bulk_load(&mut self, load: BulkLoad, commands: &Receiver<Command>) -> Result<()> {
        let record = load.segment.as_ref().map(|segment| segment.record.clone());
        let outcome = match self.rejection() {
            Some(error) => Err(error),
            None => self.flush_head(commands).and_then(|()| self.commit_bulk_load(load)),
        };
        self.discard_unless_live(record.as_ref(), &outcome);
        outcome
    }

    fn commit_bulk_load(&mut self, mut load: BulkLoad) -> Result<()> {
        let checkpoint = self.state.manifest.wal_checkpoint;
        let imports = self.imports_after(&load.import);
        let Some(loaded) = load.segment.take() else {
            return self.commit_manifest_with(self.state.segments.clone(), checkpoint, imports);
        };
        let mut segments = self.state.segments.clone();
        let conflicts = delete_replaced(&mut segments, &mut load, &loaded.segment)?;
        let resolved = self.resolve(&mut segments, &conflicts)?;
        let resolved_record = resolved.as_ref().map(|resolved| resolved.record.clone());
        let outdated = conflicts.keys().filter_map(|trace_id| loaded.segment.find(*trace_id)).collect();
        let mut loaded = LiveSegment::new(loaded);
        loaded.delete(&outdated);
        segments.push(loaded);
        segments.extend(resolved.map(LiveSegment::new));
        let outcome = self.commit_manifest_with(segments, checkpoint, imports);
        self.discard_unless_live(resolved_record.as_ref(), &outcome);
        outcome.map(|()| self.publish())
    }

    /// Merges conflicting traces with their rows in `segments`, deletes these rows, and writes the merged
    /// traces.
    fn resolve(&self, segments: &mut [LiveSegment], conflicts: &Conflicts) -> Result<Option<NewSegment>> {
        let mut entries = Vec::with_capacity(conflicts.len());
        for loaded in conflicts.values() {
            let location = segments.iter().enumerate().find_map(|(position, live)| {
                let row = live.segment.find(loaded.trace_id)?;
                (!live.deletion_vector.contains(row)).then_some((position, row))
            });
            let trace = match location {
                None => loaded.clone(),
                Some((position, row)) => {
                    let present = segments[position].segment.trace(row as usize)?;
                    segments[position].delete(&RoaringBitmap::from([row]));
                    merge_loaded(&present, loaded).0
                }
            };
            entries.push(Arc::new(HeadEntry::new(trace)));
        }
        if entries.is_empty() {
            return Ok(None);
        }
        write_segment((self.objects.as_ref(), &self.index_cache()), &entries, None, false).map(Some)
    }

    /// Returns the import records after `progress` is committed.
    fn imports_after(&self, progress: &ImportProgress) -> Vec<ImportRecord> {
        let mut imports = self.state.manifest.imports.clone();
        let (source, reached) = match progress {
            ImportProgress::Untracked => return imports,
            ImportProgress::Reached(record) => (&record.source, Some(record.clone())),
            ImportProgress::Ended(source) => (source, None),
        };
        imports.retain(|record| record.source != *source);
        imports.extend(reached);
        let forgotten = imports.len().saturating_sub(MAX_IMPORT_RECORDS);
        imports.drain(..forgotten);
        imports
    }
}

/// Deletes the rows that the load replaces. Returns the loaded traces whose stored row has changed.
fn delete_replaced(
    segments: &mut [LiveSegment],
    load: &mut BulkLoad,
    loaded_segment: &Segment,
) -> Result<Conflicts> {
    let mut conflicts = Conflicts::new();
    for ReplacedRow { segment, row, loaded } in std::mem::take(&mut load.replaced) {
        let searched = &load.searched[segment];
        match segments.iter_mut().find(|live| Arc::ptr_eq(&live.segment, searched)) {
            Some(live) if !live.deletion_vector.contains(row) => live.delete(&RoaringBitmap::from([row])),
            // The row was superseded, compacted into another segment, or deleted.
            _ => drop(conflicts.insert(loaded.trace_id, loaded)),
        }
    }
    for live in segments.iter().filter(|live| !load.has_searched(&live.segment)) {
        for trace_id in shared_traces(live, loaded_segment)? {
            if let MapEntry::Vacant(vacant) = conflicts.entry(trace_id) {
                let row = loaded_segment.find(trace_id).expect("found just now");
                vacant.insert(loaded_segment.trace(row as usize)?);
            }
        }
    }
    Ok(conflicts)
}

/// Returns the live traces of `live` that are also in `loaded`.
fn shared_traces(live: &LiveSegment, loaded: &Segment) -> Result<Vec<TraceId>> {
    let rows = u32::try_from(live.record.rows).unwrap_or(u32::MAX);
    let rows = (0..rows).into_par_iter().filter(|row| !live.deletion_vector.contains(*row));
    let shared = rows.map(|row| {
        let trace_id = live.segment.trace_id(row as usize)?;
        Ok(loaded.find(trace_id).map(|_| trace_id))
    });
    Ok(shared.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
