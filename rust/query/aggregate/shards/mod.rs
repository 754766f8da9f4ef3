//! Aggregations over shards.
//!
//! Every shard selects its rows and says what it has: how many rows, when, of which values, within which bounds. From all of
//! that the front door knows the groups, the buckets and the bins of the response, the same for all shards. Then every shard
//! counts, bucket by bucket, and the counts add up; quantiles are narrowed down in as many rounds as one store takes passes.
//! Which values have a group of their own is decided by all values of all shards with their numbers, never by the most
//! frequent ones of each.

mod encode;
mod front;
mod shard;
mod values;
mod wire;

pub(in crate::query) use front::AggregateMerge;
pub(in crate::query) use shard::AggregateLeaf;
pub(in crate::query) use values::{ValueCounts, ValueMerge};
pub(in crate::query) use wire::{AggregateRequest, AggregateResponse, Values, ValuesRequest};
pub(in crate::query::aggregate) use wire::{StepRequest, StepResponse, WholeAggregate};
