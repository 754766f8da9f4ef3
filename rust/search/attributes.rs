//! Counts the keys of attributes among the traces that a filter matches (`docs/reference/api-counts.md#attributes`).
//!
//! A segment's index of attributes says which rows have a key; traces of the head are looked at. Segments whose index is
//! not made yet are left out, and how many traces that are is said.

use std::collections::HashMap;

use ahash::RandomState;
use roaring::RoaringBitmap;
use serde::Serialize;

use super::cancellation::CancellationToken;
use super::pool::in_rounds;
use super::selection::{PARTS_PER_THREAD, Selection, select};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::attributes::{AttributeIndex, names_of};
use crate::index::columns::Projection;
use crate::storage::Snapshot;
use crate::trace::view::TraceView;

/// The greatest number of keys of one answer.
pub const MAX_KEYS: usize = 1_000;

/// The counted keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeKeys {
    /// A JSON list of keys as filters spell them, with the number of traces that have a span with each: the most frequent
    /// first, then by name.
    pub data: Vec<u8>,
    /// How many keys there are.
    pub distinct: u64,
    /// How many traces the filter matches.
    pub matched: u64,
    /// Those of them whose keys are not counted, because they are not indexed yet.
    pub uncounted: u64,
}

/// A key with the number of traces that have it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct KeyCount {
    key: String,
    count: u64,
}

/// What was counted in one part.
#[derive(Debug, Default)]
struct PartKeys {
    counts: Vec<(String, u64)>,
    uncounted: u64,
}

/// Counts the keys that begin with `prefix`, and returns the `limit` most frequent ones.
///
/// # Errors
/// [`Error::Options`] if `limit` is not in 1 to [`MAX_KEYS`]; [`Error::TooLarge`] if too many documents would have to be
/// looked at for the filter; [`Error::Cancelled`]; damage found while an index is rebuilt.
pub fn attribute_keys(
    snapshot: &Snapshot,
    filter: &Filter,
    (prefix, limit): (&str, usize),
    cancel: &CancellationToken,
) -> Result<AttributeKeys> {
    check_limit(limit)?;
    count_keys(snapshot, filter, prefix, cancel)?.most_frequent(limit)
}

/// Checks the number of keys that are wanted.
///
/// # Errors
/// [`Error::Options`] if it is not in 1 to [`MAX_KEYS`].
pub(super) fn check_limit(limit: usize) -> Result<()> {
    if (1..=MAX_KEYS).contains(&limit) {
        return Ok(());
    }
    Err(Error::Options(format!("expected a limit from 1 to {MAX_KEYS}, got {limit}")))
}

/// What was counted of keys.
#[derive(Debug, Default)]
pub(super) struct CountedKeys {
    /// How many traces the filter matches, and how many of them are not counted.
    pub(super) matched: u64,
    pub(super) uncounted: u64,
    /// How many traces have each key.
    pub(super) counts: HashMap<String, u64, RandomState>,
}

impl CountedKeys {
    /// Adds what was counted elsewhere.
    pub(super) fn add(&mut self, matched: u64, uncounted: u64, counts: impl Iterator<Item = (String, u64)>) {
        self.matched += matched;
        self.uncounted += uncounted;
        counts.for_each(|(key, count)| *self.counts.entry(key).or_default() += count);
    }

    /// Returns the response with the `limit` most frequent keys.
    ///
    /// # Errors
    /// None for texts and numbers.
    pub(super) fn most_frequent(self, limit: usize) -> Result<AttributeKeys> {
        let Self { matched, uncounted, counts } = self;
        let mut keys: Vec<KeyCount> =
            counts.into_iter().map(|(key, count)| KeyCount { key, count }).collect();
        let distinct = keys.len() as u64;
        keys.sort_unstable_by(|one, other| other.count.cmp(&one.count).then_with(|| one.key.cmp(&other.key)));
        keys.truncate(limit);
        let data = serde_json::to_vec(&keys)
            .map_err(|error| Error::Batch(format!("the keys cannot be printed: {error}")))?;
        Ok(AttributeKeys { data, distinct, matched, uncounted })
    }
}

/// Counts the keys that begin with `prefix`.
///
/// # Errors
/// As [`attribute_keys`].
pub(super) fn count_keys(
    snapshot: &Snapshot,
    filter: &Filter,
    prefix: &str,
    cancel: &CancellationToken,
) -> Result<CountedKeys> {
    let selections = select(snapshot, filter, Projection::SORT_KEY, cancel)?;
    let matched = selections.iter().map(|selection| selection.count as u64).sum();
    let counted = in_rounds(&selections, PARTS_PER_THREAD, |(_, selection): (usize, &Selection<'_>)| {
        of_part(selection, prefix, cancel)
    })?;
    let mut keys = CountedKeys { matched, ..CountedKeys::default() };
    for part in counted {
        keys.add(0, part.uncounted, part.counts.into_iter());
    }
    Ok(keys)
}

fn of_part(selection: &Selection<'_>, prefix: &str, cancel: &CancellationToken) -> Result<PartKeys> {
    if !selection.part.is_sealed() {
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
