//! The limits on requests and on their messages.
//!
//! A span is measured in its encoded form before it is decoded. Two bytes may require an object of eighty
//! bytes, so the cost of decoding must be known in advance. A span over a limit is rejected and counted,
//! never truncated.

use prost::encoding::WireType;

use super::proto;
use super::wire::{self, WireField, WireFields};

/// The maximum size of an inflated request body, in bytes.
pub const MAX_BODY_BYTES: usize = 20 << 20;
/// The maximum memory of the decoded spans of a request, in bytes. Each resource and scope counts once for
/// every trace that uses it. Agents' spans take two to three times their encoded size, so only a nearly full
/// body of very small spans must be split.
pub const MAX_DECODED_BYTES: usize = 4 * MAX_BODY_BYTES;
/// The maximum number of attributes of a span, an event, a link, a resource or a scope.
pub const MAX_ATTRIBUTES: usize = 1_024;
/// The maximum number of events of a span.
pub const MAX_EVENTS: usize = 1_024;
/// The maximum number of links of a span.
pub const MAX_LINKS: usize = 1_024;
/// The maximum size of one text or value, in bytes; for a list, of its whole encoding.
pub const MAX_VALUE_BYTES: usize = 4 << 20;
/// The maximum nesting of values; a scalar has depth 1.
pub const MAX_VALUE_DEPTH: usize = 32;

/// An upper bound of the memory for decoding, as a multiple of the body's size. It includes the body and its
/// spans. Measured with bodies of the smallest accepted spans.
const DECODE_MEMORY_FACTOR: usize = 6;

/// Returns an upper bound of the memory for decoding a body in bytes, from its encoded size and content
/// encoding.
pub fn max_decode_bytes(sent: usize, content_encoding: Option<&str>) -> u64 {
    let is_plain = content_encoding.is_none_or(|name| matches!(name.trim(), "" | "identity"));
    let body = if is_plain { sent.min(MAX_BODY_BYTES) } else { MAX_BODY_BYTES };
    (body * DECODE_MEMORY_FACTOR) as u64
}

/// The message types that spans, resources and scopes consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageShape {
    Span,
    LogRecord,
    Event,
    Link,
    Status,
    Resource,
    EntityRef,
    Scope,
    KeyValue,
    KeyValueList,
    AnyValue,
    ArrayValue,
}

impl MessageShape {
    /// Returns the content type of a field of this message, if the field is known.
    fn kind(self, number: u32) -> Option<FieldKind> {
        let kind = match (self, number) {
            (Self::Span, 9)
            | (Self::Event | Self::Scope, 3)
            | (Self::Link, 4)
            | (Self::LogRecord, 6)
            | (Self::Resource | Self::KeyValueList, 1) => FieldKind::Part(Self::KeyValue),
            (Self::Span, 11) => FieldKind::Part(Self::Event),
            (Self::Span, 13) => FieldKind::Part(Self::Link),
            (Self::Span, 15) => FieldKind::Part(Self::Status),
            (Self::Resource, 3) => FieldKind::Part(Self::EntityRef),
            (Self::KeyValue, 2) | (Self::ArrayValue, 1) | (Self::LogRecord, 5) => {
                FieldKind::Part(Self::AnyValue)
            }
            (Self::AnyValue, 5) => FieldKind::Part(Self::ArrayValue),
            (Self::AnyValue, 6) => FieldKind::Part(Self::KeyValueList),
            (Self::Span, 3 | 5)
            | (Self::LogRecord, 3 | 12)
            | (Self::Event | Self::Status, 2)
            | (Self::Link, 3)
            | (Self::EntityRef, 1..=4)
            | (Self::Scope, 1 | 2)
            | (Self::KeyValue | Self::AnyValue, 1) => FieldKind::Text,
            (Self::Span, 1 | 2 | 4)
            | (Self::LogRecord, 9 | 10)
            | (Self::Link, 1 | 2)
            | (Self::AnyValue, 7) => FieldKind::Bytes,
            (Self::Span, 6 | 10 | 12 | 14)
            | (Self::LogRecord, 2 | 7)
            | (Self::Event | Self::Scope, 4)
            | (Self::Link, 5)
            | (Self::Status | Self::KeyValue, 3)
            | (Self::Resource, 2)
            | (Self::AnyValue, 2 | 3 | 8) => FieldKind::Number(WireType::Varint),
            (Self::Span, 7 | 8) | (Self::LogRecord, 1 | 11) | (Self::Event, 1) | (Self::AnyValue, 4) => {
                FieldKind::Number(WireType::SixtyFourBit)
            }
            (Self::Span, 16) | (Self::LogRecord, 8) | (Self::Link, 6) => {
                FieldKind::Number(WireType::ThirtyTwoBit)
            }
            _ => return None,
        };
        Some(kind)
    }

    /// Returns the size of the decoded message itself, without its heap content.
    fn own_bytes(self) -> usize {
        match self {
            Self::Span => size_of::<super::AcceptedSpan>() + size_of::<proto::Span>(),
            Self::LogRecord => size_of::<super::Fragment>() + size_of::<proto::LogRecord>(),
            Self::Event => size_of::<proto::span::Event>(),
            Self::Link => size_of::<proto::span::Link>(),
            Self::Status => size_of::<proto::Status>(),
            Self::Resource => size_of::<proto::Resource>(),
            Self::EntityRef => size_of::<proto::EntityRef>(),
            Self::Scope => size_of::<proto::InstrumentationScope>(),
            Self::KeyValue => size_of::<proto::KeyValue>(),
            Self::KeyValueList => size_of::<proto::KeyValueList>(),
            Self::AnyValue => size_of::<proto::AnyValue>(),
            Self::ArrayValue => size_of::<proto::ArrayValue>(),
        }
    }

