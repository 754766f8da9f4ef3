//! One leaf of an aggregation over several leaves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bitmap::LiveRows;
use crate::error::Result;
use crate::query::aggregate::calls::{CallGroups, GroupedModels};
use crate::query::aggregate::groups::{GroupedField, Groups};
use crate::query::aggregate::leaves::encode::numbers_of;
use crate::query::aggregate::leaves::messages::{
    AggregateRequest, AggregateResponse, Bounds, BucketCount, CountRequest, CountResponse, MemoryRequest,
    ModelCalls, NumberRange, RefineRequest, RefineResponse, RefinedBins, Sparse, StepRequest, StepResponse,
    Summary, TallyMessage, TopValues, Values, ValuesRequest,
};
use crate::query::aggregate::leaves::values::values_of;
use crate::query::aggregate::memory::AggregationMemory;
use crate::query::aggregate::parts::{Chunk, Part, bounds, chunks, select_parts};
use crate::query::aggregate::passes::{FieldRefinement, Scan, rows_of_subsets};
use crate::query::aggregate::plan::{Subset, plan};
use crate::query::aggregate::request::{Aggregation, By};
use crate::query::aggregate::tally::{NumberBounds, TallyLayout};
use crate::query::aggregate::texts::{UsedTexts, ValueNumbers, merge, used_texts};
use crate::query::aggregate::time_axis::TimeAxis;
use crate::query::cancellation::CancellationToken;
use crate::query::messages::unexpected;
use crate::query::sessions::digest;
use crate::schema::Field;
use crate::storage::Snapshot;

/// An aggregation in the snapshot of one leaf of several.
pub(crate) struct PartialAggregation {
    aggregation: Aggregation,
    subsets: Vec<Subset>,
    parts: Vec<Part>,
    /// The rows of every subset except the first, by part.
    rows: Vec<Vec<LiveRows>>,
    /// The model calls, with each model in a group of its own, if calls are measured instead of traces.
    calls: Mutex<Option<CallGroups>>,
    /// The used texts of each field to group by.
    used: Mutex<HashMap<Field, Arc<Vec<UsedTexts>>>>,
    counting: Mutex<Option<Arc<Counting>>>,
}

/// The groups, buckets and bins that are the same on all leaves.
struct Counting {
    groups: Groups,
    numbered: Vec<Vec<ValueNumbers>>,
    chunks: Vec<Chunk>,
    layouts: Vec<TallyLayout>,
}

impl PartialAggregation {
    /// Selects the rows of a snapshot.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`]; [`crate::error::Error::TooLarge`] if too many documents must be checked;
    /// damage found while an index is rebuilt.
    pub(crate) fn new(
        snapshot: &Snapshot,
        aggregation: Aggregation,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let parts = select_parts(snapshot, &aggregation, cancel)?;
        let is_of_calls = aggregation.by_model.is_some();
        let calls = is_of_calls.then(|| CallGroups::read(&parts, &aggregation, cancel)).transpose()?;
        let subsets = match &calls {
            Some(calls) => calls.subsets.clone(),
            None => plan(&aggregation).0,
        };
        let rows = rows_of_subsets(&parts, &subsets, cancel)?;
        let (calls, used, counting) = (Mutex::new(calls), Mutex::default(), Mutex::default());
        Ok(Self { aggregation, subsets, parts, rows, calls, used, counting })
    }

    /// Returns the response to one step.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`]; [`crate::error::Error::Busy`] if the request is invalid or does not fit the
    /// earlier ones.
    pub(crate) fn respond(
        &self,
        request: &AggregateRequest,
        cancel: &CancellationToken,
    ) -> Result<AggregateResponse> {
        let step = match request.step.as_ref().ok_or_else(unexpected)? {
            StepRequest::Summary(_) => StepResponse::Summary(self.summary(cancel)?),
            StepRequest::Values(request) => StepResponse::Values(self.values(request, cancel)?),
            StepRequest::Memory(request) => StepResponse::Memory(self.memory(request)),
            StepRequest::Count(request) => StepResponse::Count(self.count(request, cancel)?),
            StepRequest::Refine(request) => StepResponse::Refine(self.refine(request, cancel)?),
            // Only a single leaf gets these requests.
            StepRequest::Prepare(_) | StepRequest::Whole(_) => return Err(unexpected()),
        };
        Ok(AggregateResponse { step: Some(step) })
    }

