//! The response of an aggregation as JSON (`docs/reference/api-counts.md#aggregate`).

use std::cmp::Reverse;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::query::aggregate::cells::{Cells, Results};
use crate::query::aggregate::groups::Groups;
use crate::query::aggregate::measure::{Measure, Operation};
use crate::query::aggregate::plan::{Source, SourceValue};
use crate::query::aggregate::quantile::interpolated;
use crate::query::aggregate::request::Aggregation;
use crate::query::aggregate::tally::TallyLayout;
use crate::query::aggregate::time_axis::TimeAxis;
use crate::time::write_instant;
use crate::trace::cost::{NANOS_PER_DOLLAR, format_dollars};

/// The content of a response.
pub(super) struct AggregateBody<'a> {
    pub(super) aggregation: &'a Aggregation,
    pub(super) sources: &'a [Source],
    pub(super) axis: Option<&'a TimeAxis>,
    pub(super) groups: &'a Groups,
    pub(super) layouts: &'a [TallyLayout],
    pub(super) results: &'a Results,
}

/// The value of a measure in a cell.
enum MeasureValue {
    Count(u64),
    Whole(i128),
    Floating(f64),
    /// Nanodollars, printed as dollars.
    Dollars(i128),
    None,
}

impl Serialize for MeasureValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => count.serialize(serializer),
            Self::Whole(number) => number.serialize(serializer),
            Self::Floating(number) => number.serialize(serializer),
            Self::Dollars(cost) => dollars(*cost).serialize(serializer),
            Self::None => serializer.serialize_none(),
        }
    }
}

/// Returns nanodollars as a JSON number of dollars.
pub(super) fn dollars(cost: i128) -> Option<Box<RawValue>> {
    RawValue::from_string(format_dollars(cost)).ok()
}

impl Serialize for AggregateBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.aggregation.time.is_some() {
            map.serialize_entry("time", &TimeAxisJson(self.axis))?;
        }
        let (groups, other) = self.slots();
        map.serialize_entry("groups", &groups)?;
        if let Some(slot) = other {
            map.serialize_entry("other", &Group { response: self, slot, is_named: false })?;
        }
        match self.groups.fields.as_slice() {
            [] => map.serialize_entry("groups_total", &1)?,
            [field] => map.serialize_entry("groups_total", &field.total)?,
            _ => {}
        }
        if !self.groups.fields.is_empty() {
            map.serialize_entry("values_total", &ValuesTotal(self.groups))?;
        }
        map.end()
    }
}

impl<'a> AggregateBody<'a> {
    /// Returns the response's `data` as JSON.
    ///
    /// # Errors
    /// Never, because numbers and texts serialize without errors.
    pub(super) fn print(&self) -> crate::error::Result<Vec<u8>> {
        serde_json::to_vec(self)
            .map_err(|error| Error::Batch(format!("an aggregation cannot be printed: {error}")))
    }

    /// Returns the slots that have rows, in order, and the slot of the values beyond every limit, if it has rows.
    fn slots(&'a self) -> (Vec<Group<'a>>, Option<usize>) {
        let counts = &self.results.total[0].counts;
        let is_other = |slot: usize| {
            !self.groups.fields.is_empty() && self.groups.positions_of(slot).iter().all(Option::is_none)
        };
        let has_rows = |slot: &usize| counts[*slot] > 0 || self.groups.fields.is_empty();
        let (other, mut slots): (Vec<usize>, Vec<usize>) =
            (0..counts.len()).filter(has_rows).partition(|slot| is_other(*slot));
        slots.sort_by_cached_key(|slot| (Reverse(counts[*slot]), self.sort_key(*slot)));
        let groups = slots.into_iter().map(|slot| Group { response: self, slot, is_named: true });
        (groups.collect(), other.first().copied())
    }

    /// Returns the sort key of groups with the same number of rows: values ascending, then a missing value, then all
    /// other values.
    fn sort_key(&self, slot: usize) -> Vec<(u8, Option<&str>)> {
        let positions = self.groups.positions_of(slot).into_iter().zip(&self.groups.fields);
        let key = positions.map(|(position, field)| match position.map(|position| &field.values[position]) {
            Some(Some(text)) => (0, Some(text.as_str())),
            Some(None) => (1, None),
            None => (2, None),
        });
        key.collect()
    }

    /// Returns the value of a measure; [`MeasureValue::None`] for a histogram.
    #[allow(clippy::cast_precision_loss, reason = "an average is floating-point")]
    fn value((measure, source): (&Measure, &Source), cells: &[Cells], slot: usize) -> MeasureValue {
        let cells = &cells[source.subset];
        let count = cells.counts[slot];
        let stats = |number: usize| &cells.stats[number][slot];
        let is_cost = measure.operation.number().is_some_and(|number| number.cost().is_some());
        let whole =
            |number: i128| if is_cost { MeasureValue::Dollars(number) } else { MeasureValue::Whole(number) };
        let unit = if is_cost { NANOS_PER_DOLLAR as f64 } else { 1.0 };
        match source.value {
            SourceValue::Count => MeasureValue::Count(count),
            SourceValue::Distinct(field) => MeasureValue::Count(cells.distinct[field][slot]),
            SourceValue::Sum(number) => whole(stats(number).sum),
            _ if count == 0 => MeasureValue::None,
            SourceValue::Avg(number) => {
                MeasureValue::Floating(stats(number).sum as f64 / count as f64 / unit)
            }
            SourceValue::Min(number) => whole(stats(number).min.into()),
            SourceValue::Max(number) => whole(stats(number).max.into()),
            SourceValue::Quantile(number, quantile) => {
                let Operation::Quantile(_, q) = measure.operation else { return MeasureValue::None };
                let targets = &cells.targets[number];
                let per_slot = targets.len() / cells.counts.len();
                let first = slot * per_slot + 2 * quantile;
                MeasureValue::Floating(interpolated(q, count, [targets[first], targets[first + 1]]) / unit)
            }
            SourceValue::Histogram(..) => MeasureValue::None,
        }
    }

