//! Messages of aggregations over shards.

use prost::{Message, Oneof};

/// The values of a field among the selected rows, in ascending order, with their numbers of rows.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedValues {
    /// The key of the field.
    #[prost(string, tag = "1")]
    pub(in crate::search) field: String,
    /// Whether the conditions on the field are left out of the filter.
    #[prost(bool, tag = "2")]
    pub(in crate::search) excludes_own: bool,
    /// What the values start with.
    #[prost(string, tag = "3")]
    pub(in crate::search) prefix: String,
    /// The value after which they begin.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(in crate::search) after: Option<Vec<u8>>,
    /// At most so many.
    #[prost(uint64, tag = "5")]
    pub(in crate::search) limit: u64,
}

/// Values with their numbers of rows.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct Values {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(in crate::search) texts: Vec<Vec<u8>>,
    #[prost(uint64, repeated, tag = "2")]
    pub(in crate::search) counts: Vec<u64>,
    /// How many rows have no value.
    #[prost(uint64, tag = "3")]
    pub(in crate::search) missing: u64,
    /// Whether more values follow.
    #[prost(bool, tag = "4")]
    pub(in crate::search) has_more: bool,
}

/// What is asked of a shard.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedAggregate {
    #[prost(oneof = "AskedStep", tags = "1, 2, 3, 4, 5")]
    pub(super) step: Option<AskedStep>,
}

/// One step of an aggregation.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum AskedStep {
    /// Selects the rows.
    #[prost(message, tag = "1")]
    Shape(AskedShape),
    /// The values of a field to group by, and their numbers of rows.
    #[prost(message, tag = "2")]
    Values(AskedValues),
    /// How much memory counting takes.
    #[prost(message, tag = "5")]
    Memory(AskedMemory),
    /// Counts.
    #[prost(message, tag = "3")]
    Count(AskedCount),
    /// Counts the values of quantiles that are not found yet.
    #[prost(message, tag = "4")]
    Refine(AskedRefine),
}

/// Nothing but the query.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AskedShape {}

/// How many groups and buckets there are.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AskedMemory {
    #[prost(uint64, tag = "1")]
    pub(super) slots: u64,
    #[prost(uint64, tag = "2")]
    pub(super) buckets: u64,
}

/// What all shards count by.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AskedCount {
    /// When the oldest and the newest selected row of all shards start, if there are any.
    #[prost(message, optional, tag = "1")]
    pub(super) bounds: Option<Bounds>,
    /// For each field to group by, the kept values.
    #[prost(message, repeated, tag = "2")]
    pub(super) fields: Vec<KeptValues>,
    /// The models that are kept, of an aggregation of calls.
    #[prost(message, optional, tag = "3")]
    pub(super) models: Option<KeptValues>,
    /// For each subset and number, its bounds over all shards.
    #[prost(message, repeated, tag = "4")]
    pub(super) numbers: Vec<NumberRange>,
    /// For each subset and field whose values are counted, the numbers of the shard's values.
    #[prost(message, repeated, tag = "5")]
    pub(super) distinct: Vec<NumberedValues>,
}

/// The values of a field that have a group of their own.
#[derive(Clone, PartialEq, Message)]
pub(super) struct KeptValues {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<KeptValue>,
    /// How many values there are, a missing one included.
    #[prost(uint64, tag = "2")]
    pub(super) total: u64,
}

/// A value; absent for what has none.
#[derive(Clone, PartialEq, Message)]
pub(super) struct KeptValue {
    #[prost(string, optional, tag = "1")]
    pub(super) text: Option<String>,
}

/// A least and a greatest value.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Bounds {
    #[prost(sint64, tag = "1")]
    pub(super) low: i64,
    #[prost(sint64, tag = "2")]
    pub(super) high: i64,
}

/// The bounds of the selected values of a number, and of all that are stored.
#[derive(Clone, PartialEq, Message)]
pub(super) struct NumberRange {
    #[prost(message, optional, tag = "1")]
    pub(super) selected: Option<Bounds>,
    #[prost(message, optional, tag = "2")]
    pub(super) stored: Option<Bounds>,
}

/// Numbers of the values of a shard, in the order in which it has sent their digests, and how many there are in all shards.
#[derive(Clone, PartialEq, Message)]
pub(super) struct NumberedValues {
    #[prost(uint32, repeated, tag = "1")]
    pub(super) numbers: Vec<u32>,
    #[prost(uint64, tag = "2")]
    pub(super) count: u64,
}

