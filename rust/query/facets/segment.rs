//! Counts the values of one field in the selected rows of one segment.
//!
//! Values that other parts have too are returned with their counts, because only the sum over all parts gives their
//! frequency. For the other values, only their number and the most frequent ones are returned.

use std::ops::Range;

use crate::bitmap::{count_common, is_set, set};
use crate::index::columns::Texts;
use crate::query::facets::tally::Tally;
use crate::query::rows::selection::Selection;

/// If fewer than one row per this many values is selected, codes are sorted instead of counted in an array.
const VALUES_PER_SPARSE_ROW: usize = 8;

/// The cost of testing whether a row of a code is selected, and of visiting a code. The unit is one word in an
/// intersection of bitmaps, or one code counted in an array.
const LOOKUP_COST: usize = 2;
const CODE_COST: usize = 8;

/// The selected rows of a segment, in a form for counting.
pub(super) enum SelectedRows {
    /// All rows except these, which are ascending.
    AllBut(Vec<u32>),
    /// The rows in no particular order, and as a bitmap.
    Only { rows: Vec<u32>, bits: Vec<u64> },
}

impl SelectedRows {
    pub(super) fn of(selection: &Selection<'_>) -> Self {
        let all = selection.view.count();
        if selection.is_whole() {
            return Self::AllBut(Vec::new());
        }
        let rows = 0..u32::try_from(all).unwrap_or(u32::MAX);
        if let Some(deleted) = selection.rows.missing_from(&rows) {
            return Self::AllBut(deleted.to_vec());
        }
        let mut bits = vec![0; all.div_ceil(64)];
        if 2 * selection.count > all {
            selection.rows.for_each(|row| _ = set(&mut bits, row as usize));
            return Self::AllBut(rows.filter(|row| !is_set(&bits, *row as usize)).collect());
        }
        let mut rows = Vec::with_capacity(selection.count);
        selection.rows.for_each(|row| {
            rows.push(row);
            set(&mut bits, row as usize);
        });
        Self::Only { rows, bits }
    }
}

/// The codes of a column to count.
#[derive(Debug, Clone)]
pub(super) struct Counted<'a> {
    /// The codes of the values.
    pub(super) codes: Range<u32>,
    /// The codes whose values other segments have, ascending.
    pub(super) shared: &'a [u32],
    /// The other codes whose values the head has, ascending.
    pub(super) in_head: &'a [u32],
    /// The maximum number of values to return.
    pub(super) limit: usize,
}

impl SegmentCounts {
    fn of(tally: Tally) -> Self {
        let (distinct, top) = tally.finish();
        Self { distinct, top, ..Self::default() }
    }
}

