//! Messages of aggregations over shards.

use prost::{Message, Oneof};

/// The values of a field among the selected rows, in ascending order, with their numbers of rows.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct ValuesRequest {
    /// The key of the field.
    #[prost(string, tag = "1")]
    pub(in crate::query) field: String,
    /// Whether the conditions on the field are left out of the filter.
    #[prost(bool, tag = "2")]
    pub(in crate::query) excludes_own: bool,
    /// What the values start with.
    #[prost(string, tag = "3")]
    pub(in crate::query) prefix: String,
    /// The value after which they begin.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(in crate::query) after: Option<Vec<u8>>,
    /// At most so many.
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
    /// How many rows have no value.
    #[prost(uint64, tag = "3")]
    pub(in crate::query) missing: u64,
    /// Whether more values follow.
    #[prost(bool, tag = "4")]
    pub(in crate::query) has_more: bool,
}

/// What is asked of a shard.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct AggregateRequest {
    #[prost(oneof = "StepRequest", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub(in crate::query::aggregate) step: Option<StepRequest>,
}

/// One step of an aggregation.
#[derive(Clone, PartialEq, Oneof)]
pub(in crate::query::aggregate) enum StepRequest {
    /// Selects the rows.
    #[prost(message, tag = "1")]
    Shape(ShapeRequest),
    /// The values of a field to group by, and their numbers of rows.
    #[prost(message, tag = "2")]
    Values(ValuesRequest),
    /// How much memory counting takes.
    #[prost(message, tag = "5")]
    Memory(MemoryRequest),
    /// Counts.
    #[prost(message, tag = "3")]
    Count(CountRequest),
    /// Counts the values of quantiles that are not found yet.
    #[prost(message, tag = "4")]
    Refine(RefineRequest),
    /// Selects the rows of the only leaf, and returns the memory that the aggregation takes.
    #[prost(message, tag = "6")]
    Prepare(ShapeRequest),
    /// Aggregates the rows of the only leaf.
    #[prost(message, tag = "7")]
    Whole(ShapeRequest),
}

/// Nothing but the query.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct ShapeRequest {}

/// How many groups and buckets there are.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct MemoryRequest {
    #[prost(uint64, tag = "1")]
    pub(in crate::query::aggregate) slots: u64,
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) buckets: u64,
}

/// What all shards count by.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct CountRequest {
    /// When the oldest and the newest selected row of all shards start, if there are any.
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) bounds: Option<Bounds>,
    /// For each field to group by, the kept values.
    #[prost(message, repeated, tag = "2")]
    pub(in crate::query::aggregate) fields: Vec<KeptValues>,
    /// The models that are kept, of an aggregation of calls.
    #[prost(message, optional, tag = "3")]
    pub(in crate::query::aggregate) models: Option<KeptValues>,
    /// For each subset and number, its bounds over all shards.
    #[prost(message, repeated, tag = "4")]
    pub(in crate::query::aggregate) numbers: Vec<NumberRange>,
    /// For each subset and field whose values are counted, the numbers of the shard's values.
    #[prost(message, repeated, tag = "5")]
    pub(in crate::query::aggregate) distinct: Vec<NumberedValues>,
}

/// The values of a field that have a group of their own.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct KeptValues {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query::aggregate) values: Vec<KeptValue>,
    /// How many values there are, a missing one included.
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) total: u64,
}

/// A value; absent for what has none.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct KeptValue {
    #[prost(string, optional, tag = "1")]
    pub(in crate::query::aggregate) text: Option<String>,
}

/// A least and a greatest value.
#[derive(Clone, Copy, PartialEq, Message)]
pub(in crate::query::aggregate) struct Bounds {
    #[prost(sint64, tag = "1")]
    pub(in crate::query::aggregate) low: i64,
    #[prost(sint64, tag = "2")]
    pub(in crate::query::aggregate) high: i64,
}

/// The bounds of the selected values of a number, and of all that are stored.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct NumberRange {
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) selected: Option<Bounds>,
    #[prost(message, optional, tag = "2")]
    pub(in crate::query::aggregate) stored: Option<Bounds>,
}

/// Numbers of the values of a shard, in the order in which it has sent their digests, and how many there are in all shards.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct NumberedValues {
    #[prost(uint32, repeated, tag = "1")]
    pub(in crate::query::aggregate) numbers: Vec<u32>,
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) count: u64,
}

