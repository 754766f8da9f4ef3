//! Plans the work of the measures. Measures with the same `where` share their rows, and measures of the same field
//! their values.

use crate::filter::Filter;
use crate::query::aggregate::measure::{Bins, Measure, Operation};
use crate::query::aggregate::request::Aggregation;
use crate::schema::Field;
use crate::trace::cost::{CostField, TraceNumber};

/// The traces that one `where` matches and that have a cost if one is needed, and the results to compute for them.
#[derive(Debug, Default, Clone)]
pub(super) struct Subset {
    /// `None` for all traces.
    pub(super) condition: Option<Filter>,
    /// The cost that these traces must have; `None` if they need no cost.
    pub(super) cost: Option<CostField>,
    pub(super) numbers: Vec<NumberField>,
    /// The fields to count distinct values of.
    pub(super) distinct: Vec<Field>,
}

/// A number field, and the results to compute for it.
#[derive(Debug, Clone)]
pub(super) struct NumberField {
    pub(super) number: TraceNumber,
    /// True if the sum, the minimum or the maximum is needed.
    pub(super) has_stats: bool,
    pub(super) qs: Vec<f64>,
    pub(super) histograms: Vec<Bins>,
}

/// The source of a measure's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) subset: usize,
    pub(super) value: SourceValue,
}

/// A value of a subset. The positions refer to [`Subset::distinct`], [`Subset::numbers`], [`NumberField::qs`] and
/// [`NumberField::histograms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceValue {
    Count,
    Distinct(usize),
    Sum(usize),
    Avg(usize),
    Min(usize),
    Max(usize),
    Quantile(usize, usize),
    Histogram(usize, usize),
}

/// Returns the subsets of an aggregation, all traces first, and the source of every measure.
pub(super) fn plan(aggregation: &Aggregation) -> (Vec<Subset>, Vec<Source>) {
    let mut subsets = vec![Subset::default()];
    let mut known: Vec<(Option<&str>, Option<CostField>)> = vec![(None, None)];
    let sources = aggregation.measures.iter().map(|measure| {
        let text = measure.condition.as_ref().map(|(_, text)| text.as_str());
        let cost = measure.operation.number().and_then(TraceNumber::cost);
        let subset = known.iter().position(|own| *own == (text, cost)).unwrap_or_else(|| {
            known.push((text, cost));
            let condition = measure.condition.as_ref().map(|(condition, _)| condition.clone());
            subsets.push(Subset { condition, cost, ..Subset::default() });
            subsets.len() - 1
        });
        Source { subset, value: subsets[subset].add(measure) }
    });
    let sources = sources.collect();
    (subsets, sources)
}

/// Returns the subsets of an aggregation of model calls, all traces first, and the subset of every measure.
pub(super) fn subsets_of_calls(aggregation: &Aggregation) -> (Vec<Subset>, Vec<usize>) {
    let mut subsets = vec![Subset::default()];
    let mut known: Vec<Option<&str>> = vec![None];
    let of_measures = aggregation.measures.iter().map(|measure| {
        let text = measure.condition.as_ref().map(|(_, text)| text.as_str());
        known.iter().position(|own| *own == text).unwrap_or_else(|| {
            known.push(text);
            let condition = measure.condition.as_ref().map(|(condition, _)| condition.clone());
            subsets.push(Subset { condition, ..Subset::default() });
            subsets.len() - 1
        })
    });
    let of_measures = of_measures.collect();
    (subsets, of_measures)
}

impl NumberField {
    /// Returns the number of targets per group: two per quantile.
    pub(super) fn targets_per_slot(&self) -> usize {
        2 * self.qs.len()
    }
}

impl Subset {
    fn add(&mut self, measure: &Measure) -> SourceValue {
        match measure.operation {
            Operation::Count => SourceValue::Count,
            Operation::CountDistinct(field) => SourceValue::Distinct(position(&mut self.distinct, field)),
            Operation::Sum(field) => SourceValue::Sum(self.stats(field)),
            Operation::Avg(field) => SourceValue::Avg(self.stats(field)),
            Operation::Min(field) => SourceValue::Min(self.stats(field)),
            Operation::Max(field) => SourceValue::Max(self.stats(field)),
            Operation::Quantile(field, q) => {
                let number = self.number(field);
                SourceValue::Quantile(number, position(&mut self.numbers[number].qs, q))
            }
            Operation::Histogram(field, bins) => {
                let number = self.number(field);
                SourceValue::Histogram(number, position(&mut self.numbers[number].histograms, bins))
            }
        }
    }

    fn stats(&mut self, field: TraceNumber) -> usize {
        let number = self.number(field);
        self.numbers[number].has_stats = true;
        number
    }

    fn number(&mut self, number: TraceNumber) -> usize {
        self.numbers.iter().position(|own| own.number == number).unwrap_or_else(|| {
            self.numbers.push(NumberField {
                number,
                has_stats: false,
                qs: Vec::new(),
                histograms: Vec::new(),
            });
            self.numbers.len() - 1
        })
    }
}

/// Returns the position of an item, which is added if it is missing.
fn position<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    items.iter().position(|own| *own == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}
