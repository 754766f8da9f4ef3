//! Objects, write-ahead, head, segments: where does a trace live, and what survives a crash?
//!
//! A trace lives in exactly one place: in a row of the head, which is memory rebuilt from the
//! write-ahead objects (`wal`), or in a row of a sealed segment (`segments`). Rows that a newer copy
//! of their trace replaced are hidden, never rewritten.

mod head;
mod segment;
pub mod snapshot;
pub mod store;

pub use snapshot::{Part, Snapshot};
pub use store::{Ingested, Options, Report, Stats, TraceStore};
