//! The rows of one part that a filter selects, with rank and select over them.

use std::cmp::Ordering;

use crate::bitmap::{LiveRows, RowSet};
use crate::error::Result;
use crate::filter::{Filter, INLINE_ROW_BUDGET};
use crate::index::columns::Projection;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::{par_map_chunked, par_map_dynamic, par_map_low_priority, threads};
use crate::storage::{ColumnMatch, PartColumns, Snapshot, SnapshotPart};

/// The sort key of results: newest start first, then trace id ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortKey<'a> {
    start_time: i64,
    trace_id: &'a [u8],
}

impl SortKey<'_> {
    /// Returns the start time in microseconds since 1970.
    pub(crate) fn start_time(&self) -> i64 {
        self.start_time
    }
}

/// The length of [`SortKey::to_bytes`].
pub(crate) const SORT_KEY_BYTES: usize = 24;

impl SortKey<'_> {
    /// Returns bytes that sort in result order: the start time, then the trace id.
    pub(crate) fn to_bytes(self) -> [u8; SORT_KEY_BYTES] {
        let mut bytes = [0; SORT_KEY_BYTES];
        bytes[..8].copy_from_slice(&descending(self.start_time));
        bytes[8..].copy_from_slice(self.trace_id);
        bytes
    }
}

/// Returns bytes that sort in descending order of the number.
pub(crate) fn descending(number: i64) -> [u8; 8] {
    (!(number.cast_unsigned() ^ 1 << 63)).to_be_bytes()
}

impl Ord for SortKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.start_time.cmp(&self.start_time).then_with(|| self.trace_id.cmp(other.trace_id))
    }
}

impl PartialOrd for SortKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The selected rows of one part. The rows of a part are in result order.
pub(crate) struct Selection<'a> {
    /// The part the rows belong to.
    pub(crate) part: &'a SnapshotPart,
    /// The index of the part in the snapshot.
    pub(crate) index: usize,
    /// The selected rows.
    pub(crate) rows: LiveRows,
    /// Number of selected rows.
    pub(crate) count: usize,
    /// The values of the part's rows.
    pub(crate) view: PartColumns,
}

impl<'a> Selection<'a> {
    fn new(
        (index, part): (usize, &'a SnapshotPart),
        query: (&Filter, Projection),
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let (filter, projection) = query;
        let rows = part.rows(filter, &|| cancel.is_cancelled())?;
        Self::of((index, part), rows, projection)
    }

    /// Returns the selection of `rows`.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub(crate) fn of(
        (index, part): (usize, &'a SnapshotPart),
        rows: LiveRows,
        projection: Projection,
    ) -> Result<Self> {
        Ok(Self { part, index, count: rows.count(), rows, view: part.columns(projection)? })
    }

    /// True if all rows of the part are selected.
    pub(crate) fn is_whole(&self) -> bool {
        self.count == self.view.count()
    }

    /// Returns a selection of these rows of the same part. None of them may be deleted.
    pub(crate) fn only(&self, rows: RowSet) -> Self {
        let rows: LiveRows = rows.into();
        Self { part: self.part, index: self.index, count: rows.count(), rows, view: self.view.clone() }
    }

    /// Returns a selection of the rows that are both selected and in `rows`.
    pub(crate) fn among(&self, rows: RowSet) -> Self {
        let rows = self.rows.among(rows);
        Self { part: self.part, index: self.index, count: rows.count(), rows, view: self.view.clone() }
    }

    /// Returns the sort key of `row`.
    pub(crate) fn key(&self, row: usize) -> SortKey<'_> {
        SortKey { start_time: self.view.start_time(row), trace_id: self.view.trace_id(row) }
    }

    /// Returns the number of selected rows before `row`.
    pub(crate) fn rank(&self, row: usize) -> usize {
        self.rows.rank(u32::try_from(row).unwrap_or(u32::MAX))
    }

    /// Returns the selected row with `rank` selected rows before it, if it exists.
    pub(crate) fn select(&self, rank: usize) -> Option<usize> {
        self.rows.select(rank).map(|row| row as usize)
    }
}

/// Parts per thread that are evaluated in one round.
pub(crate) const PARTS_PER_THREAD: usize = 2;

/// Documents that a thread checks as one item, which takes about a millisecond.
const DOCUMENTS_PER_CHUNK: usize = 64;

/// Returns the rows that `filter` selects in every part, evaluated in parallel if that is faster. Parts without a match
/// are left out. Only the columns of `projection` may be read from the result.
pub(crate) fn select<'a>(
    snapshot: &'a Snapshot,
    filter: &Filter,
    projection: Projection,
    cancel: &CancellationToken,
) -> Result<Vec<Selection<'a>>> {
    let parts = snapshot.parts();
    let selections = if filter.reads_spans() {
        verified(parts, (filter, projection), cancel)?
    } else {
        let mut selections = cheap_selections(parts, (filter, projection), cancel)?;
        let done = selections.len();
        selections.extend(par_map_chunked(&parts[done..], PARTS_PER_THREAD, |(index, part)| {
            cancel.check()?;
            Selection::new((done + index, part), (filter, projection), cancel)
        })?);
        selections
    };
    Ok(selections.into_iter().filter(|selection| selection.count > 0).collect())
}

