//! Messages of aggregations over leaves.

use prost::{Message, Oneof};

/// Requests the values of a field among the selected rows, ascending, with their numbers of rows.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValuesRequest {
    /// The key of the field.
    #[prost(string, tag = "1")]
    pub(crate) field: String,
    /// True to ignore the conditions on the field.
    #[prost(bool, tag = "2")]
    pub(crate) excludes_own: bool,
    /// The prefix of the values.
    #[prost(string, tag = "3")]
    pub(crate) prefix: String,
    /// The value before the first one to return.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) after: Option<Vec<u8>>,
    /// The maximum number of values.
    #[prost(uint64, tag = "5")]
    pub(crate) limit: u64,
}

/// Values with their numbers of rows.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Values {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(crate) texts: Vec<Vec<u8>>,
    #[prost(uint64, repeated, tag = "2")]
    pub(crate) counts: Vec<u64>,
    /// The number of rows without a value.
    #[prost(uint64, tag = "3")]
    pub(crate) missing: u64,
    /// True if more values follow.
    #[prost(bool, tag = "4")]
    pub(crate) has_more: bool,
}

/// Requests one step of an aggregation.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AggregateRequest {
    #[prost(oneof = "StepRequest", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub(crate) step: Option<StepRequest>,
}

/// The steps of an aggregation.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum StepRequest {
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
pub(crate) struct EmptyRequest {}

/// The number of groups and buckets.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MemoryRequest {
    #[prost(uint64, tag = "1")]
    pub(crate) slots: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) buckets: u64,
}

/// The groups, buckets and bins that are the same on all leaves.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CountRequest {
    /// The start times of the oldest and the newest selected row of all leaves; absent without rows.
    #[prost(message, optional, tag = "1")]
    pub(crate) bounds: Option<Bounds>,
    /// The top values of each field to group by.
    #[prost(message, repeated, tag = "2")]
    pub(crate) fields: Vec<TopValues>,
    /// The top models of an aggregation of model calls.
    #[prost(message, optional, tag = "3")]
    pub(crate) models: Option<TopValues>,
    /// The bounds over all leaves, by subset and number.
    #[prost(message, repeated, tag = "4")]
    pub(crate) numbers: Vec<NumberRange>,
    /// The numbers of the leaf's values, by subset and distinct field.
    #[prost(message, repeated, tag = "5")]
    pub(crate) distinct: Vec<NumberedValues>,
}

/// The values of a field that have a group of their own.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TopValues {
    #[prost(message, repeated, tag = "1")]
    pub(crate) values: Vec<TopValue>,
    /// The number of all values, including a missing one.
    #[prost(uint64, tag = "2")]
    pub(crate) total: u64,
}

/// A value; absent for rows without a value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TopValue {
    #[prost(string, optional, tag = "1")]
    pub(crate) text: Option<String>,
}

/// The least and the greatest value.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Bounds {
    #[prost(sint64, tag = "1")]
    pub(crate) low: i64,
    #[prost(sint64, tag = "2")]
    pub(crate) high: i64,
}

/// The bounds of the selected values of a number, and the bounds of all its stored values.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NumberRange {
    #[prost(message, optional, tag = "1")]
    pub(crate) selected: Option<Bounds>,
    #[prost(message, optional, tag = "2")]
    pub(crate) stored: Option<Bounds>,
}

/// The numbers of a leaf's values, in the order of the digests that it sent, and the number of values of all leaves.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NumberedValues {
    #[prost(uint32, repeated, tag = "1")]
    pub(crate) numbers: Vec<u32>,
    #[prost(uint64, tag = "2")]
    pub(crate) count: u64,
}

/// The unresolved quantiles.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RefineRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) fields: Vec<FieldTargets>,
}