/// The quantiles that are looked for.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AskedRefine {
    #[prost(message, repeated, tag = "1")]
    pub(super) fields: Vec<FieldTargets>,
}

/// The targets of a number of a subset.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FieldTargets {
    #[prost(uint32, tag = "1")]
    pub(super) subset: u32,
    #[prost(uint32, tag = "2")]
    pub(super) number: u32,
    #[prost(message, optional, tag = "3")]
    pub(super) total: Option<Targets>,
    #[prost(message, repeated, tag = "4")]
    pub(super) buckets: Vec<Targets>,
}

/// Targets: their bounds and ranks.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Targets {
    #[prost(sint64, repeated, tag = "1")]
    pub(super) lows: Vec<i64>,
    #[prost(sint64, repeated, tag = "2")]
    pub(super) highs: Vec<i64>,
    #[prost(uint64, repeated, tag = "3")]
    pub(super) ranks: Vec<u64>,
}

/// What a shard answers.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AnsweredAggregate {
    #[prost(oneof = "AnsweredStep", tags = "1, 2, 3, 4, 5")]
    pub(super) step: Option<AnsweredStep>,
}

/// The answer to one step.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum AnsweredStep {
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
}

/// What a shard has selected.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(uint64, tag = "1")]
    pub(super) matched: u64,
    #[prost(message, optional, tag = "2")]
    pub(super) bounds: Option<Bounds>,
    /// For each subset and number.
    #[prost(message, repeated, tag = "3")]
    pub(super) numbers: Vec<NumberRange>,
    /// For each subset and field whose values are counted, the digests of its values.
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub(super) digests: Vec<Vec<u8>>,
    /// The models that have calls, of an aggregation of calls.
    #[prost(message, repeated, tag = "5")]
    pub(super) models: Vec<CountedModel>,
}

/// A model, and how many calls it has.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CountedModel {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(uint64, tag = "2")]
    pub(super) calls: u64,
}

/// What was counted of each bucket that has rows.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Counted {
    #[prost(message, repeated, tag = "1")]
    pub(super) buckets: Vec<BucketCount>,
}

/// What was counted of a bucket.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BucketCount {
    #[prost(uint64, tag = "1")]
    pub(super) place: u64,
    /// For each subset.
    #[prost(message, repeated, tag = "2")]
    pub(super) tallies: Vec<WireTally>,
    /// For each subset and group, the numbers of its calls.
    #[prost(uint64, repeated, tag = "3")]
    pub(super) calls: Vec<u64>,
}

/// What was counted of a subset.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WireTally {
    #[prost(message, optional, tag = "1")]
    pub(super) counts: Option<Sparse>,
    #[prost(message, repeated, tag = "2")]
    pub(super) numbers: Vec<WireNumberTally>,
    #[prost(message, repeated, tag = "3")]
    pub(super) distinct: Vec<WireDistinct>,
}

/// What was counted of a number.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WireNumberTally {
    /// For each slot, 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub(super) sums: Vec<u8>,
    #[prost(sint64, repeated, tag = "2")]
    pub(super) least: Vec<i64>,
    #[prost(sint64, repeated, tag = "3")]
    pub(super) greatest: Vec<i64>,
    #[prost(message, optional, tag = "4")]
    pub(super) bins: Option<Sparse>,
    #[prost(message, repeated, tag = "5")]
    pub(super) histograms: Vec<Sparse>,
}

/// Distinct values: words of bitmaps, or pairs of slots and numbers.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WireDistinct {
    #[prost(message, optional, tag = "1")]
    pub(super) words: Option<Sparse>,
    #[prost(fixed64, repeated, tag = "2")]
    pub(super) pairs: Vec<u64>,
}

/// Numbers most of which are zero: before each that is not, how many zeros there are.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Sparse {
    #[prost(uint64, repeated, tag = "1")]
    pub(super) zeros: Vec<u64>,
    #[prost(uint64, repeated, tag = "2")]
    pub(super) numbers: Vec<u64>,
}

/// The bins of every field that was asked for.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Refined {
    #[prost(message, repeated, tag = "1")]
    pub(super) fields: Vec<RefinedField>,
}

/// The bins of one field: of all buckets together, and of each that has some.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RefinedField {
    #[prost(message, optional, tag = "1")]
    pub(super) total: Option<Sparse>,
    #[prost(uint64, repeated, tag = "2")]
    pub(super) buckets: Vec<u64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) bins: Vec<Sparse>,
}
