//! A dictionary-encoded text column: the sorted distinct values, and the rows of each.

use std::ops::Range;
use std::sync::OnceLock;

use arrow_buffer::Buffer;

use crate::bitmap::{RowBlock, RowList, is_set};
use crate::index::batched_binary_search::{IN_STEP, MIN_IN_STEP, last_positions};
use crate::index::boundary::Boundary;
use crate::index::fence_keys::TextFenceKeys;
use crate::index::layout::{SectionKind, Sections};
use crate::index::packed::{FixedWidth, PackedInts};

/// A text column. A value's code is its rank among the distinct values. The code after the last one stands
/// for a missing value.
#[derive(Debug)]
pub struct Texts {
    values: Buffer,
    offsets: FixedWidth<u32>,
    codes: PackedInts,
    starts: FixedWidth<u32>,
    order: FixedWidth<u32>,
    frequent_codes: FixedWidth<u32>,
    frequent_bits: FixedWidth<u64>,
    lower_case: FixedWidth<u8>,
    /// Caches `lower_case` next to the other fields, to avoid a cache miss.
    is_lower_case: OnceLock<bool>,
    /// Read from the values at the first search.
    fence_keys: OnceLock<TextFenceKeys>,
    words: usize,
}

impl Texts {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let rows = sections.rows() as usize;
        let texts = Self {
            values: sections.buffer(column, SectionKind::Values)?,
            offsets: sections.plain(column, SectionKind::Offsets)?,
            codes: sections.packed(column, SectionKind::Codes, rows)?,
            starts: sections.plain(column, SectionKind::Starts)?,
            order: sections.plain(column, SectionKind::Order)?,
            frequent_codes: sections.plain(column, SectionKind::FrequentCodes)?,
            frequent_bits: sections.plain(column, SectionKind::FrequentBits)?,
            lower_case: sections.plain(column, SectionKind::LowerCase)?,
            is_lower_case: OnceLock::new(),
            fence_keys: OnceLock::new(),
            words: rows.div_ceil(64),
        };
        let is_whole = !texts.offsets.is_empty()
            && texts.starts.len() == texts.offsets.len() + 1
            && texts.order.len() == rows
            && texts.lower_case.len() == 1
            && texts.frequent_bits.len() == texts.frequent_codes.len().checked_mul(texts.words)?;
        is_whole.then_some(texts)
    }

    /// Returns the number of distinct values, which is also the code of a missing value.
    #[allow(clippy::cast_possible_truncation, reason = "there are at most as many values as rows")]
    pub fn distinct(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// Returns the value of a code.
    pub fn value(&self, code: u32) -> &[u8] {
        let (start, end) = (self.offsets[code as usize], self.offsets[code as usize + 1]);
        &self.values.as_slice()[start as usize..end as usize]
    }

    /// Returns all values, concatenated, and their offsets: the start of each, and the end of the last one.
    pub fn all(&self) -> (&[u8], &[u32]) {
        (self.values.as_slice(), &self.offsets)
    }

    /// Returns `true` if all values are ASCII without upper case.
    pub fn is_lower_case(&self) -> bool {
        *self.is_lower_case.get_or_init(|| self.lower_case.first() == Some(&1))
    }

    /// Returns the value of a row; `None` if it is missing or not UTF-8.
    pub fn text(&self, row: usize) -> Option<&str> {
        let code = self.code(row);
        (code < self.distinct()).then(|| std::str::from_utf8(self.value(code)).ok())?
    }

    /// Returns the code of a row.
    pub fn code(&self, row: usize) -> u32 {
        self.codes.code(row)
    }

    /// Appends the codes of `rows` to `out`.
    pub fn decode(&self, rows: &RowBlock<'_>, out: &mut Vec<u32>) {
        self.codes.decode_codes(rows, out);
    }

    /// Calls `visit` with the code of each of `rows`.
    pub fn for_each_code(&self, rows: &[u32], visit: impl FnMut(u32)) {
        self.codes.for_each_code(rows, visit);
    }

    /// Returns the codes of the values that start with `prefix`.
    pub fn codes_of_prefix(&self, prefix: &[u8]) -> Range<u32> {
        let start = self.first_code(Boundary::Before(prefix));
        start..self.first_code_from(start, |value| !value.starts_with(prefix))
    }

    /// Returns `true` if no two rows have the same value.
    pub fn is_unique(&self) -> bool {
        self.starts[self.distinct() as usize] == self.distinct()
    }

    /// Returns the start of each code's rows in code order, and the end of the last code's rows.
    pub fn starts(&self, codes: &Range<u32>) -> &[u32] {
        &self.starts[codes.start as usize..=codes.end as usize]
    }

    /// Returns the first code whose value comes after a boundary.
    #[allow(clippy::cast_possible_truncation, reason = "codes have 32 bits")]
    pub fn first_code(&self, boundary: Boundary<'_>) -> u32 {
        let count = self.distinct() as usize;
        let fence_keys =
            self.fence_keys.get_or_init(|| TextFenceKeys::of(count, |position| self.value(position as u32)));
        let within = fence_keys.around(boundary, count);
        self.first_code_in(within.start as u32..within.end as u32, |value| boundary.precedes(value))
    }

    /// Returns the first code, starting at `from`, whose value satisfies the monotonic predicate
    /// `is_reached`. The search gallops: it is fast if the result is close to `from`.
    pub fn first_code_from(&self, from: u32, is_reached: impl Fn(&[u8]) -> bool) -> u32 {
        let (mut low, mut step) = (from, 1);
        while step < self.distinct() - low && !is_reached(self.value(low + step - 1)) {
            low += step;
            step *= 2;
        }
        self.first_code_in(low..self.distinct().min(low.saturating_add(step)), is_reached)
    }

    /// Returns the first of some codes whose value satisfies `is_reached`; the code after them if there is no
    /// such value.
    fn first_code_in(&self, codes: Range<u32>, is_reached: impl Fn(&[u8]) -> bool) -> u32 {
        let (mut low, mut high) = (codes.start, codes.end);
        while low < high {
            let middle = low.midpoint(high);
            if is_reached(self.value(middle)) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Returns the code of a value; `None` if the column lacks it.
    fn find(&self, wanted: &[u8]) -> Option<u32> {
        let code = self.first_code(Boundary::Before(wanted));
        (code < self.distinct() && self.value(code) == wanted).then_some(code)
    }

    /// Calls `visit` with the code of each value in `wanted` that the column has, in the order of `wanted`.
    /// Several values are searched for in a batch.
    #[allow(clippy::cast_possible_truncation, reason = "codes have 32 bits")]
    pub fn find_each(&self, wanted: &[&[u8]], mut visit: impl FnMut(u32)) {
        if self.distinct() == 0 {
            return;
        }
        for wanted in wanted.chunks(IN_STEP) {
            if wanted.len() < MIN_IN_STEP {
                wanted.iter().filter_map(|wanted| self.find(wanted)).for_each(&mut visit);
                continue;
            }
            let last = last_positions(self.distinct() as usize, wanted, |code, wanted| {
                self.value(code as u32) <= *wanted
            });
            for (code, wanted) in last.into_iter().zip(wanted) {
                let code = code as u32;
                if self.value(code) == *wanted {
                    visit(code);
                }
            }
        }
    }

    /// Returns the number of rows that have one of these codes.
    pub fn count(&self, codes: &Range<u32>) -> usize {
        let (start, end) = (self.starts[codes.start as usize], self.starts[codes.end as usize]);
        (end - start) as usize
    }

    /// Returns the rows of these codes, ascending within each code.
    pub fn rows(&self, codes: &Range<u32>) -> &[u32] {
        &self.order[self.starts[codes.start as usize] as usize..self.starts[codes.end as usize] as usize]
    }

    /// Returns the rows of a code, shared with the index.
    pub fn row_list(&self, code: u32) -> RowList {
        let rows = self.order.slice(self.starts[code as usize] as usize, self.count(&(code..code + 1)));
        RowList::new(rows, self.frequent_index(code).map(|index| self.frequent_bits.slice(index, self.words)))
    }

    /// Calls `visit` with each of these codes that has a selected row, and with its first selected row.
    /// Without a bitmap, all rows are selected.
    pub fn for_each_first_row(
        &self,
        codes: Range<u32>,
        selected: Option<&[u64]>,
        mut visit: impl FnMut(u32, u32),
    ) {
        for (code, ends) in codes.clone().zip(self.starts(&codes).windows(2)) {
            let rows = &self.order[ends[0] as usize..ends[1] as usize];
            let is_selected = |row: &&u32| selected.is_none_or(|words| is_set(words, **row as usize));
            if let Some(row) = rows.iter().find(is_selected) {
                visit(code, *row);
            }
        }
    }

    /// Returns the rows of a code as a bitmap, if the code is frequent.
    pub fn bits(&self, code: u32) -> Option<&[u64]> {
        self.frequent_index(code).map(|index| &self.frequent_bits[index..][..self.words])
    }

    /// Returns the start of the bitmap of a code, if the code is frequent.
    fn frequent_index(&self, code: u32) -> Option<usize> {
        Some(self.frequent_codes.binary_search(&code).ok()? * self.words)
    }

    /// Returns the codes in the range that have a bitmap.
    pub fn frequent(&self, codes: &Range<u32>) -> &[u32] {
        let from = self.frequent_codes.partition_point(|code| *code < codes.start);
        let to = self.frequent_codes.partition_point(|code| *code < codes.end);
        &self.frequent_codes[from..to]
    }
}
