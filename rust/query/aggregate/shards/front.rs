//! The front door's side of an aggregation.

use std::collections::HashMap;

use crate::error::Result;
use crate::query::aggregate::AggregateResult;
use crate::query::aggregate::calls::{CallTotals, KeptModels};
use crate::query::aggregate::cells::Results;
use crate::query::aggregate::groups::Groups;
use crate::query::aggregate::passes::FieldRefinement;
use crate::query::aggregate::plan::{Source, Subset, plan, subsets_of_calls};
use crate::query::aggregate::request::Aggregation;
use crate::query::aggregate::response::AggregateBody;
use crate::query::aggregate::shards::encode::calls_of;
use crate::query::aggregate::shards::values::GroupValues;
use crate::query::aggregate::shards::wire::{
    AggregateRequest, Bounds, BucketCount, CountRequest, Counted, FieldTargets, KeptValue, KeptValues,
    MemoryRequest, NumberRange, NumberedValues, RefineRequest, Refined, Shape, ShapeRequest, StepRequest,
    StepResponse, Targets, WholeAggregate,
};
use crate::query::aggregate::tally::{NumberBounds, Tally, TallyLayout, add};
use crate::query::aggregate::time_axis::TimeAxis;
use crate::query::merge::{Merge, Response};
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};
use crate::query::sessions::read_digests;

/// An aggregation over shards.
pub(in crate::query) struct AggregateMerge {
    aggregation: Aggregation,
    subsets: Vec<Subset>,
    sources: Vec<Source>,
    /// The subset of each measure of calls.
    of_measures: Vec<usize>,
    shards: usize,
    step: Step,
    shapes: Vec<Shape>,
    axis: Option<TimeAxis>,
    groups: Groups,
    models: KeptModels,
    bounds: Vec<NumberBounds>,
    layouts: Vec<TallyLayout>,
    bytes: Option<u64>,
    counted: Vec<Counted>,
    results: Option<Results>,
    /// What is refined in this round, and what was counted of it: of all buckets together, and of each.
    refined: Vec<FieldCounts>,
    /// The response of the only leaf.
    whole: Option<WholeAggregate>,
}

/// What is asked next, or was asked last.
enum Step {
    Prepare,
    Whole,
    Shape,
    Values(usize, Box<GroupValues>),
    Memory,
    Count,
    Refine,
    Done,
}

/// The bins of one field.
struct FieldCounts {
    place: (usize, usize),
    refinement: FieldRefinement,
    total: Vec<u64>,
    buckets: HashMap<usize, Vec<u64>>,
}