impl Counted<'_> {
    /// Returns the shared codes that occur, as their positions, with their counts.
    fn shared_counts(&self, mut count: impl FnMut(u32) -> u32) -> Vec<(u32, u32)> {
        let counts = (0..).zip(self.shared).map(|(position, code)| (position, count(*code)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// True if other parts have the value of a code too.
    fn is_in_other_parts(&self, code: u32) -> bool {
        self.shared.binary_search(&code).is_ok() || self.in_head.binary_search(&code).is_ok()
    }
}

/// The values of a column in the selected rows of a segment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentCounts {
    /// The shared codes that occur, as their positions among all shared codes, with their counts.
    pub(super) shared: Vec<(u32, u32)>,
    /// The count of each code whose value the head has.
    pub(super) in_head: Vec<u32>,
    /// The number of other values that occur.
    pub(super) distinct: u64,
    /// The most frequent of the other values, as counts and codes.
    pub(super) top: Vec<(u64, u32)>,
    /// Rows without a value.
    pub(super) missing: u64,
}

/// Returns the counts of a column.
pub(super) fn count(texts: &Texts, rows: &SelectedRows, counted: &Counted<'_>) -> SegmentCounts {
    let values = texts.distinct();
    match rows {
        SelectedRows::AllBut(absent) if absent.len() * VALUES_PER_SPARSE_ROW < values as usize => {
            count_all_but(texts, absent, counted)
        }
        SelectedRows::AllBut(absent) => {
            let starts = texts.starts(&(0..values + 1));
            let mut counts: Vec<u32> = starts.windows(2).map(|bounds| bounds[1] - bounds[0]).collect();
            texts.for_each_code(absent, |code| counts[code as usize] -= 1);
            of_array(counts, counted)
        }
        SelectedRows::Only { rows, bits } if cost_by_code(texts, &counted.codes, bits) <= rows.len() => {
            let counts = counts_by_code(texts, bits, &counted.codes);
            SegmentCounts { missing: count_missing(texts, rows, bits), ..of_sparse(counts, counted) }
        }
        SelectedRows::Only { rows, bits } if prefers_unique(texts, rows.len(), counted) => {
            count_unique(texts, (rows, bits), counted)
        }
        SelectedRows::Only { rows, .. } if rows.len() * VALUES_PER_SPARSE_ROW < values as usize => {
            let (counts, missing) = sorted_counts(texts, rows, &counted.codes);
            SegmentCounts { missing, ..of_sparse(counts, counted) }
        }
        SelectedRows::Only { rows, .. } => {
            let mut counts = vec![0; values as usize + 1];
            texts.for_each_code(rows, |code| counts[code as usize] += 1);
            of_array(counts, counted)
        }
    }
}

/// Counts by the number of rows of each code, minus the absent rows.
fn count_all_but(texts: &Texts, absent: &[u32], counted: &Counted<'_>) -> SegmentCounts {
    let all = 0..texts.distinct();
    let (absent, absent_missing) = sorted_counts(texts, absent, &all);
    let count = |code: u32| {
        let less = absent.binary_search_by_key(&code, |(absent, _)| *absent).map_or(0, |at| absent[at].1);
        u32::try_from(texts.count(&(code..code + 1))).unwrap_or(u32::MAX) - less
    };
    let is_own = |code: &u32| counted.codes.contains(code) && !counted.is_in_other_parts(*code);
    let reduced: Vec<u32> = absent.iter().map(|(code, _)| *code).filter(is_own).collect();
    // All rows of the codes between these are selected.
    let mut single = [counted.shared, counted.in_head, reduced.as_slice()].concat();
    single.sort_unstable();
    let mut tally = Tally::new(counted.limit);
    let mut from = counted.codes.start;
    for code in single {
        tally.add_starts(from, texts.starts(&(from..code)));
        from = code + 1;
    }
    tally.add_starts(from, texts.starts(&(from..counted.codes.end)));
    for code in reduced {
        tally.add_one(code, count(code));
    }
    let missing = texts.count(&(all.end..all.end + 1)) as u64 - absent_missing;
    SegmentCounts {
        shared: counted.shared_counts(count),
        in_head: counted.in_head.iter().map(|code| count(*code)).collect(),
        missing,
        ..SegmentCounts::of(tally)
    }
}

/// Returns the counts of a column from the count of every code. The last one counts rows without a value.
fn of_array(mut counts: Vec<u32>, counted: &Counted<'_>) -> SegmentCounts {
    let missing = counts.pop().map_or(0, u64::from);
    let mut take = |code: u32| std::mem::take(&mut counts[code as usize]);
    let shared = counted.shared_counts(&mut take);
    let in_head = counted.in_head.iter().map(|code| take(*code)).collect();
    let mut tally = Tally::new(counted.limit);
    tally.add(counted.codes.start, &counts[counted.codes.start as usize..counted.codes.end as usize]);
    SegmentCounts { shared, in_head, missing, ..SegmentCounts::of(tally) }
}

/// True if every value occurs in one row, and scanning the values for the least ones is faster than reading the rows.
fn prefers_unique(texts: &Texts, rows: usize, counted: &Counted<'_>) -> bool {
    let values = texts.distinct();
    let scanned = values as usize / rows.max(1) * counted.limit;
    texts.is_unique() && counted.codes == (0..values) && scanned <= rows
}

/// Counts values that each occur in one row. Only the least values are needed, and the number of the others.
fn count_unique(texts: &Texts, (rows, bits): (&[u32], &[u64]), counted: &Counted<'_>) -> SegmentCounts {
    let order = texts.rows(&counted.codes);
    let is_selected = |code: u32| is_set(bits, order[code as usize] as usize);
    let shared = counted.shared_counts(|code| u32::from(is_selected(code)));
    let in_head: Vec<u32> = counted.in_head.iter().map(|code| u32::from(is_selected(*code))).collect();
    let missing = count_missing(texts, rows, bits);
    let apart = shared.len() as u64 + in_head.iter().copied().map(u64::from).sum::<u64>();
    let distinct = rows.len() as u64 - missing - apart;
    let own = counted.codes.clone().filter(|code| is_selected(*code) && !counted.is_in_other_parts(*code));
    let top_count = usize::try_from(distinct).unwrap_or(usize::MAX).min(counted.limit);
    SegmentCounts {
        top: own.take(top_count).map(|code| (1, code)).collect(),
        shared,
        in_head,
        distinct,
        missing,
    }
}

/// Returns the number of rows without a value.
fn count_missing(texts: &Texts, rows: &[u32], bits: &[u64]) -> u64 {
    if let Some(missing) = texts.bits(texts.distinct()) {
        return u64::from(count_common(missing, bits));
    }
    let mut missing = 0;
    texts.for_each_code(rows, |code| missing += u64::from(code == texts.distinct()));
    missing
}

/// Returns the cost of [`counts_by_code`].
fn cost_by_code(texts: &Texts, codes: &Range<u32>, bits: &[u64]) -> usize {
    let frequent = texts.frequent(codes);
    let with_bits: usize = frequent.iter().map(|code| texts.count(&(*code..code + 1))).sum();
    let without_bits = texts.count(codes) - with_bits;
    frequent.len() * bits.len() + without_bits * LOOKUP_COST + codes.len() * CODE_COST
}

/// Returns the codes in a range that selected rows have, ascending, with their counts.
fn counts_by_code(texts: &Texts, bits: &[u64], codes: &Range<u32>) -> Vec<(u32, u32)> {
    let count = |code: u32| {
        let count = texts.bits(code).map_or_else(
            || {
                let rows = texts.rows(&(code..code + 1));
                rows.iter().map(|row| u32::from(is_set(bits, *row as usize))).sum()
            },
            |own| count_common(own, bits),
        );
        (code, count)
    };
    codes.clone().map(count).filter(|(_, count)| *count > 0).collect()
}

/// Returns the codes of the rows that are in a range, ascending, with their counts; and the number of rows without a
/// value.
fn sorted_counts(texts: &Texts, rows: &[u32], codes: &Range<u32>) -> (Vec<(u32, u32)>, u64) {
    let (mut own, mut missing) = (Vec::with_capacity(rows.len()), 0);
    texts.for_each_code(rows, |code| {
        if codes.contains(&code) {
            own.push(code);
        }
        missing += u64::from(code == texts.distinct());
    });
    own.sort_unstable();
    let tied = own.chunk_by(|one, other| one == other);
    let counts = tied.map(|tied| (tied[0], u32::try_from(tied.len()).unwrap_or(u32::MAX)));
    (counts.collect(), missing)
}

/// Returns the counts of a column from the counts of the codes that occur, which are few.
fn of_sparse(mut counts: Vec<(u32, u32)>, counted: &Counted<'_>) -> SegmentCounts {
    let mut shared = Vec::new();
    for (code, count) in &mut counts {
        if let Ok(position) = counted.shared.binary_search(code) {
            shared.push((u32::try_from(position).unwrap_or(u32::MAX), std::mem::take(count)));
        }
    }
    let mut take = |code: &u32| {
        let at = counts.binary_search_by_key(code, |(code, _)| *code);
        at.map_or(0, |at| std::mem::take(&mut counts[at].1))
    };
    let in_head = counted.in_head.iter().map(&mut take).collect();
    let mut tally = Tally::new(counted.limit);
    for (code, count) in counts {
        tally.add_one(code, count);
    }
    SegmentCounts { shared, in_head, ..SegmentCounts::of(tally) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::index::columns::{Index, Projection, build};
    use crate::otlp::TraceId;
    use crate::schema::Field;
    use crate::trace::TraceRow;
    use crate::trace::row::to_batch;

    /// Returns the index of rows whose run ids have `kinds` distinct values.
    fn indexed(values: &[u32], kinds: u32) -> Index {
        let row = |(number, value): (u64, &u32)| TraceRow {
            trace_id: TraceId::from_bytes(&[[0; 8], (number + 1).to_be_bytes()].concat()).expect("an id"),
            run_id: (value % (kinds + 1) < kinds).then(|| format!("{:05}", value % (kinds + 1))),
            name: String::new(),
            session_id: None,
            user_id: None,
            agent_id: None,
            team_id: None,
            workflow_id: None,
            service: None,
            environment: None,
            release: None,
            is_error: false,
            start_time: 0,
            end_time: 0,
            created_at: 0,
            duration_ms: 0,
            total_spans: 1,
            error_count: 0,
            input_tokens: 0,
            output_tokens: 0,
            total_tokens: 0,
            cached_tokens: 0,
            reasoning_tokens: 0,
            llm_calls: 0,
            tool_calls: 0,
        };
        let rows: Vec<TraceRow> = (0..).zip(values).map(row).collect();
        let positions: Vec<u64> = (0..rows.len() as u64).collect();
        let mut content = Vec::new();
        build(&to_batch(&rows), [&positions; 3].map(Vec::as_slice), "rows", &mut content).expect("an index");
        let index = Index::open(content.into(), "rows").expect("an index");
        assert!(index.is_sound(Projection::SORT_KEY.and(Field::RunId)));
        index
    }

    /// Returns the expected counts, computed value by value.
    fn naive(texts: &Texts, rows: &[u32], counted: &Counted<'_>) -> SegmentCounts {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for row in rows {
            *counts.entry(texts.code(*row as usize)).or_default() += 1;
        }
        let missing = u64::from(counts.remove(&texts.distinct()).unwrap_or_default());
        let count = |code: &u32| counts.get(code).copied().unwrap_or_default();
        let shared = (0..).zip(counted.shared).map(|(position, code)| (position, count(code)));
        let shared = shared.filter(|(_, count)| *count > 0).collect();
        let in_head = counted.in_head.iter().map(count).collect();
        let is_own = |code: &u32| {
            counted.codes.contains(code) && !counted.shared.contains(code) && !counted.in_head.contains(code)
        };
        let own: Vec<(u64, u32)> = counts
            .iter()
            .filter(|(code, _)| is_own(code))
            .map(|(code, count)| (u64::from(*count), *code))
            .collect();
        let mut top = own.clone();
        top.sort_by_key(|(count, code)| (std::cmp::Reverse(*count), *code));
        top.truncate(counted.limit);
        SegmentCounts { shared, in_head, distinct: own.len() as u64, top, missing }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_method_counts_the_same(
            values in prop_oneof![
                prop::collection::vec(any::<u32>(), 1..300),
                prop::collection::vec(any::<u32>(), 4_096..6_000),
                // Every value is unique.
                Just((0..5_000).collect::<Vec<u32>>()).prop_shuffle(),
            ],
            kinds in prop_oneof![1..4_u32, 30..300_u32, Just(5_000)],
            (one_in, offset) in (prop_oneof![1..4_u32, 5..2_000_u32], any::<u32>()),
            (from, to) in (0..100_u32, 0..100_u32), (shared, in_head) in (1..9_u32, 1..9_u32), limit in 1..9_usize,
        ) {
            let index = indexed(&values, kinds);
            let texts = index.texts(Field::RunId).expect("texts");
            let (all, distinct) = (u32::try_from(values.len()).expect("few"), texts.distinct());
            // Mostly the whole range, because more methods apply to it.
            let codes = if from < 70 { 0..distinct } else { distinct * from.min(to) / 100..distinct * from.max(to) / 100 };
            let shared: Vec<u32> = codes.clone().filter(|code| code % 9 < shared - 1).collect();
            let in_head: Vec<u32> =
                codes.clone().filter(|code| code % 10 == in_head && !shared.contains(code)).collect();
            let counted = Counted { codes, shared: &shared, in_head: &in_head, limit };
            let is_selected = |row: &u32| row.wrapping_add(offset) % one_in == 0;
            let (rows, absent): (Vec<u32>, Vec<u32>) = (0..all).partition(is_selected);
            let mut bits = vec![0; all.div_ceil(64) as usize];
            for row in &rows {
                set(&mut bits, *row as usize);
            }
            let expected = naive(texts, &rows, &counted);
            prop_assert_eq!(&count_all_but(texts, &absent, &counted), &expected);
            let all_but = SelectedRows::AllBut(absent);
            prop_assert_eq!(&count(texts, &all_but, &counted), &expected);
            let mut each = vec![0; distinct as usize + 1];
            for row in &rows {
                each[texts.code(*row as usize) as usize] += 1;
            }
            prop_assert_eq!(&of_array(each, &counted), &expected);
            let by_code = of_sparse(counts_by_code(texts, &bits, &counted.codes), &counted);
            let missing = count_missing(texts, &rows, &bits);
            prop_assert_eq!(&SegmentCounts { missing, ..by_code }, &expected);
            let (sorted, missing) = sorted_counts(texts, &rows, &counted.codes);
            prop_assert_eq!(&SegmentCounts { missing, ..of_sparse(sorted, &counted) }, &expected);
            if texts.is_unique() && counted.codes == (0..distinct) {
                prop_assert_eq!(&count_unique(texts, (&rows, &bits), &counted), &expected);
            }
            prop_assert_eq!(&count(texts, &SelectedRows::Only { rows, bits }, &counted), &expected);
        }
    }
}
