//! The root of an aggregation.

use std::collections::HashMap;

use crate::error::Result;
use crate::query::aggregate::AggregateResult;
use crate::query::aggregate::calls::{CallTotals, GroupedModels};
use crate::query::aggregate::cells::Results;
use crate::query::aggregate::groups::Groups;
use crate::query::aggregate::leaves::encode::calls_of;
use crate::query::aggregate::leaves::messages::{
    AggregateRequest, Bounds, BucketCount, CountRequest, CountResponse, EmptyRequest, FieldTargets,
    MemoryRequest, NumberRange, NumberedValues, RefineRequest, RefineResponse, StepRequest, StepResponse,
    Summary, Targets, TopValue, TopValues, WholeAggregate,
};
use crate::query::aggregate::leaves::values::GroupValues;
use crate::query::aggregate::passes::FieldRefinement;
use crate::query::aggregate::plan::{Source, Subset, plan, subsets_of_calls};
use crate::query::aggregate::request::Aggregation;
use crate::query::aggregate::response::AggregateBody;
use crate::query::aggregate::tally::{NumberBounds, Tally, TallyLayout, add};
use crate::query::aggregate::time_axis::TimeAxis;
use crate::query::merge::{Merge, Response};
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};
use crate::query::sessions::read_digests;

/// Merges an aggregation.
pub(crate) struct AggregateMerge {
    aggregation: Aggregation,
    subsets: Vec<Subset>,
    sources: Vec<Source>,
    /// The subset of each measure of calls.
    of_measures: Vec<usize>,
    leaves: usize,
    step: Step,
    summaries: Vec<Summary>,
    axis: Option<TimeAxis>,
    groups: Groups,
    models: GroupedModels,
    bounds: Vec<NumberBounds>,
    layouts: Vec<TallyLayout>,
    bytes: Option<u64>,
    counted: Vec<CountResponse>,
    results: Option<Results>,
    /// The fields of this round of refinement, and their counts.
    refined: Vec<FieldCounts>,
    /// The response of the only leaf.
    whole: Option<WholeAggregate>,
}

/// The next request, or the last one sent.
enum Step {
    Prepare,
    Whole,
    Summary,
    Values(usize, Box<GroupValues>),
    Memory,
    Count,
    Refine,
    Done,
}

/// The bins of one field: in total and by bucket.
struct FieldCounts {
    index: (usize, usize),
    refinement: FieldRefinement,
    total: Vec<u64>,
    buckets: HashMap<usize, Vec<u64>>,
}

impl AggregateMerge {
    /// Starts an aggregation over `leaves` leaves.
    pub(crate) fn new(leaves: usize, aggregation: Aggregation) -> Self {
        let (mut subsets, sources) = plan(&aggregation);
        let mut of_measures = Vec::new();
        if aggregation.by_model.is_some() {
            (subsets, of_measures) = subsets_of_calls(&aggregation);
        }
        Self {
            aggregation,
            subsets,
            sources,
            of_measures,
            leaves,
            step: if leaves == 1 { Step::Prepare } else { Step::Summary },
            summaries: Vec::new(),
            axis: None,
            groups: Groups { fields: Vec::new() },
            models: GroupedModels::default(),
            bounds: Vec::new(),
            layouts: Vec::new(),
            bytes: None,
            counted: Vec::new(),
            results: None,
            refined: Vec::new(),
            whole: None,
        }
    }

    fn is_of_calls(&self) -> bool {
        self.aggregation.by_model.is_some()
    }

    fn slots(&self) -> usize {
        if self.is_of_calls() { self.models.names.len() + 1 } else { self.groups.slots() }
    }

    fn buckets(&self) -> usize {
        self.axis.as_ref().map_or(0, |axis| axis.count)
    }

    fn to_all(&self, step: StepRequest) -> Vec<Option<LeafRequest>> {
        vec![Some(LeafRequest::Aggregate(AggregateRequest { step: Some(step) })); self.leaves]
    }

