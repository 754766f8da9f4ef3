//! Row sets that are defined by a test. Their size is known before any row is tested.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::bits::{Bits, fill};
use super::row_list::RowList;

/// The number of rows that are tested one by one before the bitmap is built. Both take about the same time.
const TESTED_ROWS: u32 = 4_096;

/// A row with at most this many rows of the set before it is found by tests.
const NEAR: usize = 256;

/// A test for membership of rows in a set.
pub trait RowTest: Debug + Send + Sync {
    /// Returns `true` if a row is in the set.
    fn selects(&self, row: u32) -> bool;

    /// Sets the bits of all rows of the set in `words`, an empty bitmap of the `rows` rows of the index.
    fn mark(&self, words: &mut [u64], rows: u32);
}

/// The rows that a test selects.
///
/// A page of the first rows is found by testing rows one by one. A request for more builds the bitmap.
#[derive(Debug, Clone)]
pub struct LazyRowSet(Arc<Tested>);

#[derive(Debug)]
struct Tested {
    test: TestKind,
    /// The number of selected rows, and of all rows.
    count: usize,
    rows: u32,
    bits: OnceLock<Bits>,
}

#[derive(Debug)]
enum TestKind {
    Of(Box<dyn RowTest>),
    /// The rows that are in no list. The lists are disjoint.
    AllBut(Vec<RowList>),
}

impl LazyRowSet {
    /// Returns the rows that `test` selects: `count` of the `rows` rows of an index.
    pub fn new(test: impl RowTest + 'static, count: usize, rows: u32) -> Self {
        Self::of(TestKind::Of(Box::new(test)), count, rows)
    }

    /// Returns the rows of an index with `rows` rows that are in no list. The lists are disjoint.
    pub(super) fn all_but(lists: Vec<RowList>, rows: u32) -> Self {
        let left_out: usize = lists.iter().map(|list| list.len()).sum();
        Self::of(TestKind::AllBut(lists), rows as usize - left_out, rows)
    }

    fn of(test: TestKind, count: usize, rows: u32) -> Self {
        Self(Arc::new(Tested { test, count, rows, bits: OnceLock::new() }))
    }

    /// Returns the lists whose complement in `all` is this set; `None` if it is defined by another test.
    pub(super) fn left_out(&self, all: &Range<u32>) -> Option<&[RowList]> {
        match &self.0.test {
            TestKind::AllBut(lists) if *all == (0..self.0.rows) => Some(lists),
            _ => None,
        }
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.0.count
    }

    /// Returns the rows as a bitmap, which the first call builds.
    pub fn bits(&self) -> &Bits {
        self.0.bits.get_or_init(|| {
            let rows = self.0.rows;
            let mut words = vec![0; (rows as usize).div_ceil(64)];
            match &self.0.test {
                TestKind::Of(test) => test.mark(&mut words, rows),
                TestKind::AllBut(lists) => {
                    fill(&mut words, 0..rows as usize);
                    for list in lists {
                        list.remove_from(&mut words);
                    }
                }
            }
            Bits::new(words)
        })
    }

    /// Returns the memory of the complete bitmap in bytes.
    pub(super) fn bytes(&self) -> usize {
        (self.0.rows as usize).div_ceil(64) * size_of::<u64>()
    }

    /// Returns `true` if a range covers all rows of the index.
    pub(super) fn is_of(&self, range: &Range<u32>) -> bool {
        range.start == 0 && range.end >= self.0.rows
    }

    pub(super) fn contains(&self, row: u32) -> bool {
        match self.0.bits.get() {
            Some(bits) => bits.contains(row),
            None => row < self.0.rows && self.0.test.selects(row),
        }
    }

    pub(super) fn rank(&self, row: u32) -> usize {
        match row {
            0 => 0,
            row if row >= self.0.rows => self.0.count,
            row => self.bits().rank(row),
        }
    }

    pub(super) fn select(&self, rank: usize) -> Option<u32> {
        match rank {
            rank if rank >= self.0.count => None,
            rank if rank < NEAR => self.from(0).nth(rank),
            rank => self.bits().select(rank),
        }
    }

    /// Returns the rows from `row` on, ascending.
    pub(super) fn from(&self, row: u32) -> Box<dyn Iterator<Item = u32> + Send + '_> {
        if let Some(bits) = self.0.bits.get() {
            return Box::new(bits.from(row));
        }
        let end = row.saturating_add(TESTED_ROWS).min(self.0.rows);
        let near = (row..end).filter(|row| self.0.test.selects(*row));
        let rest = move || (end < self.0.rows).then(|| self.bits().from(end)).into_iter().flatten();
        Box::new(near.chain(std::iter::once_with(rest).flatten()))
    }
}

impl TestKind {
    fn selects(&self, row: u32) -> bool {
        match self {
            Self::Of(test) => test.selects(row),
            Self::AllBut(lists) => !lists.iter().any(|list| list.has(row)),
        }
    }
}