/// The targets of a number of a subset: in total and by bucket.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FieldTargets {
    #[prost(uint32, tag = "1")]
    pub(crate) subset: u32,
    #[prost(uint32, tag = "2")]
    pub(crate) number: u32,
    #[prost(message, optional, tag = "3")]
    pub(crate) total: Option<Targets>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) buckets: Vec<Targets>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Targets {
    #[prost(sint64, repeated, tag = "1")]
    pub(crate) lows: Vec<i64>,
    #[prost(sint64, repeated, tag = "2")]
    pub(crate) highs: Vec<i64>,
    #[prost(uint64, repeated, tag = "3")]
    pub(crate) ranks: Vec<u64>,
}

/// Responds to one step of an aggregation.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AggregateResponse {
    #[prost(oneof = "StepResponse", tags = "1, 2, 3, 4, 5, 6")]
    pub(crate) step: Option<StepResponse>,
}

/// The responses to the steps.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum StepResponse {
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
pub(crate) struct WholeAggregate {
    /// The response's `data`, as JSON.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) data: Vec<u8>,
    /// The number of matching traces.
    #[prost(uint64, tag = "2")]
    pub(crate) matched: u64,
}

/// A summary of the selected rows of a leaf.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Summary {
    #[prost(uint64, tag = "1")]
    pub(crate) matched: u64,
    #[prost(message, optional, tag = "2")]
    pub(crate) bounds: Option<Bounds>,
    /// By subset and number.
    #[prost(message, repeated, tag = "3")]
    pub(crate) numbers: Vec<NumberRange>,
    /// The digests of the values, by subset and distinct field.
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub(crate) digests: Vec<Vec<u8>>,
    /// The models that have calls, if model calls are counted.
    #[prost(message, repeated, tag = "5")]
    pub(crate) models: Vec<ModelCalls>,
}

/// A model with its number of calls.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModelCalls {
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    #[prost(uint64, tag = "2")]
    pub(crate) calls: u64,
}

/// The counts of each bucket that has rows.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CountResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) buckets: Vec<BucketCount>,
}

/// The counts of one bucket.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BucketCount {
    #[prost(uint64, tag = "1")]
    pub(crate) index: u64,
    /// By subset.
    #[prost(message, repeated, tag = "2")]
    pub(crate) tallies: Vec<TallyMessage>,
    /// The sums of calls, by subset and group.
    #[prost(uint64, repeated, tag = "3")]
    pub(crate) calls: Vec<u64>,
}

/// The counts of a subset.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TallyMessage {
    #[prost(message, optional, tag = "1")]
    pub(crate) counts: Option<Sparse>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) numbers: Vec<NumberTallyMessage>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) distinct: Vec<DistinctMessage>,
}

/// The counts of a number.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NumberTallyMessage {
    /// 16 bytes per slot.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) sums: Vec<u8>,
    #[prost(sint64, repeated, tag = "2")]
    pub(crate) least: Vec<i64>,
    #[prost(sint64, repeated, tag = "3")]
    pub(crate) greatest: Vec<i64>,
    #[prost(message, optional, tag = "4")]
    pub(crate) bins: Option<Sparse>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) histograms: Vec<Sparse>,
}

/// Distinct values: words of bitmaps, or pairs of slots and numbers.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DistinctMessage {
    #[prost(message, optional, tag = "1")]
    pub(crate) words: Option<Sparse>,
    #[prost(fixed64, repeated, tag = "2")]
    pub(crate) pairs: Vec<u64>,
}

/// Numbers that are mostly zero: the numbers that are not zero, each with the count of zeros before it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sparse {
    #[prost(uint64, repeated, tag = "1")]
    pub(crate) zeros: Vec<u64>,
    #[prost(uint64, repeated, tag = "2")]
    pub(crate) numbers: Vec<u64>,
}

/// The bins of every requested field.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RefineResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) fields: Vec<RefinedBins>,
}

/// The bins of one field: in total and for each bucket with values.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RefinedBins {
    #[prost(message, optional, tag = "1")]
    pub(crate) total: Option<Sparse>,
    #[prost(uint64, repeated, tag = "2")]
    pub(crate) buckets: Vec<u64>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) bins: Vec<Sparse>,
}
