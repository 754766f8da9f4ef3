//! Finds the rows of a part that a filter matches: first by indexes, then by document checks on the undecided
//! rows.

use std::sync::atomic::Ordering;

use arrow_array::{BooleanArray, UInt32Array};
use arrow_select::take::take_record_batch;
use roaring::RoaringBitmap;

use super::part::{PartSource, RowKind, SnapshotPart};
use super::read_ahead::ReadAhead;
use crate::bitmap::{Bitmap, Bits, LiveRows, RowBlock, RowSet};
use crate::error::{Error, Result};
use crate::filter::{Filter, RowVerdicts, Verifier};
use crate::index::columns::Projection;
use crate::storage::segment::PartIndexes;

/// The result of a filter on the columns.
#[derive(Debug)]
pub struct ColumnMatch {
    /// The rows that certainly match.
    pub certain: RowSet,
    /// The rows that may match, including deleted ones, which an earlier snapshot may need.
    pub unverified: Vec<u32>,
}

/// The number of rows of a batch that can be masked in the time of one index row read.
const ROWS_OF_A_MASK: usize = 16;

impl SnapshotPart {
    /// Returns the visible rows that `filter` matches, unless `is_cancelled` returns true meanwhile.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; damage found while an index is rebuilt.
    pub fn rows(&self, filter: &Filter, is_cancelled: &dyn Fn() -> bool) -> Result<LiveRows> {
        Ok(LiveRows::new(self.matching(filter, is_cancelled)?, self.invisible()))
    }

