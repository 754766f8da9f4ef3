//! Spanwise's engine: receives, stores and searches the traces of AI agents.
//!
//! Data flows one way: bytes -> spans -> trace row -> batch -> segment -> index -> predicate -> rows -> page.
//! A module imports only modules above it in this list.

#![deny(unsafe_code, missing_docs)]

pub mod error;
pub mod time;
pub mod caller;
pub mod semaphore;
pub mod progress;
mod affinity;
mod priority;
pub mod schema;
mod text;
pub mod otlp;
pub mod placement;
pub mod trace;
pub mod ingest;
pub mod bitmap;
pub mod index;
pub mod filter;
pub mod storage;
pub mod bulk;
pub mod query;
#[cfg(feature = "python")]
mod binding;
