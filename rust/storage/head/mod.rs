//! The head: the newest rows, in memory, rebuilt from the write-ahead log when the store is opened.

pub(crate) mod batch;
pub(crate) mod generation;
mod indexes;
pub(crate) mod into_segment;
