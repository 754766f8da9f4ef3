//! Whole stores in and out: how do millions of spans move at once?
//!
//! Out: [`scan`] gives the rows a filter matches, [`spans`] the spans behind them, [`export`] either as
//! the bytes of a file; all read one snapshot, batch by batch. In: [`import`] takes spans in the form
//! that [`spans`] gives them. What goes out and comes in again is the same: every search answers the
//! same, every document holds the same spans.
//!
//! ```text
//! snapshot x filter -> matches -> rows (scan)
//!                              -> documents -> spans -> Arrow, Parquet, NDJSON, OTLP (export)
//! spans -> intake (checks) -> traces, so many bytes at a time -> storage adopts them (import)
//! ```

pub mod columns;
pub mod export;
pub mod import;
mod intake;
mod matches;
pub mod scan;
pub mod spans;

pub use columns::span_schema;
pub use export::{Export, Format};
pub use import::{Imported, Order, Refusal, import};
pub use scan::{Scan, scan};
pub use spans::{Spans, spans};
