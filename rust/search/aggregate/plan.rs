//! What is computed of which rows: measures that have the same `where`, and those of the same field, share their work.

use super::request::{Aggregation, Bins, Measure, Operation};
use crate::filter::Filter;
use crate::schema::Field;

/// The traces of one `where`, and what is computed of them.
#[derive(Debug, Default)]
pub(super) struct Subset {
    /// `None` for all traces.
    pub(super) condition: Option<Filter>,
    pub(super) numbers: Vec<NumberField>,
    /// The fields whose distinct values are counted.
    pub(super) distinct: Vec<Field>,
}

/// A field of numbers, and what is computed of it.
#[derive(Debug)]
pub(super) struct NumberField {
    pub(super) field: Field,
    /// Whether sums, least and greatest values are wanted.
    pub(super) has_stats: bool,
    pub(super) qs: Vec<f64>,
    pub(super) histograms: Vec<Bins>,
}

/// Where the value of a measure is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) subset: usize,
    pub(super) value: SourceValue,
}

/// A value of a subset. Positions are those of [`Subset::distinct`], [`Subset::numbers`], [`NumberField::qs`] and
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
    let mut texts: Vec<Option<&str>> = vec![None];
    let sources = aggregation.measures.iter().map(|measure| {
        let text = measure.condition.as_ref().map(|(_, text)| text.as_str());
        let subset = texts.iter().position(|known| *known == text).unwrap_or_else(|| {
            texts.push(text);
            let condition = measure.condition.as_ref().map(|(condition, _)| condition.clone());
            subsets.push(Subset { condition, ..Subset::default() });
            subsets.len() - 1
        });
        Source { subset, value: subsets[subset].add(measure) }
    });
    let sources = sources.collect();
    (subsets, sources)
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

    fn stats(&mut self, field: Field) -> usize {
        let number = self.number(field);
        self.numbers[number].has_stats = true;
        number
    }

    fn number(&mut self, field: Field) -> usize {
        self.numbers.iter().position(|number| number.field == field).unwrap_or_else(|| {
            self.numbers.push(NumberField {
                field,
                has_stats: false,
                qs: Vec::new(),
                histograms: Vec::new(),
            });
            self.numbers.len() - 1
        })
    }
}

/// Returns the position of an item, which is added if it is not there.
fn position<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    items.iter().position(|own| *own == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}
