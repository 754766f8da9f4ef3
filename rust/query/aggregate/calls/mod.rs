//! Aggregations of model calls by their models: how many there were, their tokens, and what they cost.
//!
//! A call is a span, so it is no column of a row. It is found in the table of spans of a segment, where that is made, else in
//! the document. The calls of the selected traces are counted by model first, which says what models have a group of their
//! own; a second pass counts the calls of each cell.

mod groups;
mod made;
mod measure;
mod response;

pub(super) use groups::{CallGroups, KeptModels, SumsBySubset};
pub(super) use measure::{CALL_NUMBERS, CallMeasure, CallSums};
pub(super) use response::CallTotals;