/// The quantiles that are looked for.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct RefineRequest {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query::aggregate) fields: Vec<FieldTargets>,
}

/// The targets of a number of a subset.
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

/// Targets: their bounds and ranks.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct Targets {
    #[prost(sint64, repeated, tag = "1")]
    pub(in crate::query::aggregate) lows: Vec<i64>,
    #[prost(sint64, repeated, tag = "2")]
    pub(in crate::query::aggregate) highs: Vec<i64>,
    #[prost(uint64, repeated, tag = "3")]
    pub(in crate::query::aggregate) ranks: Vec<u64>,
}

/// What a shard answers.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct AggregateResponse {
    #[prost(oneof = "StepResponse", tags = "1, 2, 3, 4, 5, 6")]
    pub(in crate::query::aggregate) step: Option<StepResponse>,
}

/// The answer to one step.
#[derive(Clone, PartialEq, Oneof)]
pub(in crate::query::aggregate) enum StepResponse {
    #[prost(message, tag = "1")]
    Shape(Shape),
    #[prost(message, tag = "2")]
    Values(Values),
    /// In bytes.
    #[prost(uint64, tag = "5")]
    Memory(u64),
    #[prost(message, tag = "3")]
    Count(Counted),
    #[prost(message, tag = "4")]
    Refine(Refined),
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

/// What a shard has selected.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct Shape {
    #[prost(uint64, tag = "1")]
    pub(in crate::query::aggregate) matched: u64,
    #[prost(message, optional, tag = "2")]
    pub(in crate::query::aggregate) bounds: Option<Bounds>,
    /// For each subset and number.
    #[prost(message, repeated, tag = "3")]
    pub(in crate::query::aggregate) numbers: Vec<NumberRange>,
    /// For each subset and field whose values are counted, the digests of its values.
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub(in crate::query::aggregate) digests: Vec<Vec<u8>>,
    /// The models that have calls, of an aggregation of calls.
    #[prost(message, repeated, tag = "5")]
    pub(in crate::query::aggregate) models: Vec<CountedModel>,
}

/// A model, and how many calls it has.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct CountedModel {
    #[prost(string, optional, tag = "1")]
    pub(in crate::query::aggregate) name: Option<String>,
    #[prost(uint64, tag = "2")]
    pub(in crate::query::aggregate) calls: u64,
}

/// What was counted of each bucket that has rows.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct Counted {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query::aggregate) buckets: Vec<BucketCount>,
}

/// What was counted of a bucket.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct BucketCount {
    #[prost(uint64, tag = "1")]
    pub(in crate::query::aggregate) place: u64,
    /// For each subset.
    #[prost(message, repeated, tag = "2")]
    pub(in crate::query::aggregate) tallies: Vec<WireTally>,
    /// For each subset and group, the numbers of its calls.
    #[prost(uint64, repeated, tag = "3")]
    pub(in crate::query::aggregate) calls: Vec<u64>,
}

/// What was counted of a subset.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct WireTally {
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) counts: Option<Sparse>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::query::aggregate) numbers: Vec<WireNumberTally>,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::query::aggregate) distinct: Vec<WireDistinct>,
}

/// What was counted of a number.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct WireNumberTally {
    /// For each slot, 16 bytes.
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
pub(in crate::query::aggregate) struct WireDistinct {
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) words: Option<Sparse>,
    #[prost(fixed64, repeated, tag = "2")]
    pub(in crate::query::aggregate) pairs: Vec<u64>,
}

/// Numbers most of which are zero: before each that is not, how many zeros there are.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct Sparse {
    #[prost(uint64, repeated, tag = "1")]
    pub(in crate::query::aggregate) zeros: Vec<u64>,
    #[prost(uint64, repeated, tag = "2")]
    pub(in crate::query::aggregate) numbers: Vec<u64>,
}

/// The bins of every field that was asked for.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct Refined {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query::aggregate) fields: Vec<RefinedField>,
}

/// The bins of one field: of all buckets together, and of each that has some.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query::aggregate) struct RefinedField {
    #[prost(message, optional, tag = "1")]
    pub(in crate::query::aggregate) total: Option<Sparse>,
    #[prost(uint64, repeated, tag = "2")]
    pub(in crate::query::aggregate) buckets: Vec<u64>,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::query::aggregate) bins: Vec<Sparse>,
}
