//! The keys of items: bytes that sort in the order of a page. Pages of runs and of spans are merged by them.

mod merge;
mod rank_search;

use prost::Message;

pub(super) use merge::KeyMerge;
pub(super) use rank_search::{ItemKey, likely_share};

use super::page::Sort;
use super::rows::page_rows::PageRow;
use super::rows::selection::{Selection, descending};

/// The size of a trace id in bytes. The key of a trace ends with its id.
pub(super) const ID_BYTES: usize = 16;

/// Requests the keys of traces, or of spans if the query has a condition on them.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeysRequest {
    /// The key of the field that orders them.
    #[prost(string, tag = "1")]
    pub(crate) sort: String,
    #[prost(bool, tag = "2")]
    pub(crate) is_ascending: bool,
    /// True for the newest `end` items only, without finding all of them.
    #[prost(bool, tag = "3")]
    pub(crate) is_newest: bool,
    /// The first rank, the rank after the last one, and the distance between two ranks.
    #[prost(uint64, tag = "4")]
    pub(crate) first: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) end: u64,
    #[prost(uint64, tag = "6")]
    pub(crate) step: u64,
    /// The number of items to send with their keys, and their level of detail.
    #[prost(uint64, tag = "7")]
    pub(crate) first_documents: u64,
    #[prost(string, tag = "8")]
    pub(crate) detail: String,
    /// True if documents of these items may be requested next.
    #[prost(bool, tag = "9")]
    pub(crate) has_documents: bool,
}

/// Keys of equal length, each less than the keys of later items.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Keys {
    /// The number of items on the leaf.
    #[prost(uint64, tag = "1")]
    pub(crate) count: u64,
    /// The keys, one after another.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) packed: Vec<u8>,
    /// The sizes of their documents.
    #[prost(uint64, repeated, tag = "3")]
    pub(crate) bytes: Vec<u64>,
    /// The key up to which all items are listed; absent if there are no more.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) frontier: Option<Vec<u8>>,
    /// Damage found in checked documents.
    #[prost(string, repeated, tag = "5")]
    pub(crate) damage: Vec<String>,
    /// The first items, each a JSON object. There may be fewer than requested.
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub(crate) first_documents: Vec<Vec<u8>>,
}

impl Keys {
    /// Adds the key of a row. `value` is the number that orders it; `None` sorts last.
    pub(super) fn add_row(&mut self, selection: &Selection<'_>, row: usize, sort: Sort, value: Option<i64>) {
        if sort != Sort::NEWEST_FIRST {
            self.packed.push(u8::from(value.is_none()));
            let value = descending(value.unwrap_or_default());
            let is_ascending = sort.key().1;
            self.packed.extend(value.map(|byte| if is_ascending { !byte } else { byte }));
        }
        self.packed.extend(selection.key(row).to_bytes());
        self.bytes.push(selection.part.document_bytes(row));
    }

    /// Adds the key of a span: the key of its trace, then its index among the matching spans of the trace.
    pub(super) fn add_span(&mut self, trace: &[u8], number: u64) {
        self.packed.extend_from_slice(trace);
        self.packed.extend(u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes());
        self.bytes.push(0);
    }
}

/// Returns a row of a selection as a position in the snapshot.
pub(super) fn position(selections: &[Selection<'_>], (selection, row): PageRow) -> (usize, usize) {
    (selections[selection].index, row)
}
