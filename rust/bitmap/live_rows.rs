//! Row sets without deleted rows.

use std::ops::Range;

use roaring::RoaringBitmap;

use super::bits::{Bits, fill};
use super::row_set::RowSet;

/// A row set without its deleted rows.
#[derive(Debug, Clone)]
pub struct LiveRows {
    pub(super) rows: RowSet,
    /// The deleted rows of the set, ascending.
    pub(super) deleted: Vec<u32>,
}

impl From<RowSet> for LiveRows {
    /// Returns a set without deleted rows.
    fn from(rows: RowSet) -> Self {
        Self { rows, deleted: Vec::new() }
    }
}

impl LiveRows {
    /// Returns `rows` without the rows of the deletion vector `deleted`.
    pub fn new(rows: RowSet, deleted: &RoaringBitmap) -> Self {
        if let RowSet::Bits(Bits { mut words, .. }) = rows {
            for row in deleted {
                if let Some(word) = words.get_mut(row as usize / 64) {
                    *word &= !(1 << (row % 64));
                }
            }
            return Self { rows: RowSet::Bits(Bits::new(words)), deleted: Vec::new() };
        }
        let deleted = deleted.iter().filter(|row| rows.contains(*row)).collect();
        Self { rows, deleted }
    }

    /// Returns the number of lists that a row lookup searches.
    pub fn lists(&self) -> usize {
        let deleted = usize::from(!self.deleted.is_empty());
        match &self.rows {
            RowSet::Range(_) | RowSet::Bits(_) | RowSet::Tested(_) => deleted,
            RowSet::List(list) => deleted + usize::from(list.words().is_none()),
            RowSet::Lists(lists) => deleted + lists.iter().filter(|list| list.words().is_none()).count(),
        }
    }

    /// Returns the number of rows that are not deleted.
    pub fn count(&self) -> usize {
        self.rows.count() - self.deleted.len()
    }

    /// Returns the deleted rows if the set is `all` without them.
    pub fn missing_from(&self, all: &Range<u32>) -> Option<&[u32]> {
        match &self.rows {
            RowSet::Range(range) if range == all => Some(&self.deleted),
            _ => None,
        }
    }

    /// Returns the rows of this set that are also in `rows`.
    #[must_use]
    pub fn among(&self, rows: RowSet) -> Self {
        if rows.count() == 0 {
            return Self { rows: RowSet::NONE, deleted: Vec::new() };
        }
        if let RowSet::Range(all) = &self.rows
            && rows.lies_in(all)
        {
            let deleted = self.deleted.iter().copied().filter(|row| rows.contains(*row)).collect();
            return Self { rows, deleted };
        }
        let mut common = Vec::new();
        if rows.count() <= self.count() {
            common.extend(rows.from(0).filter(|row| self.contains(*row)));
        } else {
            common.extend(self.from(0).filter(|row| rows.contains(*row)));
        }
        Self { rows: RowSet::List(common.into()), deleted: Vec::new() }
    }

    /// Returns `true` if the set contains a row that is not deleted.
    pub fn contains(&self, row: u32) -> bool {
        self.rows.contains(row) && self.deleted.binary_search(&row).is_err()
    }

    /// Returns the number of rows less than `row`.
    pub fn rank(&self, row: u32) -> usize {
        self.rows.rank(row) - self.deleted.partition_point(|own| *own < row)
    }

    /// Returns the row with `rank` rows before it; `None` if there are fewer.
    pub fn select(&self, rank: usize) -> Option<u32> {
        if rank >= self.count() {
            return None;
        }
        // Deleted rows shift the result to the right by at most their number.
        let (mut low, mut high) = (rank, rank + self.deleted.len());
        while low < high {
            let middle = low.midpoint(high);
            let row = self.rows.select(middle)?;
            let deleted = self.deleted.partition_point(|own| *own <= row);
            if middle + 1 - deleted > rank { high = middle } else { low = middle + 1 }
        }
        self.rows.select(low)
    }

    /// Returns the rows from `row` on, ascending.
    pub fn from(&self, row: u32) -> Box<dyn Iterator<Item = u32> + Send + '_> {
        if self.deleted.is_empty() {
            return self.rows.from(row);
        }
        let mut deleted = self.deleted[self.deleted.partition_point(|own| *own < row)..].iter().peekable();
        Box::new(self.rows.from(row).filter(move |row| {
            let is_deleted = deleted.peek() == Some(&row);
            if is_deleted {
                deleted.next();
            }
            !is_deleted
        }))
    }

    /// Returns the rows from the one with `rank` rows before it, ascending.
    pub fn from_rank(&self, rank: usize) -> Box<dyn Iterator<Item = u32> + Send + '_> {
        self.select(rank).map_or_else(|| Box::new(std::iter::empty()) as Box<_>, |row| self.from(row))
    }

    /// Returns the rows, all less than `count`, as a bitmap.
    pub fn to_words(&self, count: usize) -> Vec<u64> {
        let mut words = vec![0; count.div_ceil(64)];
        match &self.rows {
            RowSet::Bits(bits) => words[..bits.words.len()].copy_from_slice(&bits.words),
            RowSet::Tested(rows) => words.copy_from_slice(rows.bits().words()),
            RowSet::Range(range) => fill(&mut words, range.start as usize..range.end as usize),
            RowSet::List(list) => list.unite(&mut words),
            RowSet::Lists(lists) => lists.iter().for_each(|list| list.unite(&mut words)),
        }
        for row in &self.deleted {
            words[*row as usize / 64] &= !(1 << (row % 64));
        }
        words
    }

    /// Calls `visit` with each row, in no particular order.
    pub fn for_each(&self, visit: impl FnMut(u32)) {
        if self.deleted.is_empty() {
            return self.rows.for_each(visit);
        }
        self.from(0).for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::row_set::tests::forms;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn every_form_is_the_same_set(
            rows in prop_oneof![
                prop::collection::btree_set(0..9_000_u32, 0..300),
                (0..4_000_u32, 0..5_000_u32).prop_map(|(start, length)| (start..start + length).collect()),
            ],
            deleted in prop::collection::btree_set(0..9_000_u32, 0..200),
        ) {
            let all: Vec<u32> = rows.iter().copied().collect();
            let live: Vec<u32> = rows.difference(&deleted).copied().collect();
            let deleted: RoaringBitmap = deleted.into_iter().collect();
            for form in forms(&all, 9_000) {
                let set = LiveRows::new(form, &deleted);
                prop_assert_eq!(set.count(), live.len());
                for rank in (0..=live.len()).step_by(live.len() / 16 + 1) {
                    prop_assert_eq!(set.select(rank), live.get(rank).copied());
                    prop_assert_eq!(set.from_rank(rank).collect::<Vec<_>>(), &live[rank..]);
                }
                for row in (0..9_010).step_by(97) {
                    let rank = live.partition_point(|own| *own < row);
                    prop_assert_eq!(set.rank(row), rank);
                    prop_assert_eq!(set.from(row).collect::<Vec<_>>(), &live[rank..]);
                    prop_assert_eq!(set.contains(row), live.contains(&row));
                }
                let mut visited = Vec::new();
                set.for_each(|row| visited.push(row));
                visited.sort_unstable();
                prop_assert_eq!(&visited, &live);
                let words = set.to_words(9_000);
                prop_assert_eq!(RowSet::Bits(Bits::new(words)).from(0).collect::<Vec<_>>(), &live[..]);
            }
        }
    }
}
