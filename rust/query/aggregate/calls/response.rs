//! The response of an aggregation of model calls as JSON (`docs/reference/api-counts.md#calls-by-model`).

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::error::{Error, Result};
use crate::query::aggregate::calls::groups::{CallGroups, GroupedModels, SumsBySubset, merge};
use crate::query::aggregate::calls::measure::{CallMeasure, CallSums, CallValue};
use crate::query::aggregate::parts::{Part, chunks};
use crate::query::aggregate::passes::rows_of_subsets;
use crate::query::aggregate::request::Aggregation;
use crate::query::aggregate::response::{TimeAxisJson, dollars};
use crate::query::aggregate::time_axis::TimeAxis;
use crate::query::cancellation::CancellationToken;

impl CallGroups {
    /// Counts the calls of every group.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; damage found while an index is rebuilt.
    pub(crate) fn run(
        &self,
        parts: &[Part],
        (aggregation, axis): (&Aggregation, Option<&TimeAxis>),
        cancel: &CancellationToken,
    ) -> Result<Vec<u8>> {
        let rows = rows_of_subsets(parts, &self.subsets, cancel)?;
        let mut totals = CallTotals::new(self.subsets.len(), self.grouped.names.len() + 1, axis);
        self.fold(parts, &chunks(parts, axis), (&rows, cancel), |bucket, chunk| totals.add(bucket, &chunk))?;
        totals.print((aggregation, axis), &self.grouped, &self.of_measures)
    }
}

/// The sums of calls.
pub(crate) struct CallTotals {
    total: SumsBySubset,
    /// By bucket.
    series: Vec<SumsBySubset>,
}

impl CallTotals {
    pub(crate) fn new(subsets: usize, slots: usize, axis: Option<&TimeAxis>) -> Self {
        let none = vec![vec![CallSums::default(); slots]; subsets];
        Self { series: vec![none.clone(); axis.map_or(0, |axis| axis.count)], total: none }
    }

    /// Adds the sums of a bucket.
    pub(crate) fn add(&mut self, bucket: usize, more: &SumsBySubset) {
        for sums in self.series.get_mut(bucket).into_iter().chain([&mut self.total]) {
            sums.iter_mut().zip(more).for_each(|(sums, more)| merge(sums, more));
        }
    }

    /// Returns the response's `data` as JSON. `of_measures` is the subset of each measure.
    ///
    /// # Errors
    /// Never, because numbers and texts serialize without errors.
    pub(crate) fn print(
        &self,
        (aggregation, axis): (&Aggregation, Option<&TimeAxis>),
        grouped: &GroupedModels,
        of_measures: &[usize],
    ) -> Result<Vec<u8>> {
        let Self { total, series } = self;
        let response = CallResponse { aggregation, axis, grouped, of_measures, total, series };
        serde_json::to_vec(&response)
            .map_err(|error| Error::Batch(format!("an aggregation cannot be printed: {error}")))
    }
}

/// The content of a response.
struct CallResponse<'a> {
    aggregation: &'a Aggregation,
    axis: Option<&'a TimeAxis>,
    grouped: &'a GroupedModels,
    of_measures: &'a [usize],
    total: &'a SumsBySubset,
    series: &'a [SumsBySubset],
}

impl Serialize for CallValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => count.serialize(serializer),
            Self::Cost(cost) => cost.and_then(|cost| dollars(cost.into())).serialize(serializer),
        }
    }
}

impl Serialize for CallResponse<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.aggregation.time.is_some() {
            map.serialize_entry("time", &TimeAxisJson(self.axis))?;
        }
        let grouped = self.grouped.names.len();
        let groups: Vec<Group<'_>> = (0..grouped).map(|slot| Group { response: self, slot }).collect();
        map.serialize_entry("groups", &groups)?;
        if self.grouped.total > grouped {
            map.serialize_entry("other", &Group { response: self, slot: grouped })?;
        }
        map.serialize_entry("groups_total", &self.grouped.total)?;
        map.serialize_entry("values_total", &serde_json::json!({"model": self.grouped.total}))?;
        map.end()
    }
}

/// The calls of one model, or of all other models.
struct Group<'a> {
    response: &'a CallResponse<'a>,
    slot: usize,
}

impl Group<'_> {
    fn values(&self, sums: &SumsBySubset) -> impl Iterator<Item = (&str, CallValue)> {
        let Self { response, slot } = self;
        let measures = response.aggregation.measures.iter().zip(response.of_measures);
        let values = measures.filter_map(|(measure, subset)| {
            let value = sums[*subset][*slot].value(CallMeasure::of(measure.operation)?);
            Some((measure.name.as_str(), value))
        });
        values.collect::<Vec<_>>().into_iter()
    }
}

impl Serialize for Group<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self { response, slot } = self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(name) = response.grouped.names.get(*slot) {
            map.serialize_entry("by", &serde_json::json!({"model": name}))?;
        }
        map.serialize_entry("total", &Members(self.values(response.total).collect()))?;
        if response.aggregation.time.is_some() {
            let buckets: Vec<Vec<(&str, CallValue)>> =
                response.series.iter().map(|bucket| self.values(bucket).collect()).collect();
            let series = response.aggregation.measures.iter().enumerate().map(|(position, measure)| {
                let values: Vec<CallValue> = buckets.iter().map(|bucket| bucket[position].1).collect();
                (measure.name.as_str(), values)
            });
            map.serialize_entry("series", &Members(series.collect()))?;
        }
        map.end()
    }
}

/// The members of an object.
struct Members<'a, T>(Vec<(&'a str, T)>);

impl<T: Serialize> Serialize for Members<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (*name, value)))
    }
}
