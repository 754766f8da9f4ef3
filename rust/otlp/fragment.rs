//! Fragments: events of a span that arrived without it.
//!
//! Some programs send the messages of a model call as log records that name a span, and not as events of that
//! span ([`super::logs`]). Such a record is stored as a fragment of the span. It becomes an event whenever
//! the span is read.
//!
//! Documents and WAL entries are `TracesData` messages. They have fragments in a field that OTLP does not
//! define and other programs skip. The field is removed from requests ([`super::request`]), so no sender can
//! bypass the checks of fragments. See `docs/reference/traces.md#fragments`.

use ahash::HashSet;
use bytes::Bytes;
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use super::span_ref::{fixed, varint};
use super::wire::{WireFields, contents, field_size, last_content, malformed, open_field};
use super::{SpanId, TraceId, proto};
use crate::error::Result;

/// The field of a fragment in `TracesData`: a message with the trace id (1), the span id (2), the event (3),
/// and the position (4).
const FRAGMENT: u32 = 21_328;
/// The field of an event in `Span`.
const EVENT: u32 = 11;

/// An event that arrived without its span. Fragments that differ only in their position are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fragment {
    /// The trace of its span.
    pub trace_id: TraceId,
    /// The span of the event.
    pub span_id: SpanId,
    /// The time of the event, in nanoseconds since 1970.
    pub time: u64,
    /// An encoded `Span.Event` message.
    pub event: Bytes,
    /// The position in the request, which is the order of events with the same time.
    pub position: u32,
}

impl Fragment {
    /// Returns the fragment of a span for `event`.
    pub fn new(trace_id: TraceId, span_id: SpanId, event: &proto::span::Event, position: u32) -> Self {
        Self { trace_id, span_id, time: event.time_unix_nano, event: event.encode_to_vec().into(), position }
    }

    /// Returns the key that distinguishes the fragment within its trace.
    pub fn key(&self) -> (SpanId, u64, &[u8]) {
        (self.span_id, self.time, &self.event)
    }

    fn decode(data: &Bytes, message: &[u8]) -> Result<Self> {
        let event = last_content(message, 3)?;
        let position = WireFields::of(message).filter_map(std::result::Result::ok);
        let position =
            position.filter(|field| field.number == 4).last().and_then(|field| varint(&field).ok());
        let position = position.and_then(|position| u32::try_from(position).ok()).unwrap_or(0);
        let (trace_id, span_id) = (last_content(message, 1)?, last_content(message, 2)?);
        let (Some(trace_id), Some(span_id)) = (TraceId::from_bytes(trace_id), SpanId::from_bytes(span_id))
        else {
            return Err(malformed("a fragment without the ids of its span"));
        };
        Ok(Self { trace_id, span_id, time: time_of(event), event: data.slice_ref(event), position })
    }

    fn encode(&self, message: &mut Vec<u8>) {
        let ids: [(u32, &[u8]); 2] = [(1, self.trace_id.as_bytes()), (2, self.span_id.as_bytes())];
        let size: usize = ids.iter().map(|(_, id)| field_size(id.len())).sum();
        encode_key(FRAGMENT, WireType::LengthDelimited, message);
        let position = u64::from(self.position);
        let position_size = if position == 0 { 0 } else { 1 + encoded_len_varint(position) };
        encode_varint((size + field_size(self.event.len()) + position_size) as u64, message);
        for (number, content) in ids.into_iter().chain([(3, self.event.as_ref())]) {
            open_field(message, number, content.len());
            message.extend_from_slice(content);
        }
        if position > 0 {
            encode_key(4, WireType::Varint, message);
            encode_varint(position, message);
        }
    }
}

/// Returns the fragments in an encoded `TracesData` message, in order. They share its memory.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a fragment is malformed.
pub fn fragments_of(data: &Bytes) -> Result<Vec<Fragment>> {
    contents(data, FRAGMENT).map(|message| Fragment::decode(data, message?)).collect()
}

/// Returns `true` if an encoded `TracesData` message has fragments.
pub fn has_fragments(data: &[u8]) -> bool {
    WireFields::of(data).map_while(std::result::Result::ok).any(|field| field.number == FRAGMENT)
}

/// Appends fragments to an encoded `TracesData` message.
pub fn append_fragments<'a>(message: &mut Vec<u8>, fragments: impl IntoIterator<Item = &'a Fragment>) {
    fragments.into_iter().for_each(|fragment| fragment.encode(message));
}

/// Returns an encoded `Span` message with the events in `fragments` added, in time order. Duplicate events
/// are skipped.
pub fn with_events(span: &[u8], fragments: &[Fragment]) -> Vec<u8> {
    let added: usize = fragments.iter().map(|fragment| field_size(fragment.event.len())).sum();
    let mut message = Vec::with_capacity(span.len() + added);
    let (mut events, mut fields) = (Vec::new(), WireFields::of(span));
    let mut start = 0;
    while let Some(Ok(field)) = fields.next() {
        let end = span.len() - fields.remaining();
        if field.number == EVENT {
            events.push((time_of(field.content), field.content));
        } else {
            message.extend_from_slice(&span[start..end]);
        }
        start = end;
    }
    let own: HashSet<&[u8]> = events.iter().map(|(_, event)| *event).collect();
    let new = fragments.iter().filter(|fragment| !own.contains(fragment.event.as_ref()));
    let mut new: Vec<_> = new.collect();
    new.sort_by_key(|fragment| fragment.position);
    events.extend(new.into_iter().map(|fragment| (fragment.time, fragment.event.as_ref())));
    events.sort_by_key(|(time, _)| *time);
    for (_, event) in events {
        open_field(&mut message, EVENT, event.len());
        message.extend_from_slice(event);
    }
    message
}

/// Returns the time of an encoded `Span.Event`, in nanoseconds since 1970.
fn time_of(event: &[u8]) -> u64 {
    let times = WireFields::of(event).map_while(std::result::Result::ok).filter(|field| field.number == 1);
    times.last().and_then(|field| fixed(&field).ok()).unwrap_or(0)
}