    /// Returns the start times of the oldest and the newest selected row of all leaves.
    fn time_bounds(&self) -> Option<(i64, i64)> {
        let bounds = self.summaries.iter().filter_map(|summary| summary.bounds);
        bounds.map(|own| (own.low, own.high)).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Merges the summaries of all leaves, and returns the next step.
    fn merge_summaries(&mut self) -> Result<Step> {
        self.axis = self.aggregation.time.and_then(|time| TimeAxis::new(time, self.time_bounds()));
        if let Some(limit) = self.aggregation.by_model {
            let mut calls: HashMap<Option<String>, u64> = HashMap::new();
            for model in self.summaries.iter_mut().flat_map(|summary| std::mem::take(&mut summary.models)) {
                *calls.entry(model.name).or_default() += model.calls;
            }
            self.models = GroupedModels::of(calls.into_iter().collect(), limit);
            return Ok(Step::Memory);
        }
        let numbers: usize = self.subsets.iter().map(|subset| subset.numbers.len()).sum();
        let distinct: usize = self.subsets.iter().map(|subset| subset.distinct.len()).sum();
        self.bounds = vec![NumberBounds::NONE; numbers];
        for summary in &self.summaries {
            if summary.numbers.len() != numbers || summary.digests.len() != distinct {
                return Err(unexpected());
            }
            for (own, more) in self.bounds.iter_mut().zip(&summary.numbers) {
                *own = own.and(more.bounds());
            }
        }
        Ok(self.values_of(0))
    }

    /// Returns the step that reads the values of the field to group by at index `field`, or the step after all fields.
    fn values_of(&self, field: usize) -> Step {
        let Some(by) = self.aggregation.by.get(field) else { return Step::Memory };
        Step::Values(field, Box::new(GroupValues::new(self.leaves, *by)))
    }

    /// Returns the requests to count.
    fn count_requests(&mut self) -> Result<Vec<Option<LeafRequest>>> {
        let value = |text: &Option<String>| TopValue { text: text.clone() };
        let top = |values: &[Option<String>], total: usize| TopValues {
            values: values.iter().map(value).collect(),
            total: total as u64,
        };
        let (counts, numbers) = self.number_values()?;
        let mut bounds = self.bounds.iter().copied();
        let mut counts = counts.into_iter();
        let slots = self.slots();
        if !self.is_of_calls() {
            let layout = |subset: &Subset| {
                let bounds: Vec<NumberBounds> = bounds.by_ref().take(subset.numbers.len()).collect();
                let distinct = counts.by_ref().take(subset.distinct.len()).collect();
                TallyLayout::new(slots, subset, &bounds, distinct)
            };
            self.layouts = self.subsets.iter().map(layout).collect();
        }
        let common = CountRequest {
            bounds: self.time_bounds().map(|(low, high)| Bounds { low, high }),
            fields: self.groups.fields.iter().map(|field| top(&field.values, field.total)).collect(),
            models: self.is_of_calls().then(|| top(&self.models.names, self.models.total)),
            numbers: self.bounds.iter().map(|bounds| NumberRange::of(*bounds)).collect(),
            distinct: Vec::new(),
        };
        let of_leaf = |distinct| {
            let step = Some(StepRequest::Count(CountRequest { distinct, ..common.clone() }));
            Some(LeafRequest::Aggregate(AggregateRequest { step }))
        };
        Ok(numbers.into_iter().map(of_leaf).collect())
    }

    /// Numbers the distinct values. Equal values of all leaves have equal numbers. Returns the number of values of each
    /// field, and the numbers for every leaf.
    fn number_values(&self) -> Result<(Vec<usize>, Vec<Vec<NumberedValues>>)> {
        let fields = self.summaries.first().map_or(0, |summary| summary.digests.len());
        let mut of_leaves = vec![Vec::with_capacity(fields); self.leaves];
        let mut counts = Vec::with_capacity(fields);
        for field in 0..fields {
            let mut known: HashMap<u128, u32, ahash::RandomState> = HashMap::default();
            for (summary, of_leaf) in self.summaries.iter().zip(&mut of_leaves) {
                let mut numbers = Vec::new();
                for digest in read_digests(&summary.digests[field]).ok_or_else(unexpected)? {
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    numbers.push(*known.entry(digest).or_insert(next));
                }
                of_leaf.push(NumberedValues { numbers, count: 0 });
            }
            for of_leaf in &mut of_leaves {
                of_leaf[field].count = known.len() as u64;
            }
            counts.push(known.len());
        }
        Ok((counts, of_leaves))
    }

    /// Adds up the counts of all leaves, bucket by bucket.
    fn merge_counts(&mut self) -> Result<()> {
        let mut by_bucket: Vec<Vec<BucketCount>> = Vec::new();
        for bucket in std::mem::take(&mut self.counted).into_iter().flat_map(|counted| counted.buckets) {
            let index = usize::try_from(bucket.index).unwrap_or(usize::MAX);
            if index >= self.buckets().max(1) {
                return Err(unexpected());
            }
            by_bucket.resize_with(by_bucket.len().max(index + 1), Vec::new);
            by_bucket[index].push(bucket);
        }
        let mut results = Results::new(&self.layouts, self.buckets());
        for (index, buckets) in by_bucket.into_iter().enumerate().filter(|(_, buckets)| !buckets.is_empty()) {
            let mut sums: Vec<Tally> = self.layouts.iter().map(Tally::new).collect();
            for bucket in buckets {
                if bucket.tallies.len() != sums.len() {
                    return Err(unexpected());
                }
                for ((sum, tally), layout) in sums.iter_mut().zip(bucket.tallies).zip(&self.layouts) {
                    sum.merge(&tally.tally(layout)?);
                }
            }
            results.add_bucket(index, sums, &self.layouts, &self.subsets);
        }
        results.finish_total(&self.layouts, &self.subsets);
        self.results = Some(results);
        Ok(())
    }

    /// Returns the requests to refine the unresolved quantiles; `None` once all are resolved.
    fn refine_requests(&mut self) -> Option<Vec<Option<LeafRequest>>> {
        let results = self.results.as_ref()?;
        let (mut fields, mut refined) = (Vec::new(), Vec::new());
        for (subset, own) in self.subsets.iter().enumerate() {
            for (number, field) in own.numbers.iter().enumerate().filter(|(_, field)| !field.qs.is_empty()) {
                let index = (subset, number);
                let refinement = FieldRefinement::of_results(results, index, field.targets_per_slot());
                if refinement.is_empty() {
                    continue;
                }
                fields.push(FieldTargets {
                    subset: u32::try_from(subset).unwrap_or(u32::MAX),
                    number: u32::try_from(number).unwrap_or(u32::MAX),
                    total: Some(Targets::of(&results.total[subset].targets[number])),
                    buckets: results
                        .series
                        .iter()
                        .map(|cells| Targets::of(&cells[subset].targets[number]))
                        .collect(),
                });
                let total = vec![0; refinement.of(None).bins()];
                refined.push(FieldCounts { index, refinement, total, buckets: HashMap::new() });
            }
        }
        self.refined = refined;
        (!fields.is_empty()).then(|| self.to_all(StepRequest::Refine(RefineRequest { fields })))
    }

    fn add_refined(&mut self, response: RefineResponse) -> Result<()> {
        if response.fields.len() != self.refined.len() {
            return Err(unexpected());
        }
        for (own, more) in self.refined.iter_mut().zip(response.fields) {
            let total = more.total.map(|bins| bins.numbers(own.total.len())).transpose()?;
            add(&mut own.total, &total.unwrap_or_default());
            for (bucket, bins) in more.buckets.into_iter().zip(more.bins) {
                let bucket = usize::try_from(bucket).unwrap_or(usize::MAX);
                let width = own.refinement.of(Some(bucket)).bins();
                let sums = own.buckets.entry(bucket).or_insert_with(|| vec![0; width]);
                add(sums, &bins.numbers(width)?);
            }
        }
        Ok(())
    }

    /// Narrows the quantiles down by the counts of this round.
    fn narrow(&mut self) {
        let Some(results) = &mut self.results else { return };
        for field in self.refined.drain(..) {
            for (bucket, bins) in &field.buckets {
                field.refinement.narrow(results.targets_of(Some(*bucket), field.index), Some(*bucket), bins);
            }
            field.refinement.narrow(results.targets_of(None, field.index), None, &field.total);
        }
    }

    fn print(&mut self) -> Result<Vec<u8>> {
        let axis = self.axis.as_ref();
        if self.is_of_calls() {
            let (subsets, slots) = (self.subsets.len(), self.slots());
            let mut totals = CallTotals::new(subsets, slots, axis);
            for bucket in self.counted.iter().flat_map(|counted| &counted.buckets) {
                let index = usize::try_from(bucket.index).unwrap_or(usize::MAX);
                totals.add(index, &calls_of(&bucket.calls, subsets, slots)?);
            }
            return totals.print((&self.aggregation, axis), &self.models, &self.of_measures);
        }
        AggregateBody {
            aggregation: &self.aggregation,
            sources: &self.sources,
            axis,
            groups: &self.groups,
            layouts: &self.layouts,
            results: self.results.as_ref().ok_or_else(unexpected)?,
        }
        .print()
    }
}

impl Merge for AggregateMerge {
    fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        let is_of_calls = self.is_of_calls();
        loop {
            match &mut self.step {
                Step::Prepare => {
                    self.step = Step::Whole;
                    return Ok(Some(self.to_all(StepRequest::Prepare(EmptyRequest {}))));
                }
                Step::Whole => {
                    self.step = Step::Done;
                    return Ok(Some(self.to_all(StepRequest::Whole(EmptyRequest {}))));
                }
                Step::Summary if self.summaries.is_empty() => {
                    return Ok(Some(self.to_all(StepRequest::Summary(EmptyRequest {}))));
                }
                Step::Summary => self.step = self.merge_summaries()?,
                Step::Values(field, values) => {
                    if let Some(requests) = values.next_requests() {
                        let message = |request| {
                            LeafRequest::Aggregate(AggregateRequest {
                                step: Some(StepRequest::Values(request)),
                            })
                        };
                        return Ok(Some(requests.into_iter().map(|own| own.map(message)).collect()));
                    }
                    let next = *field + 1;
                    self.groups.fields.push(values.grouped());
                    self.step = self.values_of(next);
                }
                Step::Memory if self.bytes.is_none() => {
                    let (slots, buckets) = (self.slots() as u64, self.buckets() as u64);
                    return Ok(Some(self.to_all(StepRequest::Memory(MemoryRequest { slots, buckets }))));
                }
                Step::Memory => {
                    self.step = Step::Count;
                    return self.count_requests().map(Some);
                }
                Step::Count if is_of_calls => self.step = Step::Done,
                Step::Count => {
                    self.merge_counts()?;
                    self.step = Step::Refine;
                }
                Step::Refine => {
                    self.narrow();
                    match self.refine_requests() {
                        Some(requests) => return Ok(Some(requests)),
                        None => self.step = Step::Done,
                    }
                }
                Step::Done => return Ok(None),
            }
        }
    }

