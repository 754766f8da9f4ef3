//! What a front door asks shards, and what they answer, as protobuf messages: processes of two versions may talk to each
//! other for a while, and unknown fields are skipped.

use prost::{Message, Oneof};

use crate::error::{Error, Result};
use crate::search::aggregate::{AnsweredAggregate, AskedAggregate, AskedValues, Values};

/// What a search is, for every question about it.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct Query {
    /// The filter without its restrictions, as JSON.
    #[prost(string, tag = "1")]
    pub(super) filter: String,
    /// What the filter is restricted to, which is evaluated first.
    #[prost(message, repeated, tag = "2")]
    pub(super) restrictions: Vec<Restriction>,
    /// The condition on spans, as JSON, of a search whose rows are spans.
    #[prost(string, optional, tag = "3")]
    pub(super) spans: Option<String>,
    /// The body of an aggregation, as JSON.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(super) aggregation: Option<Vec<u8>>,
    /// To whom is charged what is kept of its results.
    #[prost(string, tag = "5")]
    pub(super) caller: String,
}

/// A field with the value that it must have.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct Restriction {
    #[prost(string, tag = "1")]
    pub(super) field: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

/// One question.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct Question {
    /// How many documents the shard may look at, each time that it wants to.
    #[prost(uint64, tag = "1")]
    pub(super) max_looks: u64,
    #[prost(oneof = "Asked", tags = "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub(super) asked: Option<Asked>,
}

/// What is asked.
#[derive(Clone, PartialEq, Oneof)]
pub(in crate::search) enum Asked {
    #[prost(message, tag = "2")]
    Keys(AskedKeys),
    #[prost(message, tag = "3")]
    Documents(AskedDocuments),
    #[prost(message, tag = "4")]
    Spans(AskedSpans),
    #[prost(message, tag = "5")]
    Sessions(AskedSessions),
    #[prost(message, tag = "6")]
    SessionParts(AskedSessionParts),
    #[prost(message, tag = "7")]
    SessionDigests(AskedDigests),
    #[prost(message, tag = "8")]
    Trace(AskedTrace),
    #[prost(message, tag = "9")]
    Aggregate(AskedAggregate),
    #[prost(message, tag = "10")]
    Values(AskedValues),
    #[prost(message, tag = "11")]
    FacetMemory(AskedFacetMemory),
    #[prost(message, tag = "12")]
    AttributeKeys(AskedAttributeKeys),
}

/// One answer.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct Answer {
    /// How many documents the shard wanted to look at, each time that it did.
    #[prost(uint64, repeated, tag = "1")]
    pub(super) looks: Vec<u64>,
    /// What was asked; `None` if the last of these was too many.
    #[prost(oneof = "Answered", tags = "2, 3, 4, 5, 6, 7, 8, 9, 10, 11")]
    pub(super) answered: Option<Answered>,
}

/// What is answered.
#[derive(Clone, PartialEq, Oneof)]
pub(in crate::search) enum Answered {
    #[prost(message, tag = "2")]
    Keys(Keys),
    #[prost(message, tag = "3")]
    Items(ItemList),
    #[prost(message, tag = "4")]
    Sessions(Sessions),
    #[prost(message, tag = "5")]
    SessionParts(SessionParts),
    #[prost(bytes, tag = "6")]
    SessionDigests(Vec<u8>),
    #[prost(message, tag = "7")]
    Trace(TraceJson),
    #[prost(message, tag = "8")]
    Aggregate(AnsweredAggregate),
    #[prost(message, tag = "9")]
    Values(Values),
    #[prost(message, tag = "10")]
    FacetMemory(FacetMemory),
    #[prost(message, tag = "11")]
    AttributeKeys(KeysOfAttributes),
}

