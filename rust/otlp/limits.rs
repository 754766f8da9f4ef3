//! How large may a request be, and what it is made of?
//!
//! A span is surveyed on the wire, before anything of it is decoded: two bytes can ask for an object
//! of eighty, so it is known what decoding will cost before it is paid. A span over a limit is
//! rejected and counted, never cut.

use prost::encoding::WireType;

use super::proto;
use super::wire::{self, WireField, WireFields};

/// The most bytes of a request body, inflated.
pub const MAX_BODY_BYTES: usize = 20 << 20;
/// The most bytes that a request may take in memory once its spans are decoded, counting a copy of
/// each resource and scope for every trace it occurs in. Spans of agents take two to three times what
/// they take on the wire, so only a nearly full body of very small spans has to be sent in parts.
pub const MAX_DECODED_BYTES: usize = 4 * MAX_BODY_BYTES;
/// The most attributes of a span, an event, a link, a resource or a scope.
pub const MAX_ATTRIBUTES: usize = 1_024;
/// The most events of a span.
pub const MAX_EVENTS: usize = 1_024;
/// The most links of a span.
pub const MAX_LINKS: usize = 1_024;
/// The most bytes of one text or value; of a list, all it holds as encoded.
pub const MAX_VALUE_BYTES: usize = 4 << 20;
/// How deep values may nest; a value that is no list has depth 1.
pub const MAX_VALUE_DEPTH: usize = 32;

/// Decoding a body takes at most about so many times its size, itself and what is kept of it included: measured
/// with bodies of the smallest spans that are accepted.
const DECODE_MEMORY_FACTOR: usize = 6;

/// Returns about how many bytes decoding a body takes at most, from how many were sent with which content encoding.
pub fn max_decode_bytes(sent: usize, content_encoding: Option<&str>) -> u64 {
    let is_plain = content_encoding.is_none_or(|name| matches!(name.trim(), "" | "identity"));
    let body = if is_plain { sent.min(MAX_BODY_BYTES) } else { MAX_BODY_BYTES };
    (body * DECODE_MEMORY_FACTOR) as u64
}

/// The messages a span, a resource or a scope is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Span,
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

impl Shape {
    /// Returns what a field of this message holds, if it is known.
    fn kind(self, number: u32) -> Option<Kind> {
        let kind = match (self, number) {
            (Self::Span, 9)
            | (Self::Event | Self::Scope, 3)
            | (Self::Link, 4)
            | (Self::Resource | Self::KeyValueList, 1) => Kind::Part(Self::KeyValue),
            (Self::Span, 11) => Kind::Part(Self::Event),
            (Self::Span, 13) => Kind::Part(Self::Link),
            (Self::Span, 15) => Kind::Part(Self::Status),
            (Self::Resource, 3) => Kind::Part(Self::EntityRef),
            (Self::KeyValue, 2) | (Self::ArrayValue, 1) => Kind::Part(Self::AnyValue),
            (Self::AnyValue, 5) => Kind::Part(Self::ArrayValue),
            (Self::AnyValue, 6) => Kind::Part(Self::KeyValueList),
            (Self::Span, 3 | 5)
            | (Self::Event | Self::Status, 2)
            | (Self::Link, 3)
            | (Self::EntityRef, 1..=4)
            | (Self::Scope, 1 | 2)
            | (Self::KeyValue | Self::AnyValue, 1) => Kind::Text,
            (Self::Span, 1 | 2 | 4) | (Self::Link, 1 | 2) | (Self::AnyValue, 7) => Kind::Bytes,
            (Self::Span, 6 | 10 | 12 | 14)
            | (Self::Event | Self::Scope, 4)
            | (Self::Link, 5)
            | (Self::Status | Self::KeyValue, 3)
            | (Self::Resource, 2)
            | (Self::AnyValue, 2 | 3 | 8) => Kind::Number(WireType::Varint),
            (Self::Span, 7 | 8) | (Self::Event, 1) | (Self::AnyValue, 4) => {
                Kind::Number(WireType::SixtyFourBit)
            }
            (Self::Span, 16) | (Self::Link, 6) => Kind::Number(WireType::ThirtyTwoBit),
            _ => return None,
        };
        Some(kind)
    }

