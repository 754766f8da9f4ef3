//! Sets of row numbers with rank and select, in the cheapest representation.

use std::ops::Range;

use super::bits::{Bits, fill, ones};
use super::lazy_row_set::LazyRowSet;
use super::row_list::RowList;

/// A bitmap with less than one row in this many becomes a list.
const ROWS_PER_LISTED_ROW: usize = 64;

/// A set of row numbers. Rows are ordered newest first, so ascending row numbers are in result order.
#[derive(Debug, Clone)]
pub enum RowSet {
    /// A contiguous range.
    Range(Range<u32>),
    /// A sorted list: few rows, or the rows of one value in the index.
    List(RowList),
    /// The sorted, disjoint lists of a few values.
    Lists(Vec<RowList>),
    /// A bitmap.
    Bits(Bits),
    /// Many rows that a test selects. The bitmap is built only if many rows are requested.
    Tested(LazyRowSet),
}

impl RowSet {
    /// The empty set.
    pub const NONE: Self = Self::Range(0..0);

    /// Returns the rows whose bits are set.
    pub fn of_words(words: Vec<u64>) -> Self {
        let bits = Bits::new(words);
        if bits.count() * ROWS_PER_LISTED_ROW > bits.words().len() * 64 {
            return Self::Bits(bits);
        }
        let rows = bits.words().iter().enumerate().flat_map(|(index, word)| ones(index, *word));
        Self::List(rows.collect())
    }

