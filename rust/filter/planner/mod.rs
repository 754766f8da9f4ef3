//! Finds the rows of an index that a predicate is true for.

mod cost;
mod flatten;
mod narrow;
mod plan;
mod resolve;
mod resolved;
mod span_counter;
mod text_rows;
mod unread;
mod values;
mod verify;

pub use cost::ROWS_AT_ONCE;
pub(super) use plan::{rows, soon_rows};
pub(super) use resolve::SpanRows;
pub use span_counter::SpanCounter;
pub(super) use text_rows::TextRows;
pub use verify::{Decided, Indexes, Verifier};
