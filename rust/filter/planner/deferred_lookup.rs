//! Conditions with expensive lookups. They are looked up last. If few rows remain, those rows are tested
//! instead.

use std::sync::Arc;

use arrow_buffer::ScalarBuffer;
use rayon::prelude::*;

use super::cost::{self, INLINE_ROW_BUDGET};
use super::plan_node::{PlanNode, union};
use super::values::{codes, ids_that_match, write_hex};
use crate::bitmap::RowSet;
use crate::filter::intervals::IntervalSet;
use crate::filter::text::TextMatcher;
use crate::index::columns::{Ids, Numbers, Texts};
use crate::text::ID_DIGITS;

/// A condition on one index whose lookup is deferred.
#[derive(Debug)]
pub(super) enum DeferredLookup<'i, 'p> {
    /// The row has a text, and `truth` is whether the matcher matches it.
    Texts { texts: &'i Arc<Texts>, matcher: &'p TextMatcher, truth: bool },
    /// `truth` is whether the matcher matches the row's id.
    Ids { ids: &'i Arc<Ids>, matcher: &'p TextMatcher, truth: bool },
    /// The row's number is in the set.
    Numbers { numbers: &'i Arc<Numbers>, order: &'i ScalarBuffer<u32>, intervals: IntervalSet<i64> },
}

impl DeferredLookup<'_, '_> {
    /// Returns the cost of the lookup.
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::Texts { texts, matcher, .. } => cost::of_reading_texts(texts, matcher),
            Self::Ids { ids, matcher, .. } => cost::of_reading_ids(ids, matcher),
            Self::Numbers { order, intervals, .. } => {
                cost::of_lookups(2 * intervals.iter().count(), order.len())
            }
        }
    }

    /// Performs the lookup.
    pub(super) fn read(self) -> PlanNode {
        match self {
            Self::Texts { texts, matcher, truth } => {
                PlanNode::Texts(texts.clone(), codes(texts, matcher, truth))
            }
            Self::Ids { ids, matcher, truth } => ids_that_match(ids, matcher, truth),
            Self::Numbers { numbers, order, intervals } => {
                let positions = numbers.positions_between(order, intervals.as_slice());
                let positions = union(positions.into_iter());
                PlanNode::Ordered { numbers: numbers.clone(), order: order.clone(), positions, intervals }
            }
        }
    }

    /// Returns `true` if testing `rows` rows takes less time than the lookup.
    pub(super) fn is_sooner_tested(&self, rows: usize) -> bool {
        let test_cost = match self {
            Self::Texts { .. } => cost::TEXT_TEST_COST,
            Self::Ids { .. } => cost::ID_TEST_COST,
            Self::Numbers { .. } => cost::NUMBER_TEST_COST,
        };
        rows * test_cost < self.cost()
    }

    /// Returns the subset of `rows` that matches, by testing each row.
    pub(super) fn tested(&self, rows: &RowSet) -> RowSet {
        match self {
            Self::Texts { texts, matcher, truth } => {
                let codes = codes_that_match(texts, (matcher, *truth), rows);
                filtered(rows, |row| codes.binary_search(&texts.code(row as usize)).is_ok())
            }
            Self::Ids { ids, matcher, truth } => filtered(rows, |row| {
                let mut digits = [0; ID_DIGITS];
                write_hex(ids.bytes(row as usize), &mut digits);
                std::str::from_utf8(&digits).is_ok_and(|text| matcher.matches_as_it_is(text) == *truth)
            }),
            Self::Numbers { numbers, intervals, .. } => {
                filtered(rows, |row| intervals.contains(numbers.value(row as usize)))
            }
        }
    }
}

/// Returns the codes of these rows for which the matcher result is `truth`, ascending. Rows that are near
/// each other often share a text, which is tested once.
fn codes_that_match(texts: &Texts, (matcher, truth): (&TextMatcher, bool), rows: &RowSet) -> Vec<u32> {
    let mut codes = Vec::with_capacity(rows.count());
    rows.for_each(|row| codes.push(texts.code(row as usize)));
    codes.sort_unstable();
    codes.dedup();
    let is_lower_case = texts.is_lower_case();
    let is_match = |text: &str, scratch: &mut String| {
        if is_lower_case { matcher.matches_as_it_is(text) } else { matcher.matches(text, scratch) }
    };
    in_chunks(&codes, |codes| {
        let mut scratch = String::new();
        codes.iter().copied().filter(move |code| {
            // The code after the last one stands for a missing text.
            let text = (*code < texts.distinct()).then(|| texts.value(*code));
            let text = text.and_then(|text| std::str::from_utf8(text).ok());
            text.is_some_and(|text| is_match(text, &mut scratch) == truth)
        })
    })
}

/// Returns the subset of `rows` for which `holds` is true.
fn filtered(rows: &RowSet, holds: impl Fn(u32) -> bool + Sync + Send) -> RowSet {
    let rows: Vec<u32> = rows.from(0).collect();
    RowSet::List(in_chunks(&rows, |rows| rows.iter().copied().filter(|row| holds(*row))).into())
}

/// Applies `work` to chunks of `numbers` and concatenates the results in order. A single chunk wakes no other
/// thread.
fn in_chunks<'n, I: Iterator<Item = u32>>(
    numbers: &'n [u32],
    work: impl Fn(&'n [u32]) -> I + Sync + Send,
) -> Vec<u32> {
    if numbers.len() <= INLINE_ROW_BUDGET {
        return work(numbers).collect();
    }
    numbers.par_chunks(INLINE_ROW_BUDGET).flat_map_iter(work).collect()
}
