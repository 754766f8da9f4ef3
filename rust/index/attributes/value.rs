//! The stored form of attribute values: a letter for the type, then the value.

use super::layout::MAX_VALUE_BYTES;
use crate::otlp::span_ref::ValueRef;

/// A value of an attribute in an index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StoredValue<'i> {
    /// The complete value.
    Known(ValueRef<'i>),
    /// A text longer than [`MAX_VALUE_BYTES`]; its content is not stored.
    LongText,
}

const TEXT: u8 = b't';
const LONG_TEXT: u8 = b'l';
const INT: u8 = b'i';
const DOUBLE: u8 = b'd';
const BOOL: u8 = b'b';
const OTHER: u8 = b'o';

/// Encodes a value into `out`, which is overwritten. A missing value has no bytes.
pub(super) fn encode(value: ValueRef<'_>, out: &mut Vec<u8>) {
    out.clear();
    match value {
        ValueRef::Missing => {}
        ValueRef::Text(text) if text.len() > MAX_VALUE_BYTES => out.push(LONG_TEXT),
        ValueRef::Text(text) => {
            out.push(TEXT);
            out.extend_from_slice(text);
        }
        ValueRef::Int(number) => {
            out.push(INT);
            out.extend_from_slice(&number.to_le_bytes());
        }
        ValueRef::Double(number) => {
            out.push(DOUBLE);
            out.extend_from_slice(&number.to_bits().to_le_bytes());
        }
        ValueRef::Bool(truth) => out.extend_from_slice(&[BOOL, u8::from(truth)]),
        ValueRef::Other => out.push(OTHER),
    }
}

/// Decodes the output of [`encode`].
pub(super) fn decode(stored: &[u8]) -> StoredValue<'_> {
    let known = |value| StoredValue::Known(value);
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    match stored.split_first() {
        Some((&TEXT, text)) => known(ValueRef::Text(text)),
        Some((&LONG_TEXT, [])) => StoredValue::LongText,
        Some((&INT, bytes)) => {
            known(number(bytes).map_or(ValueRef::Missing, |bits| ValueRef::Int(bits.cast_signed())))
        }
        Some((&DOUBLE, bytes)) => {
            known(number(bytes).map_or(ValueRef::Missing, |bits| ValueRef::Double(f64::from_bits(bits))))
        }
        Some((&BOOL, [truth])) => known(ValueRef::Bool(*truth == 1)),
        Some((&OTHER, [])) => known(ValueRef::Other),
        _ => known(ValueRef::Missing),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_is_read_as_it_was_written(
            text in prop::collection::vec(any::<u8>(), 0..160), int in any::<i64>(), double in any::<f64>(),
        ) {
            let mut out = vec![b'x'];
            let is_long = text.len() > MAX_VALUE_BYTES;
            let others = [ValueRef::Int(int), ValueRef::Double(double), ValueRef::Bool(int < 0), ValueRef::Other];
            for value in [ValueRef::Missing, ValueRef::Text(&text)].into_iter().chain(others) {
                encode(value, &mut out);
                let expected = match value {
                    ValueRef::Text(_) if is_long => StoredValue::LongText,
                    value => StoredValue::Known(value),
                };
                match (decode(&out), expected) {
                    (StoredValue::Known(ValueRef::Double(found)), StoredValue::Known(ValueRef::Double(own))) => {
                        prop_assert_eq!(found.to_bits(), own.to_bits());
                    }
                    (found, expected) => prop_assert_eq!(found, expected),
                }
            }
        }
    }
}
