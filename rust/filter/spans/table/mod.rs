//! Evaluates conditions on spans by the span table and the attribute index of a segment, for many traces at
//! once.
//!
//! These indexes have no texts, no long attributes and no times finer than a microsecond. A predicate
//! therefore has a lower bound and an upper bound: the spans that certainly match, and the spans that may
//! match. Traces for which they differ need a document check. Both bounds are bitmaps of span ordinals.

mod cost;
mod node;
mod numbers;
mod rows;

pub(in crate::filter) use cost::TableTest;
pub(in crate::filter) use node::SpanIndexes;
pub(super) use numbers::SpanNumbers;
pub(in crate::filter) use rows::SpansTest;
