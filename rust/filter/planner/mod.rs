//! Finds the rows of an index for which a predicate is true.

mod cost;
mod flatten;
mod narrow;
mod plan;
mod resolve;
mod plan_node;
mod span_counter;
mod text_rows;
mod deferred_lookup;
mod values;
mod verify;

pub use cost::INLINE_ROW_BUDGET;
pub(super) use plan::{rows, try_cheap_rows};
pub(super) use resolve::SpanRows;
pub use span_counter::SpanCounter;
pub(super) use text_rows::TextRows;
pub use verify::{Indexes, RowVerdicts, Verifier};
