//! Turns a filter into a page of runs, of sessions or of spans, or into facets.
//!
//! A search selects rows on slim columns, orders them and cuts the page, and only then reads the documents and builds
//! the trees of the traces on it (`docs/reference/storage.md#search-order`). It works on one immutable snapshot, so a
//! page never mixes two states of the store.

mod aggregate;
mod attributes;
mod cancellation;
mod costs;
mod facets;
mod gather;
mod items;
mod matches;
mod merge;
mod newest;
mod page;
mod pool;
mod runs;
mod selection;
mod sessions;
mod sorted;
mod spans;
pub mod tail;

pub use aggregate::{
    AggregateResult, Aggregation, MAX_BINS, MAX_BUCKETS, MAX_BY, MAX_CELLS, MAX_MEASURES,
    PreparedAggregation, aggregate,
};
pub use attributes::{AttributeKeys, MAX_KEYS, attribute_keys};
pub use cancellation::CancellationToken;
pub use facets::{FacetPlan, FacetRequest, Facets, MAX_FACET_VALUES};
pub use gather::{Found, Gathering, PinnedSearch, encode_filter, filter_of};
pub use items::set_page_memory_limit;
pub use page::{MAX_LIMIT, Page, PageRequest, RunView, Sort};
pub use runs::{damaged_trace, ids, newest_runs, runs, span, trace, value};
pub use sessions::sessions;
pub use spans::{SpanPageRequest, newest_spans, spans};

pub use crate::trace::detail::Detail;
