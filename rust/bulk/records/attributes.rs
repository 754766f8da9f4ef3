//! Encodes attributes as OTLP directly. Messages would copy each text into its own allocation.

use std::cell::Cell;
use std::ops::Range;

use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use super::value::Value;
use crate::otlp::proto;
use crate::otlp::wire::{field_size, open_field};

/// The field numbers of the attributes in a `Span` and in a `Resource`.
const OF_SPAN: u32 = 9;
const OF_RESOURCE: u32 = 1;

thread_local! {
    /// This thread's buffer for the attributes of a span.
    static CONTENT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The maximum size in bytes of the buffer that a thread keeps.
const MAX_REUSED_BYTES: usize = 1 << 20;

/// Encoded attributes.
#[derive(Debug)]
pub(super) struct Attributes {
    field: u32,
    content: Vec<u8>,
    /// The ranges of the keys in `content`.
    keys: Vec<Range<usize>>,
}

impl Attributes {
    pub(super) fn of_span() -> Self {
        /// The initial capacity. Most spans have fewer attributes.
        const COUNT: usize = 32;
        Self { field: OF_SPAN, content: CONTENT.take(), keys: Vec::with_capacity(COUNT) }
    }

    pub(super) fn of_resource() -> Self {
        Self { field: OF_RESOURCE, content: Vec::new(), keys: Vec::new() }
    }

    pub(super) fn push(&mut self, key: &str, value: &Value<'_>) {
        open_field(&mut self.content, self.field, attribute_size(key, value));
        write_attribute(key, value, &mut self.content);
        // The value is last, so the key ends before it.
        let end = self.content.len() - field_size(value_size(value));
        self.keys.push(end - key.len()..end);
    }

    /// Returns `true` if an attribute has this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|found| self.content[found.clone()] == *key.as_bytes())
    }

    /// Returns an encoded resource with these attributes.
    pub(super) fn into_resource(self) -> Vec<u8> {
        self.content
    }

    /// Returns an encoded span. The fields of `head` precede the attributes, and the fields of `tail` follow
    /// them.
    pub(super) fn into_span(mut self, head: &proto::Span, tail: &proto::Span) -> Vec<u8> {
        let bytes = head.encoded_len() + self.content.len() + tail.encoded_len();
        let mut span = Vec::with_capacity(bytes);
        head.encode_raw(&mut span);
        span.extend_from_slice(&self.content);
        tail.encode_raw(&mut span);
        if self.content.capacity() <= MAX_REUSED_BYTES {
            self.content.clear();
            CONTENT.set(self.content);
        }
        span
    }
}

/// Returns the size of a `KeyValue`. An empty key is omitted.
fn attribute_size(key: &str, value: &Value<'_>) -> usize {
    let key = if key.is_empty() { 0 } else { field_size(key.len()) };
    key + field_size(value_size(value))
}

fn write_attribute(key: &str, value: &Value<'_>, content: &mut Vec<u8>) {
    if !key.is_empty() {
        open_field(content, 1, key.len());
        content.extend_from_slice(key.as_bytes());
    }
    open_field(content, 2, value_size(value));
    write_value(value, content);
}

/// Returns the size of an `AnyValue`.
fn value_size(value: &Value<'_>) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 2,
        Value::Int(number) => 1 + encoded_len_varint(number.cast_unsigned()),
        Value::Double(_) => 9,
        Value::Text(text) => field_size(text.len()),
        Value::Bytes(bytes) => field_size(bytes.len()),
        Value::List(_) | Value::Object(_) => field_size(values_size(value)),
    }
}

/// Returns the size of an `ArrayValue` or of a `KeyValueList`.
fn values_size(value: &Value<'_>) -> usize {
    match value {
        Value::List(values) => values.iter().map(|value| field_size(value_size(value))).sum(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| field_size(attribute_size(key, value))).sum()
        }
        _ => 0,
    }
}

fn write_value(value: &Value<'_>, content: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Text(text) => {
            open_field(content, 1, text.len());
            content.extend_from_slice(text.as_bytes());
        }
        Value::Bool(is) => {
            encode_key(2, WireType::Varint, content);
            content.push(u8::from(*is));
        }
        Value::Int(number) => {
            encode_key(3, WireType::Varint, content);
            encode_varint(number.cast_unsigned(), content);
        }
        Value::Double(number) => {
            encode_key(4, WireType::SixtyFourBit, content);
            content.extend_from_slice(&number.to_le_bytes());
        }
        Value::List(values) => {
            open_field(content, 5, values_size(value));
            for value in values {
                open_field(content, 1, value_size(value));
                write_value(value, content);
            }
        }
        Value::Object(members) => {
            open_field(content, 6, values_size(value));
            for (key, value) in members {
                open_field(content, 1, attribute_size(key, value));
                write_attribute(key, value, content);
            }
        }
        Value::Bytes(bytes) => {
            open_field(content, 7, bytes.len());
            content.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::value::attribute;
    use super::*;

    fn values() -> impl Strategy<Value = Value<'static>> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            (-3_i64..300).prop_map(Value::Int),
            any::<f64>().prop_map(Value::Double),
            ".{0,200}".prop_map(|text: String| Value::Text(text.into())),
            prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| Value::Bytes(bytes.into())),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let members = prop::collection::vec((".{0,9}", inner.clone()), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(Value::List),
                members.prop_map(|members| {
                    Value::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_span_has_the_bytes_that_its_message_has(
            attributes in prop::collection::vec((".{0,9}", values()), 0..6),
            name in ".{0,9}",
            message in ".{0,9}",
            absent in ".{0,9}",
        ) {
            let mut written = Attributes::of_span();
            for (key, value) in &attributes {
                written.push(key, value);
            }
            for (key, _) in &attributes {
                prop_assert!(written.has(key));
            }
            prop_assert_eq!(written.has(&absent), attributes.iter().any(|(key, _)| *key == absent));
            let head = proto::Span { trace_id: vec![1; 16].into(), name, kind: 2, ..Default::default() };
            let status = Some(proto::Status { message, code: 1 });
            let tail = proto::Span { status: status.clone(), flags: 3, ..Default::default() };
            let attributes = attributes.into_iter().map(|(key, value)| attribute(key, value)).collect();
            let whole = proto::Span { attributes, status, flags: 3, ..head.clone() };
            prop_assert_eq!(written.into_span(&head, &tail), whole.encode_to_vec());
        }

        #[test]
        fn a_resource_has_the_bytes_that_its_message_has(
            attributes in prop::collection::vec((".{0,9}", values()), 0..6),
        ) {
            let mut written = Attributes::of_resource();
            for (key, value) in &attributes {
                written.push(key, value);
            }
            let attributes = attributes.into_iter().map(|(key, value)| attribute(key, value)).collect();
            let whole = proto::Resource { attributes, ..Default::default() };
            prop_assert_eq!(written.into_resource(), whole.encode_to_vec());
        }
    }
}
