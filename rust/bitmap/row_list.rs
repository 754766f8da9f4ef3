//! Sorted lists of rows.

use std::ops::Deref;

use arrow_buffer::ScalarBuffer;

use super::bits::{is_set, set_all};

/// An ascending list of distinct rows. For a frequent value the index also has a bitmap, in which a row is
/// found without a search.
#[derive(Debug, Clone)]
pub struct RowList {
    rows: ScalarBuffer<u32>,
    bits: Option<ScalarBuffer<u64>>,
}

impl RowList {
    /// Returns a list. The bitmap, if given, has a bit for each row of the index.
    pub(crate) fn new(rows: ScalarBuffer<u32>, bits: Option<ScalarBuffer<u64>>) -> Self {
        Self { rows, bits }
    }

    /// Returns `true` if a row is in the list. Unlike `contains` of a slice, it does not compare every row.
    pub(super) fn has(&self, row: u32) -> bool {
        match &self.bits {
            Some(bits) => (row as usize) < bits.len() * 64 && is_set(bits, row as usize),
            None => self.rows.binary_search(&row).is_ok(),
        }
    }

    /// Returns the same rows as a bitmap, if there is one.
    pub(super) fn words(&self) -> Option<&[u64]> {
        self.bits.as_deref()
    }

    /// Sets the bits of the rows.
    pub(super) fn unite(&self, words: &mut [u64]) {
        match &self.bits {
            Some(bits) => words.iter_mut().zip(bits.iter()).for_each(|(word, own)| *word |= own),
            None => set_all(words, &self.rows),
        }
    }

    /// Clears the bits of the rows. `words` may be too short for some of them.
    pub(super) fn remove_from(&self, words: &mut [u64]) {
        match &self.bits {
            Some(bits) => words.iter_mut().zip(bits.iter()).for_each(|(word, own)| *word &= !own),
            None => self.rows.iter().for_each(|row| {
                if let Some(word) = words.get_mut(*row as usize / 64) {
                    *word &= !(1 << (row % 64));
                }
            }),
        }
    }

    /// Returns the part of the list between two positions. Only the whole list keeps its bitmap.
    #[must_use]
    pub fn slice(self, start: usize, end: usize) -> Self {
        if (start, end) == (0, self.rows.len()) {
            return self;
        }
        Self { rows: self.rows.slice(start, end.saturating_sub(start)), bits: None }
    }
}

impl Deref for RowList {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.rows
    }
}

impl From<ScalarBuffer<u32>> for RowList {
    fn from(rows: ScalarBuffer<u32>) -> Self {
        Self { rows, bits: None }
    }
}

impl From<Vec<u32>> for RowList {
    fn from(rows: Vec<u32>) -> Self {
        ScalarBuffer::from(rows).into()
    }
}

impl FromIterator<u32> for RowList {
    fn from_iter<I: IntoIterator<Item = u32>>(rows: I) -> Self {
        rows.into_iter().collect::<Vec<u32>>().into()
    }
}