    /// Returns what the decoded message takes by itself, without what it points to.
    fn own_bytes(self) -> usize {
        match self {
            Self::Span => size_of::<super::AcceptedSpan>() + size_of::<proto::Span>(),
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

    /// Returns how many messages of shape `part` this one may hold, and what they are then called.
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

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Part(Shape),
    Text,
    Bytes,
    Number(WireType),
}

impl Kind {
    /// Whether a decoder takes the field as it stands; a part is looked into by itself.
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

/// A message that was looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survey {
    /// How many bytes it takes once decoded.
    pub(super) bytes: usize,
    /// Whether it surely can be decoded. What is not sound may still be.
    pub(super) is_sound: bool,
}

/// A message that is being surveyed.
struct Place<'a> {
    shape: Shape,
    message: &'a [u8],
    fields: WireFields<'a>,
    /// How many values it lies in, itself included.
    value_depth: usize,
    /// How many parts of each counted shape were met: attributes, events, links.
    counts: [usize; 3],
}

/// Looks through an encoded message.
///
/// # Errors
/// The limit that is exceeded, or the fault in the encoding.
pub(super) fn survey(shape: Shape, message: &[u8]) -> Result<Survey, String> {
    /// Of a deeper one only a decoder can say whether it is too deep.
    const SURELY_DECODED_DEPTH: usize = 64;
    let mut surveyed = Survey { bytes: shape.own_bytes(), is_sound: true };
    let mut path = Vec::with_capacity(4);
    path.push(Place::new(shape, message));
    while let Some(place) = path.last_mut() {
        let Some(field) = place.fields.next() else {
            path.pop();
            continue;
        };
        let field = field.map_err(|fault| wire::describe(&fault))?;
        let kind = place.shape.kind(field.number);
        surveyed.is_sound &= kind.is_none_or(|kind| kind.is_met_by(&field));
        if field.wire_type != WireType::LengthDelimited {
            continue;
        }
        let content = field.content;
        let part = if let Some(Kind::Part(part)) = kind { Some(part) } else { None };
        let is_value = part.is_none() || place.shape == Shape::AnyValue;
        if is_value && content.len() > MAX_VALUE_BYTES {
            let length = content.len();
            let owner = owner_of(&path);
            return Err(format!("{owner} of {length} bytes, expected at most {MAX_VALUE_BYTES}"));
        }
        let Some(part) = part else {
            // Text of a repeated field takes an object each, however short.
            surveyed.bytes += content.len() + size_of::<String>();
            continue;
        };
        place.count(part)?;
        surveyed.bytes += part.own_bytes();
        let value_depth = place.value_depth + usize::from(part == Shape::AnyValue);
        if value_depth > MAX_VALUE_DEPTH {
            let owner = owner_of(&path);
            return Err(format!("{owner} nested deeper than {MAX_VALUE_DEPTH}"));
        }
        surveyed.is_sound &= path.len() < SURELY_DECODED_DEPTH;
        path.push(Place { value_depth, ..Place::new(part, content) });
    }
    Ok(surveyed)
}

/// Returns how people call what the path leads to: the attribute it lies in, if it lies in one.
fn owner_of(path: &[Place<'_>]) -> String {
    let Some(attribute) = path.iter().find(|place| place.shape == Shape::KeyValue) else {
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

impl<'a> Place<'a> {
    fn new(shape: Shape, message: &'a [u8]) -> Self {
        Self { shape, message, fields: WireFields::of(message), value_depth: 0, counts: [0; 3] }
    }

    fn count(&mut self, part: Shape) -> Result<(), String> {
        let Some((limit, name)) = self.shape.limit(part) else { return Ok(()) };
        let count = match part {
            Shape::Event => &mut self.counts[1],
            Shape::Link => &mut self.counts[2],
            _ => &mut self.counts[0],
        };
        *count += 1;
        if *count > limit {
            return Err(format!("more than {limit} {name}"));
        }
        Ok(())
    }
}
