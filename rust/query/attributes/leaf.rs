//! Counts attribute keys in one snapshot.
//!
//! The attribute index of a segment knows the rows with each key. The documents of the head are read. Segments without
//! an attribute index yet are not counted, and their number of traces is reported.

use std::collections::HashMap;

use ahash::RandomState;
use roaring::RoaringBitmap;

use super::{AttributeKeysRequest, AttributeKeysResponse};
use crate::error::Result;
use crate::index::attributes::{AttributeIndex, names_of};
use crate::index::columns::Projection;
use crate::query::cancellation::CancellationToken;
use crate::query::leaf::SnapshotLeaf;
use crate::query::pool::par_map_chunked;
use crate::query::rows::selection::{PARTS_PER_THREAD, Selection};
use crate::trace::view::TraceView;

/// The counted keys of one part.
#[derive(Debug, Default)]
struct PartKeys {
    counts: Vec<(String, u64)>,
    uncounted: u64,
}

impl SnapshotLeaf<'_> {
    /// Counts the keys with a prefix among the selected traces.
    pub(crate) fn attribute_keys(
        self,
        request: &AttributeKeysRequest,
        cancel: &CancellationToken,
    ) -> Result<AttributeKeysResponse> {
        let selections = self.selected(Projection::SORT_KEY, cancel)?;
        let matched = selections.iter().map(|selection| selection.count as u64).sum();
        let of_parts =
            par_map_chunked(&selections, PARTS_PER_THREAD, |(_, selection): (usize, &Selection<'_>)| {
                of_part(selection, &request.prefix, cancel)
            })?;
        let (mut counts, mut uncounted) = (HashMap::<String, u64, RandomState>::default(), 0);
        for part in of_parts {
            uncounted += part.uncounted;
            part.counts.into_iter().for_each(|(key, count)| *counts.entry(key).or_default() += count);
        }
        let (keys, counts) = counts.into_iter().unzip();
        Ok(AttributeKeysResponse { keys, counts, matched, uncounted })
    }
}

fn of_part(selection: &Selection<'_>, prefix: &str, cancel: &CancellationToken) -> Result<PartKeys> {
    if !selection.part.is_segment() {
        return of_traces(selection, prefix, cancel);
    }
    match selection.part.attributes() {
        Some(index) => of_index(&index, selection, prefix, cancel),
        None => Ok(PartKeys { uncounted: selection.count as u64, ..PartKeys::default() }),
    }
}

fn of_index(
    index: &AttributeIndex,
    selection: &Selection<'_>,
    prefix: &str,
    cancel: &CancellationToken,
) -> Result<PartKeys> {
    let selected = (!selection.is_whole()).then(|| {
        let mut rows = RoaringBitmap::new();
        selection.rows.for_each(|row| _ = rows.insert(row));
        rows
    });
    let mut counts = Vec::new();
    for (key, name) in index.names(prefix) {
        cancel.check()?;
        let count = match &selected {
            None => index.count_of(key),
            Some(selected) => index.rows_of(key).intersection_len(selected),
        };
        if count > 0 {
            counts.push((name.to_owned(), count));
        }
    }
    Ok(PartKeys { counts, uncounted: 0 })
}

fn of_traces(selection: &Selection<'_>, prefix: &str, cancel: &CancellationToken) -> Result<PartKeys> {
    let mut rows = Vec::with_capacity(selection.count);
    selection.rows.for_each(|row| rows.push(row));
    let mut counts = HashMap::<String, u64, RandomState>::default();
    for row in rows {
        cancel.check()?;
        let trace = selection.part.trace(row as usize)?;
        for name in names_of(&TraceView::of(&trace.assembled()))? {
            if name.starts_with(prefix) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    Ok(PartKeys { counts: counts.into_iter().collect(), uncounted: 0 })
}
