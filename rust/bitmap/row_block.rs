//! Block-wise iteration over row sets for aggregations, and intersection of row sets.

use std::ops::Range;

use super::bits::{Bits, fill, ones};
use super::live_rows::LiveRows;
use super::row_set::RowSet;

/// The maximum number of rows of a block. The decoded columns of a block fit into the first-level cache.
pub const BLOCK_ROWS: usize = 1_024;

/// Some rows of a set.
#[derive(Debug, Clone)]
pub enum RowBlock<'a> {
    /// Adjacent rows, which are decoded fastest.
    Range(Range<u32>),
    /// Any rows.
    List(&'a [u32]),
}

impl RowBlock<'_> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::List(rows) => rows.len(),
        }
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the row at a position, which must be in bounds.
    pub fn row(&self, position: usize) -> u32 {
        match self {
            Self::Range(range) => range.start + row(position),
            Self::List(rows) => rows[position],
        }
    }

    /// Returns the rows.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).map(|position| self.row(position))
    }

    /// Returns the rows between two positions.
    #[must_use]
    pub fn slice(&self, positions: Range<usize>) -> Self {
        match self {
            Self::Range(range) => {
                Self::Range(range.start + row(positions.start)..range.start + row(positions.end))
            }
            Self::List(rows) => Self::List(&rows[positions]),
        }
    }
}