    /// Returns the maximum number of messages of shape `part` in this one, and their plural for error
    /// messages.
    fn limit(self, part: Self) -> Option<(usize, &'static str)> {
        match (self, part) {
            (Self::KeyValueList, _) => None,
            (Self::Event, Self::KeyValue) => Some((MAX_ATTRIBUTES, "attributes of an event")),
            (Self::Link, Self::KeyValue) => Some((MAX_ATTRIBUTES, "attributes of a link")),
            (_, Self::KeyValue) => Some((MAX_ATTRIBUTES, "attributes")),
            (_, Self::Event) => Some((MAX_EVENTS, "events")),
            (_, Self::Link) => Some((MAX_LINKS, "links")),
            _ => None,
        }
    }
}

/// The content type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Part(MessageShape),
    Text,
    Bytes,
    Number(WireType),
}

impl FieldKind {
    /// Returns `true` if a decoder accepts the field. Nested messages are checked separately.
    fn is_met_by(self, field: &WireField<'_>) -> bool {
        match self {
            Self::Part(_) | Self::Bytes => field.wire_type == WireType::LengthDelimited,
            Self::Text => {
                field.wire_type == WireType::LengthDelimited
                    && simdutf8::basic::from_utf8(field.content).is_ok()
            }
            Self::Number(wire_type) => field.wire_type == wire_type,
        }
    }
}

/// The result of surveying a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survey {
    /// The decoded size in bytes.
    pub(super) bytes: usize,
    /// True if the message certainly decodes. Otherwise only a decoder can determine that.
    pub(super) is_sound: bool,
}

/// A message being surveyed.
struct OpenMessage<'a> {
    shape: MessageShape,
    message: &'a [u8],
    fields: WireFields<'a>,
    /// The number of enclosing values, including the message itself.
    value_depth: usize,
    /// The number of attributes, events and links so far.
    counts: [usize; 3],
}

/// Measures an encoded message and checks it against the limits.
///
/// # Errors
/// The exceeded limit, or the encoding error.
pub(super) fn survey(shape: MessageShape, message: &[u8]) -> Result<Survey, String> {
    /// Beyond this depth, only a decoder can determine if the nesting is too deep.
    const SURELY_DECODED_DEPTH: usize = 64;
    let mut survey = Survey { bytes: shape.own_bytes(), is_sound: true };
    let mut stack = Vec::with_capacity(4);
    stack.push(OpenMessage::new(shape, message));
    while let Some(open) = stack.last_mut() {
        let Some(field) = open.fields.next() else {
            stack.pop();
            continue;
        };
        let field = field.map_err(|error| wire::describe_error(&error))?;
        let kind = open.shape.kind(field.number);
        survey.is_sound &= kind.is_none_or(|kind| kind.is_met_by(&field));
        if field.wire_type != WireType::LengthDelimited {
            continue;
        }
        let content = field.content;
        let part = if let Some(FieldKind::Part(part)) = kind { Some(part) } else { None };
        let is_value = part.is_none() || open.shape == MessageShape::AnyValue;
        if is_value && content.len() > MAX_VALUE_BYTES {
            let length = content.len();
            let owner = owner_of(&stack);
            return Err(format!("{owner} of {length} bytes, expected at most {MAX_VALUE_BYTES}"));
        }
        let Some(part) = part else {
            // Each text of a repeated field takes an object, even if it is short.
            survey.bytes += content.len() + size_of::<String>();
            continue;
        };
        open.count(part)?;
        survey.bytes += part.own_bytes();
        let value_depth = open.value_depth + usize::from(part == MessageShape::AnyValue);
        if value_depth > MAX_VALUE_DEPTH {
            let owner = owner_of(&stack);
            return Err(format!("{owner} nested deeper than {MAX_VALUE_DEPTH}"));
        }
        survey.is_sound &= stack.len() < SURELY_DECODED_DEPTH;
        stack.push(OpenMessage { value_depth, ..OpenMessage::new(part, content) });
    }
    Ok(survey)
}

/// Returns the name of the innermost message for error messages: the attribute that it belongs to, if there
/// is one.
fn owner_of(stack: &[OpenMessage<'_>]) -> String {
    let Some(attribute) = stack.iter().find(|open| open.shape == MessageShape::KeyValue) else {
        return "a field".to_owned();
    };
    let key = WireFields::of(attribute.message)
        .find_map(|field| {
            let is_key =
                |field: &WireField<'_>| field.number == 1 && field.wire_type == WireType::LengthDelimited;
            field.ok().filter(is_key).map(|field| field.content)
        })
        .unwrap_or_default();
    let key = String::from_utf8_lossy(&key[..key.len().min(256)]);
    format!("attribute `{}`", key.escape_debug())
}

impl<'a> OpenMessage<'a> {
    fn new(shape: MessageShape, message: &'a [u8]) -> Self {
        Self { shape, message, fields: WireFields::of(message), value_depth: 0, counts: [0; 3] }
    }

    fn count(&mut self, part: MessageShape) -> Result<(), String> {
        let Some((limit, name)) = self.shape.limit(part) else { return Ok(()) };
        let count = match part {
            MessageShape::Event => &mut self.counts[1],
            MessageShape::Link => &mut self.counts[2],
            _ => &mut self.counts[0],
        };
        *count += 1;
        if *count > limit {
            return Err(format!("more than {limit} {name}"));
        }
        Ok(())
    }
}
