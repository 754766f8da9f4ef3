//! A borrowed view of an encoded span: the fields that ingest reads, without decoding the others.
//!
//! Decoding a span of 1 KB allocates about twenty objects. Ingest reads half of them and keeps five.
//! Allocating and dropping them took a fifth of the work of ingest. Texts are returned as bytes, because only
//! a few of them are read later.

use prost::encoding::WireType;

use super::wire::{WireField, WireFields, contents, describe_error};

/// The fields of a span. If a field is repeated, the last one counts, as in any decoder.
#[derive(Debug, Default, PartialEq)]
pub struct SpanRef<'a> {
    /// As sent, of any length.
    pub trace_id: &'a [u8],
    /// As sent, of any length.
    pub span_id: &'a [u8],
    /// As sent, of any length.
    pub parent_span_id: &'a [u8],
    /// The span's name.
    pub name: &'a [u8],
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    /// The status code: a `StatusCode`, or an unknown number.
    pub status: i32,
    /// The status message.
    pub status_message: &'a [u8],
    /// The number of sent events.
    pub events: u32,
    /// The number of links.
    pub links: u32,
    /// The attributes, in order.
    pub attributes: Vec<AttributeRef<'a>>,
}

/// An attribute: a key and its value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AttributeRef<'a> {
    /// The name.
    pub key: &'a [u8],
    /// The value.
    pub value: ValueRef<'a>,
}

/// An attribute value. Only scalars are read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum ValueRef<'a> {
    /// No value.
    #[default]
    Missing,
    /// A string.
    Text(&'a [u8]),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// A boolean.
    Bool(bool),
    /// A list, a map, or bytes.
    Other,
}

/// An encoded field of a span that may be a source of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceRef<'a> {
    /// An attribute: its key, and the message with both key and value.
    Attribute(&'a [u8], &'a [u8]),
    /// An event.
    Event(&'a [u8]),
    /// The status.
    Status(&'a [u8]),
}

impl SourceRef<'_> {
    /// Returns the encoded message.
    pub fn bytes(&self) -> &[u8] {
        let (Self::Attribute(_, bytes) | Self::Event(bytes) | Self::Status(bytes)) = self;
        bytes
    }

    /// Returns `true` if the field has a value of type bytes, which is shown as base64.
    pub fn has_bytes_value(&self) -> bool {
        match self {
            Self::Attribute(_, bytes) => has_bytes_value(bytes, 2),
            Self::Event(event) => contents(event, 3)
                .any(|attribute| attribute.is_ok_and(|attribute| has_bytes_value(attribute, 2))),
            Self::Status(_) => false,
        }
    }
}

/// Returns `true` if a field of a message has a value of type bytes, or one nested in a list (field 5) or a
/// map (field 6). Stored values nest at most [`MAX_VALUE_DEPTH`](super::limits::MAX_VALUE_DEPTH) times.
/// Source: `AnyValue` in `common.proto`.
fn has_bytes_value(message: &[u8], value: u32) -> bool {
    contents(message, value).any(|value| {
        value.is_ok_and(|value| {
            WireFields::of(value).map_while(Result::ok).any(|field| match field.number {
                5 => has_bytes_value(field.content, 1),
                6 => {
                    contents(field.content, 1).any(|entry| entry.is_ok_and(|entry| has_bytes_value(entry, 2)))
                }
                number => number == 7,
            })
        })
    })
}

/// Returns the fields of an encoded `Span` message that may be sources of texts, in order.
///
/// # Errors
/// The error of a malformed field. Iteration must stop there.
pub fn sources_of(message: &[u8]) -> impl Iterator<Item = Result<SourceRef<'_>, String>> {
    WireFields::of(message).filter_map(|field| match field {
        Ok(field) => match field.number {
            9 => Some(bytes(&field).and_then(|own| Ok(SourceRef::Attribute(read_attribute(own)?.key, own)))),
            11 => Some(bytes(&field).map(SourceRef::Event)),
            15 => Some(bytes(&field).map(SourceRef::Status)),
            _ => None,
        },
        Err(error) => Some(Err(describe_error(&error))),
    })
}

impl<'a> SpanRef<'a> {
    /// Reads an encoded `Span` message.
    ///
    /// # Errors
    /// The error of a field that is read. Other fields may also be malformed.
    pub fn of(message: &'a [u8]) -> Result<Self, String> {
        let mut attributes = Vec::with_capacity(12);
        let mut span = Self::walk(message, |message| {
            attributes.push(read_attribute(message)?);
            Ok(())
        })?;
        span.attributes = attributes;
        Ok(span)
    }

