//! Where the rows of several segments are once they are merged.

use std::ops::Range;

/// Stands for a row that is left out.
const LEFT_OUT: u32 = u32::MAX;

/// The rows of a merge, in their new order, and where each row of each input is among them. Those of one input keep their order.
#[derive(Debug)]
pub struct MergedRows<'a> {
    sources: &'a [(usize, usize)],
    targets: Vec<Vec<u32>>,
}

impl<'a> MergedRows<'a> {
    /// Returns the merge of inputs with so many rows. `sources` has the input and the row that each new row comes from, fewer
    /// than 2^32, and those of one input in ascending order.
    pub fn new(inputs: impl IntoIterator<Item = u32>, sources: &'a [(usize, usize)]) -> Self {
        let mut targets: Vec<Vec<u32>> =
            inputs.into_iter().map(|rows| vec![LEFT_OUT; rows as usize]).collect();
        for (target, (input, row)) in (0..).zip(sources) {
            targets[*input][*row] = target;
        }
        Self { sources, targets }
    }

    /// Returns how many new rows there are.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether every row is left out.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Returns the input and the row that each new row comes from.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone + 'a {
        self.sources.iter().copied()
    }

    /// Returns where a row of an input is now; `None` if it is left out.
    #[inline]
    pub fn target(&self, input: usize, row: u32) -> Option<u32> {
        self.targets[input].get(row as usize).copied().filter(|target| *target != LEFT_OUT)
    }
}

/// The spans of a merge, in their new order, and where each span of each input is among them.
#[derive(Debug)]
pub struct MergedPlaces<'a> {
    rows: &'a MergedRows<'a>,
    firsts: Vec<&'a [u32]>,
    targets: Vec<Vec<u32>>,
    len: usize,
}

impl<'a> MergedPlaces<'a> {
    /// Returns the places of a merge. `firsts` has, for each input, the place of the first span of each row, and at last how
    /// many spans there are. `None` if there are 2^32 or more.
    pub fn new(firsts: Vec<&'a [u32]>, rows: &'a MergedRows<'a>) -> Option<Self> {
        let spans = |firsts: &&[u32]| firsts.last().map_or(0, |spans| *spans as usize);
        let targets = firsts.iter().map(|firsts| vec![LEFT_OUT; spans(firsts)]).collect();
        let mut places = Self { rows, firsts, targets, len: 0 };
        for (input, row) in rows.sources() {
            let own = places.of_row(input, row);
            let end = places.len + own.len();
            let next = u32::try_from(places.len).ok()?..u32::try_from(end).ok()?;
            places.targets[input][own].iter_mut().zip(next).for_each(|(target, place)| *target = place);
            places.len = end;
        }
        Some(places)
    }

    fn of_row(&self, input: usize, row: usize) -> Range<usize> {
        self.firsts[input][row] as usize..self.firsts[input][row + 1] as usize
    }

    /// Returns the rows.
    pub fn rows(&self) -> &'a MergedRows<'a> {
        self.rows
    }

    /// Returns how many places there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the input and the place that each new place comes from.
    pub fn sources(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.rows.sources().flat_map(|(input, row)| self.of_row(input, row).map(move |place| (input, place)))
    }

    /// Returns where a span of an input is now; `None` if its row is left out.
    #[inline]
    pub fn target(&self, input: usize, place: u32) -> Option<u32> {
        self.targets[input].get(place as usize).copied().filter(|target| *target != LEFT_OUT)
    }
}
