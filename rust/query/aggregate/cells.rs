//! The results of the first pass: the numbers of every bucket and slot, and the targets of the quantiles.

use crate::query::aggregate::plan::{NumberField, Subset};
use crate::query::aggregate::quantile::{Target, targets};
use crate::query::aggregate::tally::{NumberLayout, NumberStats, NumberTally, Tally, TallyLayout};

/// The results of one subset in one bucket, or in all buckets.
#[derive(Debug)]
pub(super) struct Cells {
    /// The number of rows per slot.
    pub(super) counts: Vec<u64>,
    /// The statistics per number field and slot; empty without statistics.
    pub(super) stats: Vec<Vec<NumberStats>>,
    /// The targets per number field, two for each slot and quantile.
    pub(super) targets: Vec<Vec<Target>>,
    /// The number of distinct values per field and slot.
    pub(super) distinct: Vec<Vec<u64>>,
}

/// The results of all subsets.
#[derive(Debug)]
pub(super) struct Results {
    /// By bucket and subset; empty without buckets.
    pub(super) series: Vec<Vec<Cells>>,
    /// By subset.
    pub(super) total: Vec<Cells>,
    /// The counters of all slots, by subset, number field and histogram.
    pub(super) histograms: Vec<Vec<Vec<Vec<u64>>>>,
    sums: Vec<Tally>,
}

impl Cells {
    fn new(tally: &mut Tally, layout: &TallyLayout, subset: &Subset) -> Self {
        let of_number = |(number, (layout, field)): (&NumberTally, (&NumberLayout, &NumberField))| {
            let Some(bins) = layout.bins else { return Vec::new() };
            let of_slot = number.bins.chunks(bins.count()).zip(&tally.counts);
            of_slot.flat_map(|(counts, total)| targets(&field.qs, bins, counts, *total)).collect()
        };
        let targets =
            tally.numbers.iter().zip(layout.numbers.iter().zip(&subset.numbers)).map(of_number).collect();
        let slots = layout.slots;
        Self {
            counts: tally.counts.clone(),
            stats: tally.numbers.iter().map(|number| number.stats.clone()).collect(),
            targets,
            distinct: tally.distinct.iter_mut().map(|set| set.counts(slots)).collect(),
        }
    }
}

impl Results {
    /// Returns the results of no rows.
    pub(super) fn new(layouts: &[TallyLayout], buckets: usize) -> Self {
        Self {
            series: (0..buckets).map(|_| Vec::new()).collect(),
            total: Vec::new(),
            histograms: Vec::new(),
            sums: layouts.iter().map(Tally::new).collect(),
        }
    }

    /// Returns the targets of the number field `index.1` of subset `index.0`, in one bucket or in all buckets.
    pub(super) fn targets_of(&mut self, bucket: Option<usize>, index: (usize, usize)) -> &mut [Target] {
        let cells = match bucket {
            Some(bucket) => self.series.get_mut(bucket),
            None => Some(&mut self.total),
        };
        cells.map_or(&mut [], |cells| &mut cells[index.0].targets[index.1])
    }

    /// Adds the tallies of a bucket, one per subset.
    pub(super) fn add_bucket(
        &mut self,
        bucket: usize,
        mut tallies: Vec<Tally>,
        layouts: &[TallyLayout],
        subsets: &[Subset],
    ) {
        self.sums.iter_mut().zip(&tallies).for_each(|(sum, tally)| sum.merge(tally));
        if let Some(cells) = self.series.get_mut(bucket) {
            *cells = cells_of(&mut tallies, layouts, subsets);
        }
    }

    /// Computes the sums of all buckets, once every bucket with rows is added.
    pub(super) fn finish_total(&mut self, layouts: &[TallyLayout], subsets: &[Subset]) {
        let mut sums = std::mem::take(&mut self.sums);
        self.total = cells_of(&mut sums, layouts, subsets);
        let histograms = |tally: Tally| tally.numbers.into_iter().map(|number| number.histograms).collect();
        self.histograms = sums.into_iter().map(histograms).collect();
        for cells in self.series.iter_mut().filter(|cells| cells.is_empty()) {
            let mut empty: Vec<Tally> = layouts.iter().map(Tally::new).collect();
            *cells = cells_of(&mut empty, layouts, subsets);
        }
    }
}

fn cells_of(tallies: &mut [Tally], layouts: &[TallyLayout], subsets: &[Subset]) -> Vec<Cells> {
    let each = tallies.iter_mut().zip(layouts.iter().zip(subsets));
    each.map(|(tally, (layout, subset))| Cells::new(tally, layout, subset)).collect()
}
