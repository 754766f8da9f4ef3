//! Traces of one snapshot. They are located once for all readers.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::filter::Filter;
use crate::otlp::TraceId;
use crate::storage::Snapshot;

/// The part of a snapshot and the row in it.
pub(super) type Location = (usize, u32);

/// Some traces of a snapshot, with their rows.
pub(super) struct Candidates<'a> {
    snapshot: &'a Snapshot,
    count: usize,
    /// By part, the rows of the candidates and their indexes.
    rows: BTreeMap<usize, (Vec<u32>, Vec<usize>)>,
}

impl<'a> Candidates<'a> {
    /// Looks up traces. Traces that are not visible have no row.
    pub(super) fn of(snapshot: &'a Snapshot, traces: impl Iterator<Item = TraceId>) -> Self {
        let mut candidates = Self { snapshot, count: 0, rows: BTreeMap::new() };
        for trace_id in traces {
            if let Some((part, row)) = snapshot.find(trace_id)
                && let Ok(row) = u32::try_from(row)
            {
                let (rows, indexes) = candidates.rows.entry(part).or_default();
                rows.push(row);
                indexes.push(candidates.count);
            }
            candidates.count += 1;
        }
        candidates
    }

    /// Returns the location of each trace that is visible and matches the filter.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub(super) fn matching(&self, filter: &Filter) -> Result<Vec<Option<Location>>> {
        let mut locations = vec![None; self.count];
        for (part, (rows, indexes)) in &self.rows {
            let matches = self.snapshot.parts()[*part].matches(filter, rows)?;
            for ((row, index), _) in rows.iter().zip(indexes).zip(matches).filter(|(_, is_match)| *is_match) {
                locations[*index] = Some((*part, *row));
            }
        }
        Ok(locations)
    }
}