    fn scan<'a>(&'a self, counting: &'a Counting, cancel: &'a CancellationToken) -> Scan<'a> {
        Scan {
            parts: &self.parts,
            groups: &counting.groups,
            subsets: &self.subsets,
            rows: &self.rows,
            numbered: &counting.numbered,
            chunks: &counting.chunks,
            cancel,
        }
    }

    fn summary(&self, cancel: &CancellationToken) -> Result<Summary> {
        let matched = self.parts.iter().map(|part| part.rows.count() as u64).sum();
        let bounds = bounds(&self.parts).map(|(low, high)| Bounds { low, high });
        let mut summary = Summary { matched, bounds, ..Summary::default() };
        if let Some(calls) = self.calls.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            let counted = calls.counted(&self.parts, cancel)?.into_iter();
            summary.models = counted.map(|(name, calls)| ModelCalls { name, calls }).collect();
            return Ok(summary);
        }
        let groups = Groups { fields: Vec::new() };
        let (numbered, layouts) = (Vec::new(), Vec::new());
        let counting = Counting { groups, numbered, chunks: chunks(&self.parts, None), layouts };
        let scan = self.scan(&counting, cancel);
        for (index, subset) in self.subsets.iter().enumerate() {
            for number in &subset.numbers {
                summary.numbers.push(NumberRange::of(scan.number_bounds(index, number)?));
            }
            for field in &subset.distinct {
                let used = used_texts(&self.parts, *field, cancel)?;
                let mut digests = Vec::new();
                merge(&self.parts, *field, &used, cancel, |text, _, _| digests.extend(digest(text)))?;
                summary.digests.push(digests);
            }
        }
        Ok(summary)
    }

    fn used_texts(&self, field: Field, cancel: &CancellationToken) -> Result<Arc<Vec<UsedTexts>>> {
        let known = self.used.lock().unwrap_or_else(PoisonError::into_inner).get(&field).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let used = Arc::new(used_texts(&self.parts, field, cancel)?);
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(field, used.clone());
        Ok(used)
    }

    fn values(&self, request: &ValuesRequest, cancel: &CancellationToken) -> Result<Values> {
        let field = Field::from_key(&request.field).ok_or_else(unexpected)?;
        if !self.aggregation.by.iter().any(|by| by.field == field) {
            return Err(unexpected());
        }
        values_of(&self.parts, (field, &self.used_texts(field, cancel)?), request, cancel)
    }

    fn memory(&self, request: &MemoryRequest) -> u64 {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let memory = AggregationMemory {
            aggregation: &self.aggregation,
            subsets: &self.subsets,
            parts: &self.parts,
            slots: size(request.slots),
            buckets: size(request.buckets),
        };
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.as_ref().map_or_else(|| memory.max_bytes(), |calls| memory.max_bytes_of_calls(calls)) as u64
    }

    fn axis(&self, request: &CountRequest) -> Option<TimeAxis> {
        let bounds = request.bounds.map(|bounds| (bounds.low, bounds.high));
        self.aggregation.time.and_then(|time| TimeAxis::new(time, bounds))
    }

    fn count(&self, request: &CountRequest, cancel: &CancellationToken) -> Result<CountResponse> {
        let axis = self.axis(request);
        let chunks = chunks(&self.parts, axis.as_ref());
        if let Some(models) = &request.models {
            return self.count_calls(models, &chunks, cancel);
        }
        let counting = Arc::new(self.counting(request, chunks, cancel)?);
        *self.counting.lock().unwrap_or_else(PoisonError::into_inner) = Some(counting.clone());
        let mut counted = CountResponse::default();
        self.scan(&counting, cancel).for_each_bucket(&counting.layouts, |bucket, tallies| {
            let tallies = tallies.iter().map(TallyMessage::of).collect();
            counted.buckets.push(BucketCount { index: bucket as u64, tallies, calls: Vec::new() });
        })?;
        Ok(counted)
    }

    fn counting(
        &self,
        request: &CountRequest,
        chunks: Vec<Chunk>,
        cancel: &CancellationToken,
    ) -> Result<Counting> {
        if request.fields.len() != self.aggregation.by.len() {
            return Err(unexpected());
        }
        let grouped = |(by, top): (&By, &TopValues)| {
            let total = usize::try_from(top.total).unwrap_or(usize::MAX);
            let field = GroupedField::of_values(by.field, top.names(), total);
            Ok(field.in_parts(&self.parts, &self.used_texts(by.field, cancel)?))
        };
        let fields = self.aggregation.by.iter().zip(&request.fields).map(grouped);
        let groups = Groups { fields: fields.collect::<Result<_>>()? };
        let mut numbers = request.numbers.iter().map(NumberRange::bounds);
        let mut distinct = request.distinct.iter();
        let (mut layouts, mut numbered) = (Vec::new(), Vec::new());
        for subset in &self.subsets {
            let bounds: Vec<NumberBounds> = numbers.by_ref().take(subset.numbers.len()).collect();
            let mut of_subset = Vec::new();
            for field in &subset.distinct {
                let given = distinct.next().ok_or_else(unexpected)?;
                let count = usize::try_from(given.count).unwrap_or(usize::MAX);
                of_subset.push(ValueNumbers::numbered(
                    &self.parts,
                    *field,
                    Some((&given.numbers, count)),
                    cancel,
                )?);
            }
            if bounds.len() != subset.numbers.len() {
                return Err(unexpected());
            }
            let counts = of_subset.iter().map(|numbers| numbers.count).collect();
            layouts.push(TallyLayout::new(groups.slots(), subset, &bounds, counts));
            numbered.push(of_subset);
        }
        Ok(Counting { groups, numbered, chunks, layouts })
    }

    fn count_calls(
        &self,
        models: &TopValues,
        chunks: &[Chunk],
        cancel: &CancellationToken,
    ) -> Result<CountResponse> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let total = usize::try_from(models.total).unwrap_or(usize::MAX);
        let grouped = GroupedModels { names: models.names(), total };
        let groups = calls.take().ok_or_else(unexpected)?.with_groups(grouped);
        let slots = groups.grouped.names.len() + 1;
        let mut counted = CountResponse::default();
        let outcome = groups.fold(&self.parts, chunks, (&self.rows, cancel), |bucket, sums| {
            let of_subset = |sums: &Vec<_>| {
                let mut sums = sums.clone();
                sums.resize_with(slots, Default::default);
                sums
            };
            let numbers = sums.iter().flat_map(of_subset).flat_map(numbers_of);
            let (tallies, calls) = (Vec::new(), numbers.collect());
            counted.buckets.push(BucketCount { index: bucket as u64, tallies, calls });
        });
        *calls = Some(groups);
        outcome.map(|()| counted)
    }

    fn refine(&self, request: &RefineRequest, cancel: &CancellationToken) -> Result<RefineResponse> {
        let counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let counting = counting.ok_or_else(unexpected)?;
        let scan = self.scan(&counting, cancel);
        let mut refined = RefineResponse::default();
        for field in &request.fields {
            let number = self
                .subsets
                .get(field.subset as usize)
                .and_then(|subset| subset.numbers.get(field.number as usize));
            let number = number.ok_or_else(unexpected)?;
            let (total, buckets) = field.targets();
            let refinement =
                FieldRefinement::new(&total, buckets.iter().map(Vec::as_slice), number.targets_per_slot());
            let mut own = RefinedBins::default();
            let total =
                scan.count_refined((field.subset as usize, number), &refinement, |bucket, bins| {
                    own.buckets.push(bucket as u64);
                    own.bins.push(Sparse::of(&bins));
                })?;
            own.total = Some(Sparse::of(&total));
            refined.fields.push(own);
        }
        Ok(refined)
    }
}

impl TopValues {
    fn names(&self) -> Vec<Option<String>> {
        self.values.iter().map(|value| value.text.clone()).collect()
    }
}
