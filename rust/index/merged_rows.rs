//! The mapping from the rows of several segments to their merged rows.

use std::ops::Range;

/// The target of a row that the merge drops.
const LEFT_OUT: u32 = u32::MAX;

/// The rows of a merge in their new order, and the target of each input row. The rows of one input keep their
/// order.
#[derive(Debug)]
pub struct MergedRows<'a> {
    sources: &'a [(usize, usize)],
    targets: Vec<Vec<u32>>,
}

impl<'a> MergedRows<'a> {
    /// Returns the mapping for inputs with these numbers of rows. `sources` has the input and the row of each
    /// merged row: fewer than 2^32 entries, and ascending within one input.
    pub fn new(inputs: impl IntoIterator<Item = u32>, sources: &'a [(usize, usize)]) -> Self {
        let mut targets: Vec<Vec<u32>> =
            inputs.into_iter().map(|rows| vec![LEFT_OUT; rows as usize]).collect();
        for (target, (input, row)) in (0..).zip(sources) {
            targets[*input][*row] = target;
        }
        Self { sources, targets }
    }

    /// Returns the number of merged rows.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Returns `true` if the merge drops every row.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Returns the input and the row of each merged row.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone + 'a {
        self.sources.iter().copied()
    }

    /// Returns the merged row of an input row; `None` if it is dropped.
    #[inline]
    pub fn target(&self, input: usize, row: u32) -> Option<u32> {
        self.targets[input].get(row as usize).copied().filter(|target| *target != LEFT_OUT)
    }
}

/// The spans of a merge in their new order, and the target ordinal of each input span.
#[derive(Debug)]
pub struct MergedOrdinals<'a> {
    rows: &'a MergedRows<'a>,
    firsts: Vec<&'a [u32]>,
    targets: Vec<Vec<u32>>,
    len: usize,
}

impl<'a> MergedOrdinals<'a> {
    /// Returns the mapping of span ordinals. For each input, `firsts` has the ordinal of the first span of
    /// each row, and finally the number of spans. `None` if there are 2^32 spans or more.
    pub fn new(firsts: Vec<&'a [u32]>, rows: &'a MergedRows<'a>) -> Option<Self> {
        let spans = |firsts: &&[u32]| firsts.last().map_or(0, |spans| *spans as usize);
        let targets = firsts.iter().map(|firsts| vec![LEFT_OUT; spans(firsts)]).collect();
        let mut ordinals = Self { rows, firsts, targets, len: 0 };
        for (input, row) in rows.sources() {
            let own = ordinals.of_row(input, row);
            let end = ordinals.len + own.len();
            let next = u32::try_from(ordinals.len).ok()?..u32::try_from(end).ok()?;
            ordinals.targets[input][own].iter_mut().zip(next).for_each(|(target, ordinal)| *target = ordinal);
            ordinals.len = end;
        }
        Some(ordinals)
    }

    fn of_row(&self, input: usize, row: usize) -> Range<usize> {
        self.firsts[input][row] as usize..self.firsts[input][row + 1] as usize
    }

    /// Returns the mapping of the rows.
    pub fn rows(&self) -> &'a MergedRows<'a> {
        self.rows
    }

    /// Returns the number of merged spans.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no spans.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the input and the ordinal of each merged span.
    pub fn sources(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.rows
            .sources()
            .flat_map(|(input, row)| self.of_row(input, row).map(move |ordinal| (input, ordinal)))
    }

    /// Returns the merged ordinal of an input span; `None` if its row is dropped.
    #[inline]
    pub fn target(&self, input: usize, ordinal: u32) -> Option<u32> {
        self.targets[input].get(ordinal as usize).copied().filter(|target| *target != LEFT_OUT)
    }
}
