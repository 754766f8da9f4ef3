//! Queries: pages of runs, sessions and spans, aggregations, facets, attribute keys and lookups.
//!
//! A query has a root and one or more leaves. A [leaf](leaf) works on one snapshot, so a response never mixes two
//! states of a store. The [root](root) sends requests to its leaves and [merges](merge) their responses. A single store
//! is a root over one leaf in this process, without encoding; [`wire`] encodes requests and responses for leaves in
//! other processes. Each kind of query has a folder: `leaf.rs` (snapshot to partial result), `merge.rs` (partial
//! results of all leaves), `finish.rs` (JSON).
//!
//! A leaf selects [rows](rows) on slim columns, orders them and takes a page, and only then reads documents and builds
//! the trees of the traces on it (`docs/reference/storage.md#search-order`).

mod aggregate;
mod attributes;
mod cancellation;
mod facets;
mod items;
mod keys;
mod leaf;
mod local;
mod lookup;
mod matches;
mod merge;
mod messages;
mod page;
mod pool;
mod request;
mod root;
mod rows;
mod runs;
mod sessions;
mod spans;
pub mod tail;
mod wire;

pub use aggregate::{AggregateResult, Aggregation, MAX_BINS, MAX_BUCKETS, MAX_BY, MAX_CELLS, MAX_MEASURES};
pub use attributes::{AttributeKeys, MAX_KEYS};
pub use cancellation::CancellationToken;
pub use facets::{FacetRequest, Facets, MAX_FACET_VALUES};
pub use items::set_page_memory_limit;
pub use local::{
    aggregate, attribute_keys, damaged_trace, facets, ids, newest_runs, newest_spans, runs, sessions, span,
    spans, trace, value,
};
pub use merge::Response;
pub use page::{MAX_LIMIT, Page, PageRequest, RunView, Sort};
pub use request::{Query, Request};
pub use root::Root;
pub use wire::{PinnedLeaf, decode_filter, encode_filter};

pub use crate::trace::detail::Detail;