    /// Returns the number of rows in the set.
    pub fn count(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::List(list) => list.len(),
            Self::Lists(lists) => lists.iter().map(|list| list.len()).sum(),
            Self::Bits(bits) => bits.count(),
            Self::Tested(rows) => rows.count(),
        }
    }

    /// Returns the set as a bitmap, if it has one. Words at its end may be missing.
    pub fn words(&self) -> Option<&[u64]> {
        match self {
            Self::Bits(bits) => Some(bits.words()),
            Self::Tested(rows) => Some(rows.bits().words()),
            Self::List(list) => list.words(),
            Self::Range(_) | Self::Lists(_) => None,
        }
    }

    /// Returns the memory use of the set in bytes, including memory that it shares with an index.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Range(_) => 0,
            Self::List(_) | Self::Lists(_) => self.count() * size_of::<u32>(),
            Self::Bits(bits) => size_of_val(bits.words()),
            Self::Tested(rows) => rows.bytes(),
        }
    }

    /// Returns `true` if a row is in the set.
    pub fn contains(&self, row: u32) -> bool {
        match self {
            Self::Range(range) => range.contains(&row),
            Self::List(list) => list.has(row),
            Self::Lists(lists) => lists.iter().any(|list| list.has(row)),
            Self::Bits(bits) => bits.contains(row),
            Self::Tested(rows) => rows.contains(row),
        }
    }

    /// Returns this set with `rows`, which ascend. All rows are less than `count`.
    #[must_use]
    pub fn with(self, rows: Vec<u32>, count: usize) -> Self {
        if self.count() == 0 {
            return Self::List(rows.into());
        }
        let mut words = vec![0; count.div_ceil(64)];
        let mut set = |row: u32| words[row as usize / 64] |= 1 << (row % 64);
        self.for_each(&mut set);
        rows.into_iter().for_each(set);
        Self::Bits(Bits::new(words))
    }

    /// Returns the rows of this set that are not in `others`.
    #[must_use]
    pub fn without(&self, others: &Self) -> Self {
        let mut words = match self {
            _ if others.count() == 0 => return self.clone(),
            Self::List(_) | Self::Lists(_) => {
                let left = self.from(0).filter(|row| !others.contains(*row));
                return Self::List(left.collect());
            }
            Self::Range(range) if let Some(left) = left_of_all(range, others) => return left,
            Self::Range(range) => {
                let mut words = vec![0; (range.end as usize).div_ceil(64)];
                fill(&mut words, range.start as usize..range.end as usize);
                words
            }
            Self::Bits(bits) => bits.words().to_vec(),
            Self::Tested(rows) => rows.bits().words().to_vec(),
        };
        match others {
            Self::List(list) => list.remove_from(&mut words),
            Self::Lists(lists) => lists.iter().for_each(|list| list.remove_from(&mut words)),
            Self::Range(range) => {
                let mut others = vec![0; (range.end as usize).div_ceil(64)];
                fill(&mut others, range.start as usize..range.end as usize);
                remove(&mut words, &others);
            }
            Self::Bits(bits) => remove(&mut words, bits.words()),
            Self::Tested(rows) => remove(&mut words, rows.bits().words()),
        }
        Self::of_words(words)
    }

    /// Returns the number of rows in the set that are less than `row`.
    pub fn rank(&self, row: u32) -> usize {
        let before = |list: &RowList| list.partition_point(|own| *own < row);
        match self {
            Self::Range(range) => {
                row.clamp(range.start, range.end.max(range.start)) as usize - range.start as usize
            }
            Self::List(list) => before(list),
            Self::Lists(lists) => lists.iter().map(before).sum(),
            Self::Bits(bits) => bits.rank(row),
            Self::Tested(rows) => rows.rank(row),
        }
    }

    /// Returns `true` if all rows of the set are in a range.
    pub(super) fn lies_in(&self, range: &Range<u32>) -> bool {
        let ends_in = |first: Option<u32>, last: Option<u32>| {
            first.is_none_or(|row| row >= range.start) && last.is_none_or(|row| row < range.end)
        };
        let is_in = |list: &RowList| ends_in(list.first().copied(), list.last().copied());
        match self {
            Self::List(list) => is_in(list),
            Self::Lists(lists) => lists.iter().all(is_in),
            Self::Tested(rows) if rows.is_of(range) => true,
            _ => ends_in(self.select(0), self.count().checked_sub(1).and_then(|last| self.select(last))),
        }
    }

    /// Returns the row with `rank` rows of the set before it; `None` if there are fewer.
    pub fn select(&self, rank: usize) -> Option<u32> {
        match self {
            Self::Range(range) => {
                range.start.checked_add(u32::try_from(rank).ok()?).filter(|row| row < &range.end)
            }
            Self::List(list) => list.get(rank).copied(),
            Self::Lists(lists) => select_in(lists, rank),
            Self::Bits(bits) => bits.select(rank).filter(|_| rank < bits.count()),
            Self::Tested(rows) => rows.select(rank),
        }
    }

    /// Returns the rows of the set from `row` on, ascending.
    pub fn from(&self, row: u32) -> Box<dyn Iterator<Item = u32> + Send + '_> {
        match self {
            Self::Range(range) => Box::new(range.start.max(row)..range.end),
            Self::List(list) => Box::new(rest_of(list, row).iter().copied()),
            Self::Lists(lists) => {
                let mut rest: Vec<&[u32]> = lists.iter().map(|list| rest_of(list, row)).collect();
                Box::new(std::iter::from_fn(move || {
                    let next = rest.iter_mut().filter(|list| !list.is_empty()).min_by_key(|list| list[0])?;
                    let (first, others) = next.split_first()?;
                    *next = others;
                    Some(*first)
                }))
            }
            Self::Bits(bits) => Box::new(bits.from(row)),
            Self::Tested(rows) => rows.from(row),
        }
    }

    /// Calls `visit` with every row of the set. Several lists are visited one after the other.
    pub fn for_each(&self, visit: impl FnMut(u32)) {
        match self {
            Self::Range(range) => range.clone().for_each(visit),
            Self::List(list) => list.iter().copied().for_each(visit),
            Self::Lists(lists) => lists.iter().flat_map(|list| list.iter()).copied().for_each(visit),
            Self::Bits(bits) => for_each_one(bits.words(), visit),
            Self::Tested(rows) => for_each_one(rows.bits().words(), visit),
        }
    }
}

/// Returns the rows of a range that are not in `others`, if lists define `others` and the range starts at 0.
fn left_of_all(all: &Range<u32>, others: &RowSet) -> Option<RowSet> {
    let few = |lists: &[RowList]| {
        let is_few = others.count() * ROWS_PER_LISTED_ROW <= all.len();
        let are_all_in = all.start == 0 && others.lies_in(all);
        (is_few && are_all_in).then(|| RowSet::Tested(LazyRowSet::all_but(lists.to_vec(), all.end)))
    };
    match others {
        RowSet::List(list) => few(std::slice::from_ref(list)),
        RowSet::Lists(lists) => few(lists),
        RowSet::Tested(rows) => match rows.left_out(all)? {
            [list] => Some(RowSet::List(list.clone())),
            lists => Some(RowSet::Lists(lists.to_vec())),
        },
        RowSet::Range(_) | RowSet::Bits(_) => None,
    }
}