/// The keys of traces, or of spans if the query has a condition on them.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedKeys {
    /// The key of the field that orders them.
    #[prost(string, tag = "1")]
    pub(super) sort: String,
    #[prost(bool, tag = "2")]
    pub(super) is_ascending: bool,
    /// Whether the newest are wanted, as far as `end`, without a look at all.
    #[prost(bool, tag = "3")]
    pub(super) is_newest: bool,
    /// The first rank, the one after the last, and the distance of two.
    #[prost(uint64, tag = "4")]
    pub(super) first: u64,
    #[prost(uint64, tag = "5")]
    pub(super) end: u64,
    #[prost(uint64, tag = "6")]
    pub(super) step: u64,
    /// How many documents of the first ranks are wanted with the keys, and how much of each is shown.
    #[prost(uint64, tag = "7")]
    pub(super) first_documents: u64,
    #[prost(string, tag = "8")]
    pub(super) detail: String,
}

/// Keys, each of the same length, which are less for what comes before.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct Keys {
    /// How many items there are.
    #[prost(uint64, tag = "1")]
    pub(super) count: u64,
    /// The keys, one after another.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) packed: Vec<u8>,
    /// The sizes of their documents.
    #[prost(uint64, repeated, tag = "3")]
    pub(super) bytes: Vec<u64>,
    /// The key up to which these are all; absent if there are no more.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(super) frontier: Option<Vec<u8>>,
    /// What is wrong with documents that were looked at.
    #[prost(string, repeated, tag = "5")]
    pub(super) damage: Vec<String>,
    /// The documents of the first of them, each a JSON object: as many as are wanted, or fewer.
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub(super) first_documents: Vec<Vec<u8>>,
}

/// Traces as items of a page.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedDocuments {
    /// Their ids, 16 bytes each.
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_ids: Vec<u8>,
    /// How much of each is shown.
    #[prost(string, tag = "2")]
    pub(super) detail: String,
    #[prost(bool, tag = "3")]
    pub(super) with_matches: bool,
}

/// Spans as items of a page.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedSpans {
    #[prost(message, repeated, tag = "1")]
    pub(super) traces: Vec<SpansOfTrace>,
    #[prost(bool, tag = "2")]
    pub(super) with_matches: bool,
}

/// The matching spans of a trace, from one to before another.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct SpansOfTrace {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_id: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub(super) from: u64,
    #[prost(uint64, tag = "3")]
    pub(super) to: u64,
}

/// Items in the order in which they were asked for: traces, each a JSON object; or of each trace its spans, objects with
/// commas between them, of which a damaged trace has none.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct ItemList {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(super) items: Vec<Vec<u8>>,
    #[prost(string, repeated, tag = "2")]
    pub(super) damage: Vec<String>,
}

/// The first sessions.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedSessions {
    #[prost(uint64, tag = "1")]
    pub(super) limit: u64,
    /// Up to how many sessions their digests are wanted, too.
    #[prost(uint64, tag = "2")]
    pub(super) max_digests: u64,
}

/// The first sessions of a shard.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct Sessions {
    /// How many there are.
    #[prost(uint64, tag = "1")]
    pub(super) count: u64,
    #[prost(message, repeated, tag = "2")]
    pub(super) first: Vec<NewestOfSession>,
    /// The digests of all, if they are wanted.
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(super) digests: Option<Vec<u8>>,
}

/// A session, and when its newest selected trace started.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct NewestOfSession {
    #[prost(sint64, tag = "1")]
    pub(super) start: i64,
    /// Its key: id and owner.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) session: Vec<u8>,
}

/// What a shard has of some sessions.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedSessionParts {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(super) sessions: Vec<Vec<u8>>,
}

/// The sessions that were asked for, in that order.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct SessionParts {
    #[prost(message, repeated, tag = "1")]
    pub(super) parts: Vec<SessionPart>,
}

/// The selected traces of one session on one shard.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct SessionPart {
    /// How many there are.
    #[prost(uint64, tag = "1")]
    pub(in crate::search) count: u64,
    /// When the oldest and the newest started, in microseconds since 1970.
    #[prost(sint64, tag = "2")]
    pub(in crate::search) oldest: i64,
    #[prost(sint64, tag = "3")]
    pub(in crate::search) newest: i64,
    /// The team and the workflow of the newest trace that has one.
    #[prost(message, optional, tag = "4")]
    pub(in crate::search) team: Option<ValueOfTrace>,
    #[prost(message, optional, tag = "5")]
    pub(in crate::search) workflow: Option<ValueOfTrace>,
    /// Each agent, with its oldest trace, the oldest first.
    #[prost(message, repeated, tag = "6")]
    pub(in crate::search) agents: Vec<ValueOfTrace>,
}