impl AggregateMerge {
    /// Aggregates over `shards` shards.
    pub(in crate::query) fn new(shards: usize, aggregation: Aggregation) -> Self {
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
            shards,
            step: if shards == 1 { Step::Prepare } else { Step::Shape },
            shapes: Vec::new(),
            axis: None,
            groups: Groups { fields: Vec::new() },
            models: KeptModels::default(),
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

    fn everyone(&self, step: StepRequest) -> Vec<Option<LeafRequest>> {
        vec![Some(LeafRequest::Aggregate(AggregateRequest { step: Some(step) })); self.shards]
    }

    /// Returns when the oldest and the newest selected row of all shards start.
    fn time_bounds(&self) -> Option<(i64, i64)> {
        let bounds = self.shapes.iter().filter_map(|shape| shape.bounds);
        bounds.map(|own| (own.low, own.high)).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Adds up what shards have selected.
    fn take_shapes(&mut self) -> Result<Step> {
        self.axis = self.aggregation.time.and_then(|time| TimeAxis::new(time, self.time_bounds()));
        if let Some(limit) = self.aggregation.by_model {
            let mut calls: HashMap<Option<String>, u64> = HashMap::new();
            for model in self.shapes.iter_mut().flat_map(|shape| std::mem::take(&mut shape.models)) {
                *calls.entry(model.name).or_default() += model.calls;
            }
            self.models = KeptModels::of(calls.into_iter().collect(), limit);
            return Ok(Step::Memory);
        }
        let numbers: usize = self.subsets.iter().map(|subset| subset.numbers.len()).sum();
        let distinct: usize = self.subsets.iter().map(|subset| subset.distinct.len()).sum();
        self.bounds = vec![NumberBounds::NONE; numbers];
        for shape in &self.shapes {
            if shape.numbers.len() != numbers || shape.digests.len() != distinct {
                return Err(unexpected());
            }
            for (own, more) in self.bounds.iter_mut().zip(&shape.numbers) {
                *own = own.and(more.bounds());
            }
        }
        Ok(self.values_of(0))
    }

    /// Returns the step that finds the values of the field to group by that is number `field`, if there is one.
    fn values_of(&self, field: usize) -> Step {
        let Some(by) = self.aggregation.by.get(field) else { return Step::Memory };
        Step::Values(field, Box::new(GroupValues::new(self.shards, *by)))
    }

    /// Returns what to count by, for each shard.
    fn ask_to_count(&mut self) -> Result<Vec<Option<LeafRequest>>> {
        let value = |text: &Option<String>| KeptValue { text: text.clone() };
        let kept = |values: &[Option<String>], total: usize| KeptValues {
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
        let asked = CountRequest {
            bounds: self.time_bounds().map(|(low, high)| Bounds { low, high }),
            fields: self.groups.fields.iter().map(|field| kept(&field.values, field.total)).collect(),
            models: self.is_of_calls().then(|| kept(&self.models.names, self.models.total)),
            numbers: self.bounds.iter().map(|bounds| NumberRange::of(*bounds)).collect(),
            distinct: Vec::new(),
        };
        let of_shard = |distinct| {
            let step = Some(StepRequest::Count(CountRequest { distinct, ..asked.clone() }));
            Some(LeafRequest::Aggregate(AggregateRequest { step }))
        };
        Ok(numbers.into_iter().map(of_shard).collect())
    }

    /// Numbers the values that are counted: equal ones of all shards alike. Returns how many there are of each field, and the
    /// numbers of every shard.
    fn number_values(&self) -> Result<(Vec<usize>, Vec<Vec<NumberedValues>>)> {
        let fields = self.shapes.first().map_or(0, |shape| shape.digests.len());
        let mut of_shards = vec![Vec::with_capacity(fields); self.shards];
        let mut counts = Vec::with_capacity(fields);
        for field in 0..fields {
            let mut known: HashMap<u128, u32, ahash::RandomState> = HashMap::default();
            for (shape, of_shard) in self.shapes.iter().zip(&mut of_shards) {
                let mut numbers = Vec::new();
                for digest in read_digests(&shape.digests[field]).ok_or_else(unexpected)? {
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    numbers.push(*known.entry(digest).or_insert(next));
                }
                of_shard.push(NumberedValues { numbers, count: 0 });
            }
            for of_shard in &mut of_shards {
                of_shard[field].count = known.len() as u64;
            }
            counts.push(known.len());
        }
        Ok((counts, of_shards))
    }

    /// Adds up what shards have counted, bucket by bucket.
    fn take_counts(&mut self) -> Result<()> {
        let mut by_bucket: Vec<Vec<BucketCount>> = Vec::new();
        for bucket in std::mem::take(&mut self.counted).into_iter().flat_map(|counted| counted.buckets) {
            let place = usize::try_from(bucket.place).unwrap_or(usize::MAX);
            if place >= self.buckets().max(1) {
                return Err(unexpected());
            }
            by_bucket.resize_with(by_bucket.len().max(place + 1), Vec::new);
            by_bucket[place].push(bucket);
        }
        let mut results = Results::new(&self.layouts, self.buckets());
        for (place, buckets) in by_bucket.into_iter().enumerate().filter(|(_, buckets)| !buckets.is_empty()) {
            let mut sums: Vec<Tally> = self.layouts.iter().map(Tally::new).collect();
            for bucket in buckets {
                if bucket.tallies.len() != sums.len() {
                    return Err(unexpected());
                }
                for ((sum, tally), layout) in sums.iter_mut().zip(bucket.tallies).zip(&self.layouts) {
                    sum.merge(&tally.tally(layout)?);
                }
            }
            results.finish(place, sums, &self.layouts, &self.subsets);
        }
        results.finish_total(&self.layouts, &self.subsets);
        self.results = Some(results);
        Ok(())
    }

    /// Returns the quantiles that are to be refined; none once all are found.
    fn ask_to_refine(&mut self) -> Option<Vec<Option<LeafRequest>>> {
        let results = self.results.as_ref()?;
        let (mut fields, mut refined) = (Vec::new(), Vec::new());
        for (subset, own) in self.subsets.iter().enumerate() {
            for (number, field) in own.numbers.iter().enumerate().filter(|(_, field)| !field.qs.is_empty()) {
                let place = (subset, number);
                let refinement = FieldRefinement::of_results(results, place, field.targets_per_slot());
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
                refined.push(FieldCounts { place, refinement, total, buckets: HashMap::new() });
            }
        }
        self.refined = refined;
        (!fields.is_empty()).then(|| self.everyone(StepRequest::Refine(RefineRequest { fields })))
    }

    fn take_refined(&mut self, answer: Refined) -> Result<()> {
        if answer.fields.len() != self.refined.len() {
            return Err(unexpected());
        }
        for (own, more) in self.refined.iter_mut().zip(answer.fields) {
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

    /// Narrows the quantiles down by what was counted.
    fn narrow(&mut self) {
        let Some(results) = &mut self.results else { return };
        for field in self.refined.drain(..) {
            for (bucket, bins) in &field.buckets {
                field.refinement.narrow(results.targets_of(Some(*bucket), field.place), Some(*bucket), bins);
            }
            field.refinement.narrow(results.targets_of(None, field.place), None, &field.total);
        }
    }

    fn print(&mut self) -> Result<Vec<u8>> {
        let axis = self.axis.as_ref();
        if self.is_of_calls() {
            let (subsets, slots) = (self.subsets.len(), self.slots());
            let mut totals = CallTotals::new(subsets, slots, axis);
            for bucket in self.counted.iter().flat_map(|counted| &counted.buckets) {
                let place = usize::try_from(bucket.place).unwrap_or(usize::MAX);
                totals.add(place, &calls_of(&bucket.calls, subsets, slots)?);
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
                    return Ok(Some(self.everyone(StepRequest::Prepare(ShapeRequest {}))));
                }
                Step::Whole => {
                    self.step = Step::Done;
                    return Ok(Some(self.everyone(StepRequest::Whole(ShapeRequest {}))));
                }
                Step::Shape if self.shapes.is_empty() => {
                    return Ok(Some(self.everyone(StepRequest::Shape(ShapeRequest {}))));
                }
                Step::Shape => self.step = self.take_shapes()?,
                Step::Values(field, values) => {
                    if let Some(wanted) = values.wanted() {
                        let asked = |asked| {
                            LeafRequest::Aggregate(AggregateRequest {
                                step: Some(StepRequest::Values(asked)),
                            })
                        };
                        return Ok(Some(wanted.into_iter().map(|own| own.map(asked)).collect()));
                    }
                    let next = *field + 1;
                    self.groups.fields.push(values.grouped());
                    self.step = self.values_of(next);
                }
                Step::Memory if self.bytes.is_none() => {
                    let (slots, buckets) = (self.slots() as u64, self.buckets() as u64);
                    return Ok(Some(self.everyone(StepRequest::Memory(MemoryRequest { slots, buckets }))));
                }
                Step::Memory => {
                    self.step = Step::Count;
                    return self.ask_to_count().map(Some);
                }
                Step::Count if is_of_calls => self.step = Step::Done,
                Step::Count => {
                    self.take_counts()?;
                    self.step = Step::Refine;
                }
                Step::Refine => {
                    self.narrow();
                    match self.ask_to_refine() {
                        Some(asked) => return Ok(Some(asked)),
                        None => self.step = Step::Done,
                    }
                }
                Step::Done => return Ok(None),
            }
        }
    }

    fn add(&mut self, shard: usize, answered: LeafResponse) -> Result<()> {
        let LeafResponse::Aggregate(answer) = answered else { return Err(unexpected()) };
        match answer.step.ok_or_else(unexpected)? {
            StepResponse::Shape(shape) => self.shapes.push(shape),
            StepResponse::Values(values) => {
                let Step::Values(_, found) = &mut self.step else { return Err(unexpected()) };
                found.take(shard, values)?;
            }
            StepResponse::Memory(bytes) => {
                self.bytes = Some(self.bytes.unwrap_or_default().saturating_add(bytes));
            }
            StepResponse::Count(counted) => self.counted.push(counted),
            StepResponse::Refine(refined) => self.take_refined(refined)?,
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
        let matched = self.shapes.iter().map(|shape| shape.matched).sum();
        Ok(Response::Aggregate(AggregateResult { data: self.print()?, matched }))
    }
}