    /// Returns the same rows as [`SnapshotPart::rows`], and an upper bound of the number of rows that were
    /// read; `None` if that number may exceed `most`.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn try_cheap_rows(&self, filter: &Filter, most: usize) -> Result<Option<(LiveRows, usize)>> {
        let found = match &self.source {
            PartSource::Segment(segment) => {
                let indexes = segment.indexes(filter.projection(Projection::SORT_KEY))?;
                filter.try_cheap_rows(indexes.of_filters().rows, most)
            }
            PartSource::Head(_) => {
                let read = self.count().div_ceil(ROWS_OF_A_MASK);
                let is_soon = !filter.reads_spans() && read <= most;
                if is_soon { Some((self.matching(filter, &|| false)?, read)) } else { None }
            }
        };
        Ok(found.map(|(rows, read)| (LiveRows::new(rows, self.invisible()), read)))
    }

    /// Returns the rows of `kind` that `filter` matches.
    ///
    /// # Errors
    /// The errors of [`SnapshotPart::rows`].
    pub(crate) fn rows_of(&self, kind: RowKind, filter: &Filter) -> Result<RoaringBitmap> {
        if kind == RowKind::Trace {
            return Ok(self.rows(filter, &|| false)?.from(0).collect());
        }
        let waiting = self.waiting();
        if waiting.is_empty() {
            return Ok(waiting);
        }
        let matching = LiveRows::new(self.matching(filter, &|| false)?, self.deletion_vector());
        Ok(waiting.iter().filter(|row| matching.contains(*row)).collect())
    }

    /// Returns the rows that `filter` matches, including invisible ones.
    ///
    /// # Errors
    /// The errors of [`SnapshotPart::rows`].
    pub fn matching(&self, filter: &Filter, is_cancelled: &dyn Fn() -> bool) -> Result<RowSet> {
        let ColumnMatch { certain, unverified } = self.candidates(filter, is_cancelled)?;
        if unverified.is_empty() {
            return Ok(certain);
        }
        let indexes = self.indexes(filter)?;
        let verifier = indexes.as_ref().map(|indexes| filter.verifier(indexes.of_filters()));
        let found = self.verified((filter, verifier.as_ref()), &unverified, is_cancelled)?;
        Ok(self.keep(filter, certain.with(found, self.count())))
    }

    /// Returns all rows that `filter` matches in this part, from the cache or from `find`. Concurrent
    /// searches for the same rows call `find` once.
    ///
    /// # Errors
    /// The errors of `find`; [`Error::Cancelled`].
    pub fn rows_once(
        &self,
        filter: &Filter,
        is_cancelled: &dyn Fn() -> bool,
        find: impl FnOnce() -> Result<RowSet>,
    ) -> Result<RowSet> {
        match &self.source {
            PartSource::Segment(segment) => segment.filter_cache().get_or_find(filter, is_cancelled, find),
            PartSource::Head(_) => find(),
        }
    }

    /// Caches and returns `rows`, which are all rows that `filter` matches in this part.
    fn keep(&self, filter: &Filter, rows: RowSet) -> RowSet {
        if let PartSource::Segment(segment) = &self.source {
            segment.filter_cache().keep(filter, rows.clone());
        }
        rows
    }

    /// Returns the rows that `filter` certainly matches by the columns, and the rows that need a document
    /// check.
    ///
    /// # Errors
    /// The errors of [`SnapshotPart::rows`].
    pub fn candidates(&self, filter: &Filter, is_cancelled: &dyn Fn() -> bool) -> Result<ColumnMatch> {
        let (certain, possible) = match &self.source {
            PartSource::Segment(segment) => {
                if filter.reads_spans()
                    && let Some(certain) = segment.filter_cache().get(filter)
                {
                    return Ok(ColumnMatch { certain, unverified: Vec::new() });
                }
                let indexes = segment.indexes(filter.projection(Projection::SORT_KEY))?;
                if !filter.reads_spans() {
                    let certain = filter.rows(indexes.of_filters().rows, is_cancelled);
                    let certain = certain.ok_or(Error::Cancelled)?;
                    return Ok(ColumnMatch { certain, unverified: Vec::new() });
                }
                let bounds = filter.bounds(indexes.of_filters(), is_cancelled);
                return self.decided((filter, &indexes), bounds.ok_or(Error::Cancelled)?, is_cancelled);
            }
            PartSource::Head(batch) => {
                if let Some(indexes) = batch.indexes().filter(|_| filter.reads_spans()) {
                    let bounds = filter.bounds(indexes.of_filters(), is_cancelled);
                    return self.decided((filter, indexes), bounds.ok_or(Error::Cancelled)?, is_cancelled);
                }
                let [certain, possible] = filter.masks_of_columns(batch.batch())?;
                let rows = |mask: &BooleanArray| RowSet::Bits(Bits::of_mask(mask.values()));
                (rows(&certain), rows(&possible))
            }
        };
        let unverified = possible.without(&certain).from(0).collect();
        Ok(ColumnMatch { certain, unverified })
    }

    /// Decides the rows that the columns leave undecided by the document indexes. Caches the matching rows if
    /// that decides all.
    fn decided(
        &self,
        (filter, indexes): (&Filter, &PartIndexes),
        [certain, possible]: [RowSet; 2],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<ColumnMatch> {
        /// A range of rows is faster to evaluate than a list of at least one in this many of its rows.
        const DENSE_RATIO: usize = 4;
        let verifier = filter.verifier(indexes.of_filters());
        let count = self.count();
        let ColumnMatch { certain, unverified } = if possible.count() * DENSE_RATIO >= count {
            let [mut matching, mut open] = [(); 2].map(|()| Bitmap::none(0..count));
            let all = RowBlock::Range(0..u32::try_from(count).unwrap_or(u32::MAX));
            decide(&verifier, &all, is_cancelled, |block, decided| {
                matching.insert_words(block.row(0) as usize, decided.matching.words());
                open.insert_words(block.row(0) as usize, decided.open.words());
            })?;
            let (certain, possible) = (bitmap_of(&certain, count), bitmap_of(&possible, count));
            matching.intersect(&possible);
            matching.unite(&certain);
            open.intersect(&possible.without(&certain));
            let unverified = open.iter(0..count).filter_map(|row| u32::try_from(row).ok());
            ColumnMatch { unverified: unverified.collect(), certain: RowSet::of_words(matching.into_words()) }
        } else {
            let undecided: Vec<u32> = possible.without(&certain).from(0).collect();
            let (mut matching, mut unverified) = (Vec::new(), Vec::new());
            decide(&verifier, &RowBlock::List(&undecided), is_cancelled, |block, decided| {
                let rows =
                    |set: &Bitmap| set.iter(0..block.len()).map(|at| block.row(at)).collect::<Vec<_>>();
                matching.extend(rows(&decided.matching));
                unverified.extend(rows(&decided.open));
            })?;
            ColumnMatch { certain: certain.with(matching, count), unverified }
        };
        if unverified.is_empty() {
            return Ok(ColumnMatch { certain: self.keep(filter, certain), unverified });
        }
        Ok(ColumnMatch { certain, unverified })
    }

    /// Returns the indexes that a [`Verifier`] of `filter` reads; `None` for a head batch.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn indexes(&self, filter: &Filter) -> Result<Option<PartIndexes>> {
        self.segment().map(|segment| segment.indexes(filter.projection(Projection::SORT_KEY))).transpose()
    }

    /// Returns the subset of these ascending rows that a filter matches. Documents of rows that the indexes
    /// leave undecided are checked. Rows of a segment need the verifier of its indexes. A damaged document
    /// does not match if the spans decide.
    ///
    /// # Errors
    /// [`Error::Cancelled`], [`Error::Storage`].
    pub fn verified(
        &self,
        (filter, verifier): (&Filter, Option<&Verifier<'_>>),
        rows: &[u32],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<u32>> {
        if let Some(document_checks) = self.document_checks.as_ref().filter(|_| !self.has_indexes()) {
            document_checks.fetch_add(rows.len() as u64, Ordering::Relaxed);
        }
        let Some(verifier) = verifier else {
            let matches = self.matches(filter, rows)?;
            let found = rows.iter().zip(matches).filter_map(|(row, is_match)| is_match.then_some(*row));
            return Ok(found.collect());
        };
        let RowVerdicts { matching, open } = verifier.decide(&RowBlock::List(rows));
        let rows_at = |positions: &Bitmap| positions.iter(0..rows.len()).map(|at| rows[at]).collect();
        let (mut found, open): (Vec<u32>, Vec<u32>) = (rows_at(&matching), rows_at(&open));
        let Some(segment) = self.segment() else { return Ok(found) };
        let ahead = ReadAhead::new(segment, &open);
        for (position, row) in open.iter().enumerate() {
            if is_cancelled() {
                return Err(Error::Cancelled);
            }
            let read = || match ahead.stored_trace(position) {
                Ok(trace) => Ok(Some(trace)),
                Err(Error::Damage { .. }) => Ok(None),
                Err(error) => Err(error),
            };
            if verifier.holds(*row, read)? {
                found.push(*row);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Returns `true` if `filter` matches a row.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn is_match(&self, filter: &Filter, row: usize) -> Result<bool> {
        match &self.source {
            PartSource::Segment(_) => {
                let Ok(row) = u32::try_from(row) else { return Ok(false) };
                Ok(self.matches(filter, &[row])? == [true])
            }
            PartSource::Head(batch) => {
                let one = batch.batch().slice(row, 1);
                Ok(filter.mask_of_traces(&one, &|_| batch.trace(row))?.value(0))
            }
        }
    }

    /// Returns one value per row: `true` if `filter` matches.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn matches(&self, filter: &Filter, rows: &[u32]) -> Result<Vec<bool>> {
        match &self.source {
            PartSource::Segment(_) => {
                let Some(indexes) = self.indexes(filter)? else { return Ok(vec![false; rows.len()]) };
                let verifier = filter.verifier(indexes.of_filters());
                let mut ascending = rows.to_vec();
                ascending.sort_unstable();
                let found = self.verified((filter, Some(&verifier)), &ascending, &|| false)?;
                Ok(rows.iter().map(|row| found.binary_search(row).is_ok()).collect())
            }
            PartSource::Head(batch) => {
                let taken = take_record_batch(batch.batch(), &UInt32Array::from(rows.to_vec()));
                let taken = taken.map_err(|error| Error::Batch(error.to_string()))?;
                let trace = |row: usize| batch.trace(rows[row] as usize);
                Ok(filter.mask_of_traces(&taken, &trace)?.values().iter().collect())
            }
        }
    }
}

/// Returns rows of a part with `count` rows as a bitmap.
fn bitmap_of(rows: &RowSet, count: usize) -> Bitmap {
    let mut set = Bitmap::none(0..count);
    match rows {
        RowSet::Range(range) => set.fill(range.start as usize..range.end as usize),
        rows if let Some(words) = rows.words() => set.insert_words(0, words),
        rows => rows.for_each(|row| set.insert(row as usize)),
    }
    set
}

/// Evaluates rows in blocks, and calls `visit` with each block and its results.
///
/// # Errors
/// [`Error::Cancelled`].
fn decide(
    verifier: &Verifier<'_>,
    rows: &RowBlock<'_>,
    is_cancelled: &dyn Fn() -> bool,
    mut visit: impl FnMut(&RowBlock<'_>, RowVerdicts),
) -> Result<()> {
    /// The number of rows between two checks for cancellation: a few milliseconds.
    const INLINE_ROW_BUDGET: usize = 65_536;
    for first in (0..rows.len()).step_by(INLINE_ROW_BUDGET) {
        if is_cancelled() {
            return Err(Error::Cancelled);
        }
        let block = rows.slice(first..rows.len().min(first + INLINE_ROW_BUDGET));
        visit(&block, verifier.decide(&block));
    }
    Ok(())
}