    fn add(&mut self, leaf: usize, response: LeafResponse) -> Result<()> {
        let LeafResponse::Aggregate(response) = response else { return Err(unexpected()) };
        match response.step.ok_or_else(unexpected)? {
            StepResponse::Summary(summary) => self.summaries.push(summary),
            StepResponse::Values(values) => {
                let Step::Values(_, known) = &mut self.step else { return Err(unexpected()) };
                known.add(leaf, values)?;
            }
            StepResponse::Memory(bytes) => {
                self.bytes = Some(self.bytes.unwrap_or_default().saturating_add(bytes));
            }
            StepResponse::Count(counted) => self.counted.push(counted),
            StepResponse::Refine(refined) => self.add_refined(refined)?,
            StepResponse::Whole(whole) => self.whole = Some(whole),
        }
        Ok(())
    }

    fn max_bytes(&self) -> Option<u64> {
        self.bytes
    }

    fn finish(&mut self) -> Result<Response> {
        if let Some(WholeAggregate { data, matched }) = self.whole.take() {
            return Ok(Response::Aggregate(AggregateResult { data, matched }));
        }
        let matched = self.summaries.iter().map(|summary| summary.matched).sum();
        Ok(Response::Aggregate(AggregateResult { data: self.print()?, matched }))
    }
}