    /// Reads an encoded `Span` message without its attributes.
    ///
    /// # Errors
    /// The errors of [`SpanRef::of`].
    pub fn without_attributes(message: &'a [u8]) -> Result<Self, String> {
        Self::walk(message, |_| Ok(()))
    }

    /// Reads an encoded `Span` message, and calls `visit` with the message of each attribute instead of
    /// collecting them.
    ///
    /// # Errors
    /// The errors of [`SpanRef::of`], or an error of `visit`.
    pub(super) fn walk(
        message: &'a [u8],
        mut visit: impl FnMut(&'a [u8]) -> Result<(), String>,
    ) -> Result<Self, String> {
        let mut span = Self::default();
        for field in WireFields::of(message) {
            let field = field.map_err(|error| describe_error(&error))?;
            match field.number {
                1 => span.trace_id = bytes(&field)?,
                2 => span.span_id = bytes(&field)?,
                4 => span.parent_span_id = bytes(&field)?,
                5 => span.name = bytes(&field)?,
                7 => span.start = fixed(&field)?,
                8 => span.end = fixed(&field)?,
                9 => visit(bytes(&field)?)?,
                11 => span.events += 1,
                13 => span.links += 1,
                15 => read_status(bytes(&field)?, &mut span)?,
                _ => {}
            }
        }
        Ok(span)
    }
}

/// Returns the attributes of an encoded `Resource` message, in order.
///
/// # Errors
/// The error of a malformed attribute or of the message. Iteration must stop there.
pub fn attributes_of_resource(message: &[u8]) -> impl Iterator<Item = Result<AttributeRef<'_>, String>> {
    contents(message, 1).map(|attribute| read_attribute(attribute.map_err(|error| error.to_string())?))
}

pub(super) fn read_attribute(message: &[u8]) -> Result<AttributeRef<'_>, String> {
    let mut attribute = AttributeRef::default();
    for field in WireFields::of(message) {
        let field = field.map_err(|error| describe_error(&error))?;
        match field.number {
            1 => attribute.key = bytes(&field)?,
            2 => read_value(bytes(&field)?, &mut attribute.value)?,
            _ => {}
        }
    }
    Ok(attribute)
}

fn read_value<'a>(message: &'a [u8], value: &mut ValueRef<'a>) -> Result<(), String> {
    for field in WireFields::of(message) {
        let field = field.map_err(|error| describe_error(&error))?;
        match field.number {
            1 => *value = ValueRef::Text(bytes(&field)?),
            2 => *value = ValueRef::Bool(varint(&field)? != 0),
            3 => *value = ValueRef::Int(varint(&field)?.cast_signed()),
            4 => *value = ValueRef::Double(f64::from_bits(fixed(&field)?)),
            5..=8 => *value = ValueRef::Other,
            _ => {}
        }
    }
    Ok(())
}

fn read_status<'a>(message: &'a [u8], span: &mut SpanRef<'a>) -> Result<(), String> {
    for field in WireFields::of(message) {
        let field = field.map_err(|error| describe_error(&error))?;
        match field.number {
            2 => span.status_message = bytes(&field)?,
            3 => {
                #[allow(clippy::cast_possible_truncation, reason = "as every decoder truncates an enum")]
                let read = varint(&field)?.cast_signed() as i32;
                span.status = read;
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn bytes<'a>(field: &WireField<'a>) -> Result<&'a [u8], String> {
    expect(field, WireType::LengthDelimited)?;
    Ok(field.content)
}

pub(super) fn fixed(field: &WireField<'_>) -> Result<u64, String> {
    expect(field, WireType::SixtyFourBit)?;
    let wrong = |_| format!("field {} of {} bytes", field.number, field.content.len());
    field.content.try_into().map(u64::from_le_bytes).map_err(wrong)
}

pub(super) fn varint(field: &WireField<'_>) -> Result<u64, String> {
    expect(field, WireType::Varint)?;
    prost::encoding::decode_varint(&mut &*field.content).map_err(|error| describe_error(&error))
}

fn expect(field: &WireField<'_>, wire_type: WireType) -> Result<(), String> {
    if field.wire_type == wire_type {
        return Ok(());
    }
    Err(format!("field {} of wire type {:?}, expected {wire_type:?}", field.number, field.wire_type))
}
