//! Messages of aggregations over leaves.

use prost::{Message, Oneof};

/// Requests the values of a field among the selected rows, ascending, with their numbers of rows.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct ValuesRequest {
    /// The key of the field.
    #[prost(string, tag = "1")]
    pub(in crate::query) field: String,
    /// True to ignore the conditions on the field.
    #[prost(bool, tag = "2")]
    pub(in crate::query) excludes_own: bool,
    /// The prefix of the values.
    #[prost(string, tag = "3")]
    pub(in crate::query) prefix: String,
    /// The value before the first one to return.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(in crate::query) after: Option<Vec<u8>>,
    /// The maximum number of values.
    #[prost(uint64, tag = "5")]
    pub(in crate::query) limit: u64,
}

/// Values with their numbers of rows.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct Values {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(in crate::query) texts: Vec<Vec<u8>>,
    #[prost(uint64, repeated, tag = "2")]
    pub(in crate::query) counts: Vec<u64>,
    /// The number of rows without a value.
    #[prost(uint64, tag = "3")]
    pub(in crate::query) missing: u64,
    /// True if more values follow.
    #[prost(bool, tag = "4")]
    pub(in crate::query) has_more: bool,
}

/// Requests one step of an aggregation.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct AggregateRequest {
    #[prost(oneof = "StepRequest", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub(in crate::query::aggregate) step: Option<StepRequest>,
}

/// The steps of an aggregation.
#[derive(Clone, PartialEq, Oneof)]
pub(in crate::query::aggregate) enum StepRequest {
    /// Select the rows and return a summary.
    #[prost(message, tag = "1")]
    Summary(EmptyRequest),
    /// Return the values of a field to group by, with their numbers of rows.
    #[prost(message, tag = "2")]
    Values(ValuesRequest),
    /// Return the memory that counting takes.
    #[prost(message, tag = "5")]
    Memory(MemoryRequest),
    /// Count.
    #[prost(message, tag = "3")]
    Count(CountRequest),
    /// Count the values around the unresolved quantiles.
    #[prost(message, tag = "4")]
    Refine(RefineRequest),
    /// Select the rows of the only leaf, and return the memory that the aggregation takes.
    #[prost(message, tag = "6")]
    Prepare(EmptyRequest),
    /// Aggregate the rows of the only leaf.
    #[prost(message, tag = "7")]
    Whole(EmptyRequest),
}

/// A request without parameters.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct EmptyRequest {}

/// The number of groups and buckets.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct MemoryRequest {
    #[prost(uint64, tag = "1")]
    pub(in crate::query::aggregate) slots: u64,
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) buckets: u64,
}

/// The groups, buckets and bins that are the same on all leaves.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct CountRequest {
    /// The start times of the oldest and the newest selected row of all leaves; absent without rows.
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) bounds: Option<Bounds>,
    /// The top values of each field to group by.
    #[prost(message, repeated, tag = "2")]
    pub(in crate::query::aggregate) fields: Vec<TopValues>,
    /// The top models of an aggregation of model calls.
    #[prost(message, optional, tag = "3")]
    pub(in crate::query::aggregate) models: Option<TopValues>,
    /// The bounds over all leaves, by subset and number.
    #[prost(message, repeated, tag = "4")]
    pub(in crate::query::aggregate) numbers: Vec<NumberRange>,
    /// The numbers of the leaf's values, by subset and distinct field.
    #[prost(message, repeated, tag = "5")]
    pub(in crate::query::aggregate) distinct: Vec<NumberedValues>,
}

/// The values of a field that have a group of their own.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct TopValues {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query::aggregate) values: Vec<TopValue>,
    /// The number of all values, including a missing one.
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) total: u64,
}

/// A value; absent for rows without a value.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct TopValue {
    #[prost(string, optional, tag = "1")]
    pub(in crate::query::aggregate) text: Option<String>,
}

/// The least and the greatest value.
#[derive(Clone, Copy, PartialEq, Message)]
pub(in crate::query::aggregate) struct Bounds {
    #[prost(sint64, tag = "1")]
    pub(in crate::query::aggregate) low: i64,
    #[prost(sint64, tag = "2")]
    pub(in crate::query::aggregate) high: i64,
}

/// The bounds of the selected values of a number, and the bounds of all its stored values.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct NumberRange {
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) selected: Option<Bounds>,
    #[prost(message, optional, tag = "2")]
    pub(in crate::query::aggregate) stored: Option<Bounds>,
}

/// The numbers of a leaf's values, in the order of the digests that it sent, and the number of values of all leaves.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct NumberedValues {
    #[prost(uint32, repeated, tag = "1")]
    pub(in crate::query::aggregate) numbers: Vec<u32>,
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) count: u64,
}

/// The unresolved quantiles.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct RefineRequest {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query::aggregate) fields: Vec<FieldTargets>,
}