/// A value, and the sort key of the trace that has it.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::search) struct ValueOfTrace {
    #[prost(bytes = "vec", tag = "1")]
    pub(in crate::search) key: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(in crate::search) value: String,
}

/// The digests of sessions: those of one of several ranges of equal length.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedDigests {
    #[prost(uint32, tag = "1")]
    pub(super) range: u32,
    #[prost(uint32, tag = "2")]
    pub(super) ranges: u32,
}

/// A trace, a span of it, or a part of one of its values.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedTrace {
    /// Its id in hexadecimal digits.
    #[prost(string, tag = "1")]
    pub(super) trace_id: String,
    #[prost(oneof = "OfTrace", tags = "2, 3, 4")]
    pub(super) of: Option<OfTrace>,
}

/// What is asked of a trace.
#[derive(Clone, PartialEq, Oneof)]
pub(in crate::search) enum OfTrace {
    #[prost(message, tag = "2")]
    Whole(AskedWhole),
    #[prost(message, tag = "3")]
    Span(AskedSpan),
    #[prost(message, tag = "4")]
    Value(AskedValue),
}

/// All of a trace.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedWhole {
    #[prost(string, tag = "1")]
    pub(super) detail: String,
    /// Whether its document is damaged, and its row is wanted.
    #[prost(bool, tag = "2")]
    pub(super) is_damaged: bool,
}

/// One span.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedSpan {
    #[prost(string, tag = "1")]
    pub(super) span_id: String,
    #[prost(uint64, optional, tag = "2")]
    pub(super) max_bytes: Option<u64>,
}

/// A part of a value of a span.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedValue {
    #[prost(string, tag = "1")]
    pub(super) span_id: String,
    #[prost(string, tag = "2")]
    pub(super) path: String,
    #[prost(uint64, tag = "3")]
    pub(super) from: u64,
    #[prost(uint64, optional, tag = "4")]
    pub(super) max_bytes: Option<u64>,
}

/// What was asked of a trace, if there is such.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct TraceJson {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(super) json: Option<Vec<u8>>,
}

/// How much memory it takes to count the values of fields.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedFacetMemory {
    /// The keys of the fields.
    #[prost(string, repeated, tag = "1")]
    pub(in crate::search) fields: Vec<String>,
}

/// The memory in bytes, and how many traces the whole filter matches.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct FacetMemory {
    #[prost(uint64, tag = "1")]
    pub(in crate::search) bytes: u64,
    #[prost(uint64, tag = "2")]
    pub(in crate::search) matched: u64,
}

/// The keys of attributes that begin with a prefix.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct AskedAttributeKeys {
    #[prost(string, tag = "1")]
    pub(in crate::search) prefix: String,
}

/// Keys of attributes, each with the number of traces that have it.
#[derive(Clone, PartialEq, Message)]
pub(in crate::search) struct KeysOfAttributes {
    #[prost(string, repeated, tag = "1")]
    pub(in crate::search) keys: Vec<String>,
    #[prost(uint64, repeated, tag = "2")]
    pub(in crate::search) counts: Vec<u64>,
    #[prost(uint64, tag = "3")]
    pub(in crate::search) matched: u64,
    #[prost(uint64, tag = "4")]
    pub(in crate::search) uncounted: u64,
}

/// Returns the message in some bytes.
///
/// # Errors
/// [`Error::Busy`] if it is none.
pub(super) fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M> {
    M::decode(bytes).map_err(|error| Error::Busy(format!("a message between shards cannot be read: {error}")))
}

/// Returns the error of an answer to another question.
pub(in crate::search) fn unexpected() -> Error {
    Error::Busy("a shard returned the wrong response type".into())
}
