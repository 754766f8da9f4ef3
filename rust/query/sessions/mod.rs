//! Pages of sessions: the filter selects traces, which are then grouped by session, an id with its owner.
//!
//! If few rows are selected, each row is read ([`few`]). Otherwise sessions are identified by ordinals across segments
//! ([`crate::index::ordinals::GlobalOrdinals`]) and counted in bitmaps ([`count`]). A session has the position of its newest
//! row. A page near the start is found by reading rows newest first across all parts; for a deep page, the newest row of
//! every session is found first ([`page`]). Only the sessions of the page are read completely.

mod count;
mod digest;
mod few;
mod finish;
mod leaf;
mod merge;
mod newest_rows;
mod numbers;
mod page;
mod selected;
mod traces;

use prost::Message;

pub(crate) use digest::{digest, read_digests};
pub(super) use merge::SessionsMerge;

/// Requests a window of sessions.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SessionsRequest {
    #[prost(uint64, tag = "1")]
    pub(crate) limit: u64,
    /// The digests of all sessions are sent too if there are at most this many.
    #[prost(uint64, tag = "2")]
    pub(crate) max_digests: u64,
    /// The number of sessions before the window.
    #[prost(uint64, tag = "3")]
    pub(crate) offset: u64,
    /// True to send the parts of the sessions too.
    #[prost(bool, tag = "4")]
    pub(crate) with_parts: bool,
}

/// A window of the sessions of a leaf.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sessions {
    /// The number of all sessions.
    #[prost(uint64, tag = "1")]
    pub(crate) count: u64,
    /// The sessions of the window, in the order of results.
    #[prost(message, repeated, tag = "2")]
    pub(crate) window: Vec<SessionStart>,
    /// The digests of all sessions, if they were sent.
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(crate) digests: Option<Vec<u8>>,
    /// The parts of the sessions of the window, if they were requested.
    #[prost(message, repeated, tag = "4")]
    pub(crate) parts: Vec<SessionPart>,
}

/// A session, and the start of its newest selected trace in microseconds since 1970.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SessionStart {
    #[prost(sint64, tag = "1")]
    pub(crate) start: i64,
    /// Its key: id and owner.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) session: Vec<u8>,
}

/// Requests the parts of sessions.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SessionPartsRequest {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(crate) sessions: Vec<Vec<u8>>,
}

/// The requested parts, in that order.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SessionPartsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) parts: Vec<SessionPart>,
}

/// The selected traces of one session on one leaf.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SessionPart {
    /// The number of traces.
    #[prost(uint64, tag = "1")]
    pub(crate) count: u64,
    /// The start of the oldest and of the newest trace, in microseconds since 1970.
    #[prost(sint64, tag = "2")]
    pub(crate) oldest: i64,
    #[prost(sint64, tag = "3")]
    pub(crate) newest: i64,
    /// The team and the workflow of the newest trace that has one.
    #[prost(message, optional, tag = "4")]
    pub(crate) team: Option<TraceValue>,
    #[prost(message, optional, tag = "5")]
    pub(crate) workflow: Option<TraceValue>,
    /// Each agent with its oldest trace, the oldest first.
    #[prost(message, repeated, tag = "6")]
    pub(crate) agents: Vec<TraceValue>,
}

/// A value, and the sort key of the trace that has it.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct TraceValue {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// Requests the digests of sessions in one of several equal ranges.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DigestsRequest {
    #[prost(uint32, tag = "1")]
    pub(crate) range: u32,
    #[prost(uint32, tag = "2")]
    pub(crate) ranges: u32,
}
