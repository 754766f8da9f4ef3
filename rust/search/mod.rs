//! Turns a filter into a page of runs or of sessions.
//!
//! A search selects rows on slim columns, orders them and cuts the page, and only then reads the documents and builds
//! the trees of the traces on it (`docs/reference/storage.md#search-order`). It works on one immutable snapshot, so a
//! page never mixes two states of the store.

mod cancellation;
mod merge;
mod page;
mod pool;
mod runs;
mod selection;
mod session_numbers;
mod sessions;
mod sorted;

pub use cancellation::CancellationToken;
pub use page::{MAX_LIMIT, Page, PageRequest, Sort};
pub use runs::{damaged_trace, ids, runs, set_page_memory_limit, span, trace};
pub use sessions::sessions;

pub use crate::trace::detail::Detail;
