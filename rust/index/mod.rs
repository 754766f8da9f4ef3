//! The indexes of a segment, each derived from its rows or its documents and rebuilt if it is missing or damaged.
//!
//! | module | decides |
//! |---|---|
//! | [`columns`] | conditions on fields of traces; has the order and the documents of the rows |
//! | [`spans`] | conditions on fields of spans |
//! | [`texts`] | which rows may contain a text |
//! | [`attributes`] | conditions on attributes of spans and resources |
//! | [`ordinals`] | which values of two segments are equal |
//!
//! An index is one byte buffer, mapped from a cache file or held in memory, with the layout of [`layout`].

pub mod attributes;
mod batched_binary_search;
mod boundary;
pub mod columns;
mod fence_keys;
mod interpolation;
pub(crate) mod layout;
mod merged_rows;
pub mod ordinals;
mod packed;
pub mod spans;
pub mod texts;

pub use boundary::{Boundary, sort_key};
pub(crate) use layout::{FileKind, SectionKind, SectionWriter, Sections};
pub use merged_rows::{MergedOrdinals, MergedRows};
pub use packed::PackedInts;
