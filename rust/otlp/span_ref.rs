//! A span read where it lies: what ingest must know of it, with nothing made of the rest.
//!
//! Decoding a span of a kilobyte makes some twenty objects, of which ingest looks at half and keeps five;
//! making and dropping them was a fifth of all the work of ingest. Texts are handed out as bytes, for only
//! few of them are ever read.

use prost::encoding::WireType;

use super::wire::{WireField, WireFields, describe};

/// What a span says of itself. Of a field that is repeated the last one counts, as in any decoder.
#[derive(Debug, Default, PartialEq)]
pub struct SpanRef<'a> {
    /// As sent, of whatever length.
    pub trace_id: &'a [u8],
    /// As sent, of whatever length.
    pub span_id: &'a [u8],
    /// As sent, of whatever length.
    pub parent_span_id: &'a [u8],
    /// The span's name.
    pub name: &'a [u8],
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    /// The code of its status: a `StatusCode`, or a number that is none.
    pub status: i32,
    /// Its attributes, in order.
    pub attributes: Vec<Attribute<'a>>,
}

/// A name and what stands behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Attribute<'a> {
    /// The name.
    pub key: &'a [u8],
    /// The value.
    pub value: Scalar<'a>,
}

/// A value, if it is a single one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Scalar<'a> {
    /// There is none.
    #[default]
    Missing,
    /// A text.
    Text(&'a [u8]),
    /// A whole number.
    Whole(i64),
    /// Any number.
    Double(f64),
    /// A truth value.
    Truth(bool),
    /// A list, a map, or bytes.
    Other,
}

impl<'a> SpanRef<'a> {
    /// Looks at an encoded `Span` message.
    ///
    /// # Errors
    /// What is wrong with a part that is looked at; other parts may still be malformed.
    pub fn of(message: &'a [u8]) -> Result<Self, String> {
        let mut attributes = Vec::with_capacity(12);
        let mut seen = Self::walk(message, |message| {
            attributes.push(attribute(message)?);
            Ok(())
        })?;
        seen.attributes = attributes;
        Ok(seen)
    }

    /// Looks at an encoded `Span` message; of its attributes nothing is kept, but `visit` is called with each one's
    /// message.
    ///
    /// # Errors
    /// As [`SpanRef::of`], or what `visit` returns.
    pub(super) fn walk(
        message: &'a [u8],
        mut visit: impl FnMut(&'a [u8]) -> Result<(), String>,
    ) -> Result<Self, String> {
        let mut seen = Self::default();
        for field in WireFields::of(message) {
            let field = field.map_err(|fault| describe(&fault))?;
            match field.number {
                1 => seen.trace_id = bytes(&field)?,
                2 => seen.span_id = bytes(&field)?,
                4 => seen.parent_span_id = bytes(&field)?,
                5 => seen.name = bytes(&field)?,
                7 => seen.start = fixed(&field)?,
                8 => seen.end = fixed(&field)?,
                9 => visit(bytes(&field)?)?,
                15 => read_status(bytes(&field)?, &mut seen.status)?,
                _ => {}
            }
        }
        Ok(seen)
    }
}

fn attribute(message: &[u8]) -> Result<Attribute<'_>, String> {
    let mut seen = Attribute::default();
    for field in WireFields::of(message) {
        let field = field.map_err(|fault| describe(&fault))?;
        match field.number {
            1 => seen.key = bytes(&field)?,
            2 => read_value(bytes(&field)?, &mut seen.value)?,
            _ => {}
        }
    }
    Ok(seen)
}

fn read_value<'a>(message: &'a [u8], value: &mut Scalar<'a>) -> Result<(), String> {
    for field in WireFields::of(message) {
        let field = field.map_err(|fault| describe(&fault))?;
        match field.number {
            1 => *value = Scalar::Text(bytes(&field)?),
            2 => *value = Scalar::Truth(varint(&field)? != 0),
            3 => *value = Scalar::Whole(varint(&field)?.cast_signed()),
            4 => *value = Scalar::Double(f64::from_bits(fixed(&field)?)),
            5..=8 => *value = Scalar::Other,
            _ => {}
        }
    }
    Ok(())
}

fn read_status(message: &[u8], code: &mut i32) -> Result<(), String> {
    for field in WireFields::of(message) {
        let field = field.map_err(|fault| describe(&fault))?;
        if field.number == 3 {
            #[allow(clippy::cast_possible_truncation, reason = "as every decoder reads an enumeration")]
            let read = varint(&field)?.cast_signed() as i32;
            *code = read;
        }
    }
    Ok(())
}

fn bytes<'a>(field: &WireField<'a>) -> Result<&'a [u8], String> {
    expect(field, WireType::LengthDelimited)?;
    Ok(field.content)
}

fn fixed(field: &WireField<'_>) -> Result<u64, String> {
    expect(field, WireType::SixtyFourBit)?;
    let wrong = |_| format!("field {} of {} bytes", field.number, field.content.len());
    field.content.try_into().map(u64::from_le_bytes).map_err(wrong)
}

fn varint(field: &WireField<'_>) -> Result<u64, String> {
    expect(field, WireType::Varint)?;
    prost::encoding::decode_varint(&mut &*field.content).map_err(|fault| describe(&fault))
}

fn expect(field: &WireField<'_>, wire_type: WireType) -> Result<(), String> {
    if field.wire_type == wire_type {
        return Ok(());
    }
    Err(format!("field {} of wire type {:?}, expected {wire_type:?}", field.number, field.wire_type))
}