/// The targets of a number of a subset: in total and by bucket.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct FieldTargets {
    #[prost(uint32, tag = "1")]
    pub(in crate::query::aggregate) subset: u32,
    #[prost(uint32, tag = "2")]
    pub(in crate::query::aggregate) number: u32,
    #[prost(message, optional, tag = "3")]
    pub(in crate::query::aggregate) total: Option<Targets>,
    #[prost(message, repeated, tag = "4")]
    pub(in crate::query::aggregate) buckets: Vec<Targets>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct Targets {
    #[prost(sint64, repeated, tag = "1")]
    pub(in crate::query::aggregate) lows: Vec<i64>,
    #[prost(sint64, repeated, tag = "2")]
    pub(in crate::query::aggregate) highs: Vec<i64>,
    #[prost(uint64, repeated, tag = "3")]
    pub(in crate::query::aggregate) ranks: Vec<u64>,
}

/// Responds to one step of an aggregation.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct AggregateResponse {
    #[prost(oneof = "StepResponse", tags = "1, 2, 3, 4, 5, 6")]
    pub(in crate::query::aggregate) step: Option<StepResponse>,
}

/// The responses to the steps.
#[derive(Clone, PartialEq, Oneof)]
pub(in crate::query::aggregate) enum StepResponse {
    #[prost(message, tag = "1")]
    Summary(Summary),
    #[prost(message, tag = "2")]
    Values(Values),
    /// In bytes.
    #[prost(uint64, tag = "5")]
    Memory(u64),
    #[prost(message, tag = "3")]
    Count(CountResponse),
    #[prost(message, tag = "4")]
    Refine(RefineResponse),
    #[prost(message, tag = "6")]
    Whole(WholeAggregate),
}

/// The response of the only leaf.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct WholeAggregate {
    /// The response's `data`, as JSON.
    #[prost(bytes = "vec", tag = "1")]
    pub(in crate::query::aggregate) data: Vec<u8>,
    /// The number of matching traces.
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) matched: u64,
}

/// A summary of the selected rows of a leaf.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct Summary {
    #[prost(uint64, tag = "1")]
    pub(in crate::query::aggregate) matched: u64,
    #[prost(message, optional, tag = "2")]
    pub(in crate::query::aggregate) bounds: Option<Bounds>,
    /// By subset and number.
    #[prost(message, repeated, tag = "3")]
    pub(in crate::query::aggregate) numbers: Vec<NumberRange>,
    /// The digests of the values, by subset and distinct field.
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub(in crate::query::aggregate) digests: Vec<Vec<u8>>,
    /// The models that have calls, if model calls are counted.
    #[prost(message, repeated, tag = "5")]
    pub(in crate::query::aggregate) models: Vec<ModelCalls>,
}

/// A model with its number of calls.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct ModelCalls {
    #[prost(string, optional, tag = "1")]
    pub(in crate::query::aggregate) name: Option<String>,
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) calls: u64,
}

/// The counts of each bucket that has rows.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct CountResponse {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query::aggregate) buckets: Vec<BucketCount>,
}

/// The counts of one bucket.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct BucketCount {
    #[prost(uint64, tag = "1")]
    pub(in crate::query::aggregate) index: u64,
    /// By subset.
    #[prost(message, repeated, tag = "2")]
    pub(in crate::query::aggregate) tallies: Vec<TallyMessage>,
    /// The sums of calls, by subset and group.
    #[prost(uint64, repeated, tag = "3")]
    pub(in crate::query::aggregate) calls: Vec<u64>,
}

/// The counts of a subset.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct TallyMessage {
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) counts: Option<Sparse>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::query::aggregate) numbers: Vec<NumberTallyMessage>,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::query::aggregate) distinct: Vec<DistinctMessage>,
}

/// The counts of a number.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct NumberTallyMessage {
    /// 16 bytes per slot.
    #[prost(bytes = "vec", tag = "1")]
    pub(in crate::query::aggregate) sums: Vec<u8>,
    #[prost(sint64, repeated, tag = "2")]
    pub(in crate::query::aggregate) least: Vec<i64>,
    #[prost(sint64, repeated, tag = "3")]
    pub(in crate::query::aggregate) greatest: Vec<i64>,
    #[prost(message, optional, tag = "4")]
    pub(in crate::query::aggregate) bins: Option<Sparse>,
    #[prost(message, repeated, tag = "5")]
    pub(in crate::query::aggregate) histograms: Vec<Sparse>,
}

/// Distinct values: words of bitmaps, or pairs of slots and numbers.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct DistinctMessage {
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) words: Option<Sparse>,
    #[prost(fixed64, repeated, tag = "2")]
    pub(in crate::query::aggregate) pairs: Vec<u64>,
}

/// Numbers that are mostly zero: the numbers that are not zero, each with the count of zeros before it.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct Sparse {
    #[prost(uint64, repeated, tag = "1")]
    pub(in crate::query::aggregate) zeros: Vec<u64>,
    #[prost(uint64, repeated, tag = "2")]
    pub(in crate::query::aggregate) numbers: Vec<u64>,
}

/// The bins of every requested field.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct RefineResponse {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query::aggregate) fields: Vec<RefinedBins>,
}

/// The bins of one field: in total and for each bucket with values.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct RefinedBins {
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) total: Option<Sparse>,
    #[prost(uint64, repeated, tag = "2")]
    pub(in crate::query::aggregate) buckets: Vec<u64>,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::query::aggregate) bins: Vec<Sparse>,
}
