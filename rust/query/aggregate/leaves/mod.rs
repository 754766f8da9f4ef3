//! Aggregations over several leaves.
//!
//! Every leaf selects its rows and sends a summary: their number, start times, values and bounds. From all summaries
//! the root determines the groups, the buckets and the bins of the response, the same for all leaves. Then every leaf
//! counts, bucket by bucket, and the root adds up the counts. Quantiles take as many rounds of refinement as one store
//! takes passes. The values that have a group of their own are determined from all values of all leaves with their
//! numbers of rows, not from the most frequent values of each leaf.

mod encode;
mod merge;
mod partial;
mod values;
mod messages;

pub(crate) use merge::AggregateMerge;
pub(crate) use messages::{AggregateRequest, AggregateResponse, Values, ValuesRequest};
pub(crate) use messages::{StepRequest, StepResponse, WholeAggregate};
pub(crate) use partial::PartialAggregation;
pub(crate) use values::{ValueCounts, ValueMerge};
