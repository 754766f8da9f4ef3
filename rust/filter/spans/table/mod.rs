//! Decides conditions on spans by the span table of a segment and the index of its attributes, for many traces at once.
//!
//! They have no texts, nor long attributes, and no times finer than a microsecond. So a predicate has two answers: what
//! holds at least, as if every open question were answered against it, and what may hold. Where they differ, the trace
//! itself is looked at. Both are sets of places, as bitmaps.

mod cost;
mod node;
mod numbers;
mod rows;

pub(in crate::filter) use cost::TableTest;
pub(in crate::filter) use node::SpanIndexes;
pub(super) use numbers::SpanNumbers;
pub(in crate::filter) use rows::SpansTest;