fn remove(words: &mut [u64], others: &[u64]) {
    words.iter_mut().zip(others).for_each(|(word, other)| *word &= !other);
}

fn for_each_one(words: &[u64], mut visit: impl FnMut(u32)) {
    words.iter().enumerate().for_each(|(index, word)| ones(index, *word).for_each(&mut visit));
}

/// Returns the rows of a list from `row` on. This is usually the whole list, which needs no search.
fn rest_of(list: &[u32], row: u32) -> &[u32] {
    let is_searched = list.first().is_some_and(|first| *first < row);
    &list[if is_searched { list.partition_point(|own| *own < row) } else { 0 }..]
}

/// Returns the row with `rank` rows of the disjoint lists before it.
fn select_in(lists: &[RowList], rank: usize) -> Option<u32> {
    if rank >= lists.iter().map(|list| list.len()).sum::<usize>() {
        return None;
    }
    let upto = |row: u32| lists.iter().map(|list| list.partition_point(|own| *own <= row)).sum::<usize>();
    let (mut low, mut high) = (0, lists.iter().filter_map(|list| list.last()).max().copied()?);
    while low < high {
        let middle = low.midpoint(high);
        if upto(middle) > rank { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::lazy_row_set::RowTest;
    use super::*;

    /// Selects the rows of a list.
    #[derive(Debug)]
    struct OneOf(Vec<u32>);

    impl RowTest for OneOf {
        fn selects(&self, row: u32) -> bool {
            self.0.binary_search(&row).is_ok()
        }

        fn mark(&self, words: &mut [u64], _rows: u32) {
            self.0.iter().for_each(|row| words[*row as usize / 64] |= 1 << (row % 64));
        }
    }

    /// Returns the set of `rows`, all less than `width`, in every representation.
    pub(crate) fn forms(rows: &[u32], width: u32) -> Vec<RowSet> {
        let mut words = vec![0; (width as usize).div_ceil(64)];
        for row in rows {
            words[*row as usize / 64] |= 1 << (row % 64);
        }
        let (even, odd) = rows.iter().partition::<Vec<u32>, _>(|row| *row % 3 == 0);
        let mut forms = vec![
            RowSet::List(rows.to_vec().into()),
            RowSet::List(RowList::new(rows.to_vec().into(), Some(words.clone().into()))),
            RowSet::Lists(vec![even.into(), odd.into()]),
            RowSet::Bits(Bits::new(words)),
            RowSet::Tested(LazyRowSet::new(OneOf(rows.to_vec()), rows.len(), width)),
            RowSet::Tested(LazyRowSet::all_but(
                vec![(0..width).filter(|row| !rows.contains(row)).collect()],
                width,
            )),
        ];
        if let (Some(first), Some(last)) = (rows.first(), rows.last())
            && (last - first) as usize + 1 == rows.len()
        {
            forms.push(RowSet::Range(*first..last + 1));
        }
        forms
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_difference_has_the_rows_of_one_set_alone(
            one in prop::collection::btree_set(0..2_000_u32, 0..300), start in 0..2_000_u32, length in 0..1_000_u32,
            other in prop::collection::btree_set(0..2_500_u32, 0..300), other_start in 0..2_500_u32,
        ) {
            let range: std::collections::BTreeSet<u32> = (start..start + length).collect();
            let more = (other_start..other_start + 2 * length).collect();
            for (one, other) in [(&one, &other), (&range, &other), (&one, &range), (&range, &more)] {
                let left: Vec<u32> = one.difference(other).copied().collect();
                let listed = |rows: &std::collections::BTreeSet<u32>| rows.iter().copied().collect::<Vec<_>>();
                for own in forms(&listed(one), 4_500) {
                    for other in forms(&listed(other), 4_500) {
                        let difference = own.without(&other);
                        prop_assert_eq!(difference.from(0).collect::<Vec<_>>(), &left[..]);
                        prop_assert_eq!(difference.count(), left.len());
                    }
                }
            }
        }
    }
}