impl LiveRows {
    /// Calls `visit` with the rows in `window`, in blocks of at most [`BLOCK_ROWS`], in no particular order.
    pub fn for_each_block(&self, window: Range<u32>, mut visit: impl FnMut(&RowBlock<'_>)) {
        match &self.rows {
            RowSet::Range(range) => {
                let window = window.start.max(range.start)..window.end.min(range.end);
                self.for_each_run(window, &mut visit);
            }
            RowSet::List(list) => self.for_each_chunk(list, &window, &mut visit),
            RowSet::Lists(lists) => {
                for list in lists {
                    self.for_each_chunk(list, &window, &mut visit);
                }
            }
            RowSet::Bits(bits) => for_each_bits(bits.words(), window, &mut visit),
            RowSet::Tested(rows) if self.deleted.is_empty() => {
                for_each_bits(rows.bits().words(), window, &mut visit);
            }
            RowSet::Tested(rows) => {
                for_each_bits(&self.to_words(rows.bits().words().len() * 64), window, &mut visit);
            }
        }
    }

    /// Visits the rows of a range between deleted rows.
    fn for_each_run(&self, window: Range<u32>, visit: &mut impl FnMut(&RowBlock<'_>)) {
        let first = self.deleted.partition_point(|row| *row < window.start);
        let last = self.deleted.partition_point(|row| *row < window.end);
        let mut start = window.start;
        for end in self.deleted[first..last.max(first)].iter().copied().chain([window.end]) {
            while start < end {
                let next = end.min(start.saturating_add(row(BLOCK_ROWS)));
                visit(&RowBlock::Range(start..next));
                start = next;
            }
            start = end.saturating_add(1);
        }
    }

    /// Visits the rows of an ascending list.
    fn for_each_chunk(&self, list: &[u32], window: &Range<u32>, visit: &mut impl FnMut(&RowBlock<'_>)) {
        let start = list.partition_point(|row| *row < window.start);
        let end = list.partition_point(|row| *row < window.end);
        let mut live = Vec::new();
        for chunk in list[start..end.max(start)].chunks(BLOCK_ROWS) {
            if self.deleted.is_empty() {
                visit(&RowBlock::List(chunk));
                continue;
            }
            live.clear();
            live.extend(chunk.iter().copied().filter(|row| self.deleted.binary_search(row).is_err()));
            visit(&RowBlock::List(&live));
        }
    }

    /// Returns the rows of this set that are also in `others`.
    #[must_use]
    pub fn intersected(&self, others: RowSet) -> Self {
        Self::without(intersection(&self.rows, others), &self.deleted)
    }

    /// Returns `rows` without `deleted`, an ascending list.
    fn without(rows: RowSet, deleted: &[u32]) -> Self {
        let RowSet::Bits(bits) = rows else {
            let deleted = deleted.iter().copied().filter(|row| rows.contains(*row)).collect();
            return Self { rows, deleted };
        };
        if deleted.is_empty() {
            return Self { rows: RowSet::Bits(bits), deleted: Vec::new() };
        }
        let mut words = bits.words().to_vec();
        for row in deleted {
            if let Some(word) = words.get_mut(*row as usize / 64) {
                *word &= !(1 << (row % 64));
            }
        }
        Self { rows: RowSet::Bits(Bits::new(words)), deleted: Vec::new() }
    }

    /// Returns the memory use of the set in bytes, including memory that it shares with an index.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + size_of_val(self.deleted.as_slice())
    }
}

fn intersection(own: &RowSet, others: RowSet) -> RowSet {
    match (own, others) {
        (RowSet::Range(range), others) if others.lies_in(range) => others,
        (RowSet::Range(own), RowSet::Range(other)) => {
            let start = own.start.max(other.start);
            RowSet::Range(start..own.end.min(other.end).max(start))
        }
        (RowSet::List(own), RowSet::List(other)) => RowSet::List(common(own, &other).into()),
        (RowSet::List(_) | RowSet::Lists(_), others) if own.count() <= others.count() => {
            filtered(own, &others)
        }
        (own, others @ (RowSet::List(_) | RowSet::Lists(_))) => filtered(&others, own),
        (own, others) => common_bits(own, &others),
    }
}

/// Returns the rows that are in both sets. At least one set has a bitmap; the other may be a range.
fn common_bits(one: &RowSet, other: &RowSet) -> RowSet {
    match (one, other) {
        (RowSet::Range(range), rows) | (rows, RowSet::Range(range)) if let Some(words) = rows.words() => {
            of_range(words, range)
        }
        (one, other) if let (Some(one), Some(other)) = (one.words(), other.words()) => {
            RowSet::Bits(Bits::new(one.iter().zip(other).map(|(one, other)| one & other).collect()))
        }
        _ => filtered(one, other),
    }
}

/// Returns the rows of a bitmap that are in a range.
fn of_range(bits: &[u64], range: &Range<u32>) -> RowSet {
    let mut words = vec![0; bits.len()];
    let end = (words.len() * 64).min(range.end as usize);
    fill(&mut words, (range.start as usize).min(end)..end);
    words.iter_mut().zip(bits).for_each(|(word, own)| *word &= own);
    RowSet::Bits(Bits::new(words))
}

/// Returns the rows that two ascending lists have in common.
fn common(one: &[u32], other: &[u32]) -> Vec<u32> {
    let (few, mut many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let mut rows = Vec::with_capacity(few.len());
    for row in few {
        // The next row is usually near, so the step doubles until it is passed.
        let mut step = 1;
        while many.get(step).is_some_and(|own| own < row) {
            step *= 2;
        }
        let passed = many[..many.len().min(step + 1)].partition_point(|own| own < row);
        many = &many[passed..];
        match many.first() {
            Some(own) if own == row => rows.push(*row),
            Some(_) => {}
            None => break,
        }
    }
    rows
}

/// Returns the rows of `few` that are in `others`, as a list.
fn filtered(few: &RowSet, others: &RowSet) -> RowSet {
    let mut common = Vec::new();
    few.for_each(|row| {
        if others.contains(row) {
            common.push(row);
        }
    });
    if matches!(few, RowSet::Lists(_)) {
        common.sort_unstable();
    }
    RowSet::List(common.into())
}

/// Visits the rows of a bitmap. Blocks without a gap are visited as ranges.
fn for_each_bits(words: &[u64], window: Range<u32>, visit: &mut impl FnMut(&RowBlock<'_>)) {
    const WORDS: usize = BLOCK_ROWS / 64;
    let end = (window.end as usize).min(words.len() * 64);
    let mut rows = Vec::with_capacity(BLOCK_ROWS);
    let mut start = window.start as usize;
    while start < end {
        let first = start / 64;
        let next = ((first + WORDS) * 64).min(end);
        let block = &words[first..next.div_ceil(64)];
        let is_aligned = start.is_multiple_of(64) && next.is_multiple_of(64);
        if is_aligned && block.iter().all(|word| *word == u64::MAX) {
            visit(&RowBlock::Range(row(start)..row(next)));
        } else {
            rows.clear();
            for (index, word) in (first..).zip(block) {
                let mut kept = *word;
                if index == first {
                    kept &= u64::MAX << (start % 64);
                }
                if (index + 1) * 64 > end {
                    kept &= u64::MAX >> ((index + 1) * 64 - end);
                }
                rows.extend(ones(index, kept));
            }
            if !rows.is_empty() {
                visit(&RowBlock::List(&rows));
            }
        }
        start = next;
    }
}

fn row(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use roaring::RoaringBitmap;

    use super::*;

    const ROWS: u32 = 5_000;

    /// Returns sets of every form with some deleted rows.
    fn sets() -> impl Strategy<Value = LiveRows> {
        let rows = prop_oneof![
            (0..ROWS, 0..ROWS).prop_map(|(one, other)| RowSet::Range(one.min(other)..one.max(other))),
            prop::collection::btree_set(0..ROWS, 0..300)
                .prop_map(|rows| RowSet::List(rows.into_iter().collect::<Vec<_>>().into())),
            prop::collection::btree_set(0..ROWS, 0..300).prop_map(|rows| {
                let (one, other) = rows.into_iter().partition::<Vec<u32>, _>(|row| row % 3 == 0);
                RowSet::Lists(vec![one.into(), other.into()])
            }),
            prop::collection::btree_set(0..ROWS, 0..200).prop_map(|gaps| {
                let mut words = vec![0; (ROWS as usize).div_ceil(64)];
                fill(&mut words, 0..ROWS as usize);
                for row in gaps {
                    words[row as usize / 64] &= !(1 << (row % 64));
                }
                RowSet::Bits(Bits::new(words))
            }),
            prop::collection::btree_set(0..ROWS, 0..200)
                .prop_map(|gaps| RowSet::Range(0..ROWS).without(&RowSet::List(gaps.into_iter().collect()))),
        ];
        (rows, prop::collection::btree_set(0..ROWS, 0..50))
            .prop_map(|(rows, deleted)| LiveRows::new(rows, &deleted.into_iter().collect::<RoaringBitmap>()))
    }

    fn listed(set: &LiveRows) -> Vec<u32> {
        set.from(0).collect()
    }

    proptest! {
        #[test]
        fn blocks_have_every_row_of_the_window_once(set in sets(), one in 0..ROWS + 100, other in 0..ROWS + 100) {
            let window = one.min(other)..one.max(other);
            let mut visited = Vec::new();
            set.for_each_block(window.clone(), |block| {
                assert!(block.len() <= BLOCK_ROWS);
                match block {
                    RowBlock::Range(range) => visited.extend(range.clone()),
                    RowBlock::List(rows) => visited.extend_from_slice(rows),
                }
            });
            visited.sort_unstable();
            let expected: Vec<u32> = listed(&set).into_iter().filter(|row| window.contains(row)).collect();
            prop_assert_eq!(visited, expected);
        }

        #[test]
        fn an_intersection_has_the_rows_of_both(one in sets(), other in sets()) {
            let mut others = RoaringBitmap::new();
            other.rows.for_each(|row| _ = others.insert(row));
            let expected: Vec<u32> = listed(&one).into_iter().filter(|row| others.contains(*row)).collect();
            let found = one.intersected(other.rows);
            prop_assert_eq!(found.count(), expected.len());
            prop_assert_eq!(listed(&found), expected);
        }
    }
}