    /// Returns the histograms, or all other measures.
    fn measures(&self, is_histogram: bool) -> impl Iterator<Item = (&'a Measure, &'a Source)> {
        let measures = self.aggregation.measures.iter().zip(self.sources);
        measures
            .filter(move |(measure, _)| matches!(measure.operation, Operation::Histogram(..)) == is_histogram)
    }
}

/// The time axis. It has no buckets if its range is unknown.
pub(super) struct TimeAxisJson<'a>(pub(super) Option<&'a TimeAxis>);

impl Serialize for TimeAxisJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instant = |micros: i64| {
            let mut text = String::new();
            write_instant(&mut text, micros);
            text
        };
        let mut map = serializer.serialize_map(None)?;
        let Some(axis) = self.0 else {
            map.serialize_entry("starts", &[(); 0])?;
            return map.end();
        };
        map.serialize_entry("interval_ms", &(axis.interval / 1_000))?;
        map.serialize_entry("from", &instant(axis.range.start))?;
        map.serialize_entry("to", &instant(axis.range.end))?;
        let starts: Vec<String> = (0..axis.count).map(|bucket| instant(axis.start(bucket))).collect();
        map.serialize_entry("starts", &starts)?;
        let (first, last) = axis.partial_ends();
        map.serialize_entry("first_cut", &first)?;
        map.serialize_entry("last_cut", &last)?;
        map.end()
    }
}

struct ValuesTotal<'a>(&'a Groups);

impl Serialize for ValuesTotal<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.fields.iter().map(|field| (field.field.key(), field.total)))
    }
}

/// A group, with its values if it is named.
struct Group<'a> {
    response: &'a AggregateBody<'a>,
    slot: usize,
    is_named: bool,
}

impl Serialize for Group<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { response, slot, is_named } = *self;
        let mut map = serializer.serialize_map(None)?;
        if is_named {
            let fields = &response.groups.fields;
            let (named, beyond): (Vec<_>, Vec<_>) = fields
                .iter()
                .zip(response.groups.positions_of(slot))
                .map(|(field, position)| {
                    (field.field.key(), position.map(|position| &field.values[position]))
                })
                .partition(|(_, value)| value.is_some());
            map.serialize_entry("by", &Members(|| named.iter().map(|(key, value)| (*key, *value))))?;
            if !beyond.is_empty() {
                map.serialize_entry("other", &beyond.iter().map(|(key, _)| *key).collect::<Vec<_>>())?;
            }
        }
        let total = &response.results.total;
        let numbers = || response.measures(false);
        map.serialize_entry(
            "total",
            &Members(|| numbers().map(|of| (of.0.name.as_str(), AggregateBody::value(of, total, slot)))),
        )?;
        if response.aggregation.time.is_some() {
            let series = |of| {
                let values =
                    response.results.series.iter().map(|bucket| AggregateBody::value(of, bucket, slot));
                values.collect::<Vec<_>>()
            };
            map.serialize_entry("series", &Members(|| numbers().map(|of| (of.0.name.as_str(), series(of)))))?;
        }
        if response.measures(true).next().is_some() {
            let histogram = |(own, source): (&'_ Measure, &Source)| {
                let is_cost = own.operation.number().is_some_and(|number| number.cost().is_some());
                Histogram { response, is_cost, source: *source, slot }
            };
            let histograms = || response.measures(true).map(|of| (of.0.name.as_str(), histogram(of)));
            map.serialize_entry("histograms", &Members(histograms))?;
        }
        map.end()
    }
}

/// The members of an object. Each call returns a new iterator.
struct Members<F>(F);

impl<F, I, K, V> Serialize for Members<F>
where
    F: Fn() -> I,
    I: Iterator<Item = (K, V)>,
    K: Serialize,
    V: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map((self.0)())
    }
}

/// One histogram of a slot.
struct Histogram<'a> {
    response: &'a AggregateBody<'a>,
    is_cost: bool,
    source: Source,
    slot: usize,
}

impl Serialize for Histogram<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let SourceValue::Histogram(number, histogram) = self.source.value {
            let layout = &self.response.layouts[self.source.subset].numbers[number];
            let edges = &layout.histograms[histogram];
            let counters = &self.response.results.histograms[self.source.subset][number][histogram];
            let own = &counters[self.slot * edges.counters()..][..edges.counters()];
            if self.is_cost {
                let edges: Vec<_> = edges.edges().iter().map(|edge| dollars(*edge)).collect();
                map.serialize_entry("edges", &edges)?;
            } else {
                map.serialize_entry("edges", edges.edges())?;
            }
            if let [below, counts @ .., above] = own {
                map.serialize_entry("counts", counts)?;
                if edges.is_given() {
                    map.serialize_entry("below", below)?;
                    map.serialize_entry("above", above)?;
                }
            }
        }
        map.end()
    }
}
