//! Converts tallies and targets to messages and back.

use crate::error::Result;
use crate::query::aggregate::calls::{CALL_NUMBERS, CallSums, SumsBySubset};
use crate::query::aggregate::distinct::DistinctSet;
use crate::query::aggregate::leaves::messages::{
    Bounds, DistinctMessage, FieldTargets, NumberRange, NumberTallyMessage, Sparse, TallyMessage, Targets,
};
use crate::query::aggregate::quantile::Target;
use crate::query::aggregate::tally::{NumberBounds, NumberStats, NumberTally, Tally, TallyLayout};
use crate::query::messages::unexpected;

const SUM_BYTES: usize = size_of::<i128>();

impl Sparse {
    pub(super) fn of(numbers: &[u64]) -> Self {
        let (mut sparse, mut zeros) = (Self::default(), 0);
        for number in numbers {
            if *number == 0 {
                zeros += 1;
            } else {
                sparse.zeros.push(std::mem::take(&mut zeros));
                sparse.numbers.push(*number);
            }
        }
        sparse
    }

    /// Returns `count` numbers.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if the message has more.
    pub(super) fn numbers(&self, count: usize) -> Result<Vec<u64>> {
        let (mut numbers, mut at) = (vec![0; count], 0_usize);
        for (zeros, number) in self.zeros.iter().zip(&self.numbers) {
            at = at.saturating_add(usize::try_from(*zeros).unwrap_or(usize::MAX));
            *numbers.get_mut(at).ok_or_else(unexpected)? = *number;
            at += 1;
        }
        Ok(numbers)
    }
}

/// Returns the numbers of an optional message.
fn numbers(sparse: Option<&Sparse>, count: usize) -> Result<Vec<u64>> {
    sparse.map_or_else(|| Ok(vec![0; count]), |sparse| sparse.numbers(count))
}

impl TallyMessage {
    pub(super) fn of(tally: &Tally) -> Self {
        Self {
            counts: Some(Sparse::of(&tally.counts)),
            numbers: tally.numbers.iter().map(NumberTallyMessage::of).collect(),
            distinct: tally.distinct.iter().map(DistinctMessage::of).collect(),
        }
    }

    /// Returns the tally, which must have this layout.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if it has another layout.
    pub(super) fn tally(self, layout: &TallyLayout) -> Result<Tally> {
        let mut tally = Tally::new(layout);
        if self.numbers.len() != tally.numbers.len() || self.distinct.len() != tally.distinct.len() {
            return Err(unexpected());
        }
        tally.counts = numbers(self.counts.as_ref(), layout.slots)?;
        for (own, message) in tally.numbers.iter_mut().zip(&self.numbers) {
            message.read(own)?;
        }
        for (own, message) in tally.distinct.iter_mut().zip(self.distinct) {
            message.read(own, layout.slots)?;
        }
        Ok(tally)
    }
}

impl NumberTallyMessage {
    fn of(tally: &NumberTally) -> Self {
        Self {
            sums: tally.stats.iter().flat_map(|stats| stats.sum.to_le_bytes()).collect(),
            least: tally.stats.iter().map(|stats| stats.min).collect(),
            greatest: tally.stats.iter().map(|stats| stats.max).collect(),
            bins: Some(Sparse::of(&tally.bins)),
            histograms: tally.histograms.iter().map(|counters| Sparse::of(counters)).collect(),
        }
    }

    fn read(&self, tally: &mut NumberTally) -> Result<()> {
        let (sums, rest) = self.sums.as_chunks::<SUM_BYTES>();
        let slots = tally.stats.len();
        let lengths = [sums.len(), self.least.len(), self.greatest.len()];
        if !rest.is_empty() || lengths != [slots; 3] || self.histograms.len() != tally.histograms.len() {
            return Err(unexpected());
        }
        let stats = sums.iter().zip(self.least.iter().zip(&self.greatest));
        tally.stats = stats
            .map(|(sum, (min, max))| NumberStats { sum: i128::from_le_bytes(*sum), min: *min, max: *max })
            .collect();
        tally.bins = numbers(self.bins.as_ref(), tally.bins.len())?;
        for (counters, message) in tally.histograms.iter_mut().zip(&self.histograms) {
            *counters = message.numbers(counters.len())?;
        }
        Ok(())
    }
}

impl DistinctMessage {
    fn of(set: &DistinctSet) -> Self {
        match set {
            DistinctSet::Bits { words, .. } => Self { words: Some(Sparse::of(words)), pairs: Vec::new() },
            DistinctSet::Pairs { pairs, .. } => Self { words: None, pairs: pairs.clone() },
        }
    }

    fn read(self, set: &mut DistinctSet, slots: usize) -> Result<()> {
        if self.pairs.iter().any(|pair| pair >> 32 >= slots as u64) {
            return Err(unexpected());
        }
        match (set, self.words) {
            (DistinctSet::Bits { words, .. }, Some(message)) => *words = message.numbers(words.len())?,
            (DistinctSet::Pairs { pairs, sorted }, None) => (*pairs, *sorted) = (self.pairs, 0),
            _ => return Err(unexpected()),
        }
        Ok(())
    }
}

impl NumberRange {
    pub(super) fn of(bounds: NumberBounds) -> Self {
        let message = |(low, high): (i64, i64)| (low <= high).then_some(Bounds { low, high });
        Self { selected: message(bounds.selected), stored: message(bounds.stored) }
    }

    pub(super) fn bounds(&self) -> NumberBounds {
        let of = |message: Option<Bounds>, none| message.map_or(none, |message| (message.low, message.high));
        NumberBounds {
            selected: of(self.selected, NumberBounds::NONE.selected),
            stored: of(self.stored, NumberBounds::NONE.stored),
        }
    }
}

impl Targets {
    pub(super) fn of(targets: &[Target]) -> Self {
        let mut message = Self::default();
        for (low, high, rank) in targets.iter().map(|target| target.to_parts()) {
            message.lows.push(low);
            message.highs.push(high);
            message.ranks.push(rank);
        }
        message
    }

    fn targets(&self) -> Vec<Target> {
        let bounds = self.lows.iter().zip(&self.highs).zip(&self.ranks);
        bounds.map(|((low, high), rank)| Target::of_parts((*low, *high, *rank))).collect()
    }
}

impl FieldTargets {
    /// Returns the targets of all buckets together, and the targets of each bucket.
    pub(super) fn targets(&self) -> (Vec<Target>, Vec<Vec<Target>>) {
        let total = self.total.as_ref().map(Targets::targets).unwrap_or_default();
        (total, self.buckets.iter().map(Targets::targets).collect())
    }
}

/// Returns the sums of calls as numbers.
pub(super) fn numbers_of(sums: CallSums) -> [u64; CALL_NUMBERS] {
    sums.to_numbers()
}

/// Returns the sums of calls, by subset and slot.
///
/// # Errors
/// [`crate::error::Error::Busy`] if their number is wrong.
pub(super) fn calls_of(numbers: &[u64], subsets: usize, slots: usize) -> Result<SumsBySubset> {
    let (sums, rest) = numbers.as_chunks::<CALL_NUMBERS>();
    if !rest.is_empty() || sums.len() != subsets * slots {
        return Err(unexpected());
    }
    let of_subset =
        |sums: &[[u64; CALL_NUMBERS]]| sums.iter().map(|own| CallSums::of_numbers(*own)).collect();
    Ok(sums.chunks(slots.max(1)).map(of_subset).collect())
}
