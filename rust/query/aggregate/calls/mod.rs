//! Aggregations of model calls by model: their number, tokens and costs.
//!
//! A call is a span, so it is not a column of a row. It is found in the span table of a segment if that is built, and
//! in the document otherwise. A first pass counts the calls of each model, which determines the models with a group of
//! their own. A second pass counts the calls of each cell.

mod groups;
mod part_calls;
mod measure;
mod response;

pub(super) use groups::{CallGroups, GroupedModels, SumsBySubset};
pub(super) use measure::{CALL_NUMBERS, CallMeasure, CallSums};
pub(super) use response::CallTotals;