/// Returns the rows that a filter selects in the first parts. It stops at the first part whose evaluation may take
/// longer than waking another thread.
fn cheap_selections<'a>(
    parts: &'a [SnapshotPart],
    (filter, projection): (&Filter, Projection),
    cancel: &CancellationToken,
) -> Result<Vec<Selection<'a>>> {
    let mut selections = Vec::with_capacity(parts.len());
    let mut left = INLINE_ROW_BUDGET;
    for part in parts.iter().enumerate() {
        cancel.check()?;
        let Some((rows, read)) = part.1.try_cheap_rows(filter, left)? else { break };
        selections.push(Selection::of(part, rows, projection)?);
        left -= read;
    }
    Ok(selections)
}

/// Returns the rows that a filter selects in every part. The columns alone cannot decide this filter.
fn verified<'a>(
    parts: &'a [SnapshotPart],
    (filter, projection): (&Filter, Projection),
    cancel: &CancellationToken,
) -> Result<Vec<Selection<'a>>> {
    let candidates = candidates_of(parts, filter, cancel)?;
    cancel.admit_checks(candidates.iter().map(|candidates| candidates.unverified.len()).sum())?;
    let mut selections = Vec::with_capacity(parts.len());
    for (part, ColumnMatch { certain, unverified }) in parts.iter().enumerate().zip(candidates) {
        let rows = if unverified.is_empty() {
            certain
        } else {
            let find =
                || Ok(certain.with(check_documents(part.1, filter, &unverified, cancel)?, part.1.count()));
            part.1.rows_once(filter, &|| cancel.is_cancelled(), find)?
        };
        selections.push(Selection::of(part, LiveRows::new(rows, part.1.invisible()), projection)?);
    }
    Ok(selections)
}

/// Returns the rows of every part that the columns select, and those whose documents must be checked.
///
/// # Errors
/// [`crate::error::Error::Cancelled`]; damage found while an index is rebuilt.
pub(crate) fn candidates_of(
    parts: &[SnapshotPart],
    filter: &Filter,
    cancel: &CancellationToken,
) -> Result<Vec<ColumnMatch>> {
    par_map_dynamic(parts, |part| {
        cancel.check()?;
        part.candidates(filter, &|| cancel.is_cancelled())
    })
}

/// Returns the rows of each part that the filter selects too. Only the documents of these rows are checked.
///
/// # Errors
/// [`crate::error::Error::TooLarge`] if too many documents must be checked; [`crate::error::Error::Cancelled`]; damage
/// found while an index is rebuilt.
pub(crate) fn narrowed(
    rows: &[(&SnapshotPart, &LiveRows)],
    filter: &Filter,
    cancel: &CancellationToken,
) -> Result<Vec<LiveRows>> {
    let candidates = par_map_chunked(
        rows,
        PARTS_PER_THREAD,
        |(_, (part, rows)): (usize, &(&SnapshotPart, &LiveRows))| {
            cancel.check()?;
            let mut candidates = part.candidates(filter, &|| cancel.is_cancelled())?;
            candidates.unverified.retain(|row| rows.contains(*row));
            Ok(candidates)
        },
    )?;
    cancel.admit_checks(candidates.iter().map(|candidates| candidates.unverified.len()).sum())?;
    let narrowed = rows.iter().zip(candidates).map(|((part, rows), ColumnMatch { certain, unverified })| {
        let matching = check_documents(part, filter, &unverified, cancel)?;
        Ok(rows.intersected(certain.with(matching, part.count())))
    });
    narrowed.collect()
}

/// Returns the rows of a part that a filter matches, by checking their documents on all threads. If the part is not
/// indexed yet, the check runs on the threads of the lowest priority.
///
/// # Errors
/// [`crate::error::Error::Cancelled`]; damage found while an index is rebuilt.
pub(crate) fn check_documents(
    part: &SnapshotPart,
    filter: &Filter,
    rows: &[u32],
    cancel: &CancellationToken,
) -> Result<Vec<u32>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let indexes = part.indexes(filter)?;
    let verifier = indexes.as_ref().map(|indexes| filter.verifier(indexes.of_filters()));
    let chunk_size = rows.len().div_ceil(threads()).min(DOCUMENTS_PER_CHUNK);
    let chunks: Vec<&[u32]> = rows.chunks(chunk_size).collect();
    let check = |rows: &&[u32]| part.verified((filter, verifier.as_ref()), rows, &|| cancel.is_cancelled());
    let matching = if part.awaits_indexes() {
        par_map_low_priority(&chunks, check)?
    } else {
        par_map_dynamic(&chunks, check)?
    };
    Ok(matching.concat())
}
