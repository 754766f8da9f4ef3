//! The OTLP messages that are parsed as a whole: spans, log records, resources and scopes.

use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use prost::Message;
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::check::Validated;
use super::super::limits::MAX_ATTRIBUTES;
use super::super::proto;
use super::body::JsonBody;
use super::value::{Id, Integer, ObjectMessage};

/// A JSON message with a protobuf equivalent.
pub(super) trait IntoProtobuf<'a> {
    type Protobuf: Message;

    /// Converts the message to protobuf. `body` is its request body.
    fn into_protobuf(self, body: JsonBody<'a>) -> Validated<Self::Protobuf>;
}

/// A list of objects that stops collecting after the limit, so that the excess can be reported.
struct List<T>(Vec<T>);

/// A key and an unparsed value. The value is parsed separately with the parser's full depth. Then our own
/// nesting limit applies, the same as in protobuf.
#[derive(serde::Deserialize)]
struct KeyValue<'a> {
    key: Option<String>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource<'a> {
    #[serde(borrow)]
    attributes: Option<List<KeyValue<'a>>>,
    dropped_attributes_count: Option<Integer<u32>>,
    entity_refs: Option<Vec<ObjectMessage<EntityRef>>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntityRef {
    schema_url: Option<String>,
    r#type: Option<String>,
    id_keys: Option<Vec<String>>,
    description_keys: Option<Vec<String>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scope<'a> {
    name: Option<String>,
    version: Option<String>,
    #[serde(borrow)]
    attributes: Option<List<KeyValue<'a>>>,
    dropped_attributes_count: Option<Integer<u32>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names, reason = "the names of the format")]
pub(super) struct Span<'a> {
    trace_id: Option<Id>,
    span_id: Option<Id>,
    trace_state: Option<String>,
    parent_span_id: Option<Id>,
    flags: Option<Integer<u32>>,
    name: Option<String>,
    kind: Option<i32>,
    start_time_unix_nano: Option<Integer<u64>>,
    end_time_unix_nano: Option<Integer<u64>>,
    #[serde(borrow)]
    attributes: Option<List<KeyValue<'a>>>,
    dropped_attributes_count: Option<Integer<u32>>,
    #[serde(borrow)]
    events: Option<List<Event<'a>>>,
    dropped_events_count: Option<Integer<u32>>,
    #[serde(borrow)]
    links: Option<List<Link<'a>>>,
    dropped_links_count: Option<Integer<u32>>,
    status: Option<ObjectMessage<Status>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogRecord<'a> {
    time_unix_nano: Option<Integer<u64>>,
    observed_time_unix_nano: Option<Integer<u64>>,
    severity_number: Option<i32>,
    severity_text: Option<String>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    #[serde(borrow)]
    attributes: Option<List<KeyValue<'a>>>,
    dropped_attributes_count: Option<Integer<u32>>,
    flags: Option<Integer<u32>>,
    trace_id: Option<Id>,
    span_id: Option<Id>,
    event_name: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    time_unix_nano: Option<Integer<u64>>,
    name: Option<String>,
    #[serde(borrow)]
    attributes: Option<List<KeyValue<'a>>>,
    dropped_attributes_count: Option<Integer<u32>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Link<'a> {
    trace_id: Option<Id>,
    span_id: Option<Id>,
    trace_state: Option<String>,
    #[serde(borrow)]
    attributes: Option<List<KeyValue<'a>>>,
    dropped_attributes_count: Option<Integer<u32>>,
    flags: Option<Integer<u32>>,
}

#[derive(serde::Deserialize)]
struct Status {
    message: Option<String>,
    code: Option<i32>,
}

impl<'a> IntoProtobuf<'a> for Resource<'a> {
    type Protobuf = proto::Resource;

    fn into_protobuf(self, body: JsonBody<'a>) -> Validated<proto::Resource> {
        Ok(proto::Resource {
            attributes: attributes(self.attributes, body)?,
            dropped_attributes_count: integer(self.dropped_attributes_count),
            entity_refs: self
                .entity_refs
                .into_iter()
                .flatten()
                .map(|ObjectMessage(entity)| entity.into_protobuf())
                .collect(),
        })
    }
}

impl EntityRef {
    fn into_protobuf(self) -> proto::EntityRef {
        proto::EntityRef {
            schema_url: self.schema_url.unwrap_or_default(),
            r#type: self.r#type.unwrap_or_default(),
            id_keys: self.id_keys.unwrap_or_default(),
            description_keys: self.description_keys.unwrap_or_default(),
        }
    }
}

impl<'a> IntoProtobuf<'a> for Scope<'a> {
    type Protobuf = proto::InstrumentationScope;

    fn into_protobuf(self, body: JsonBody<'a>) -> Validated<proto::InstrumentationScope> {
        Ok(proto::InstrumentationScope {
            name: self.name.unwrap_or_default(),
            version: self.version.unwrap_or_default(),
            attributes: attributes(self.attributes, body)?,
            dropped_attributes_count: integer(self.dropped_attributes_count),
        })
    }
}

impl<'a> IntoProtobuf<'a> for Span<'a> {
    type Protobuf = proto::Span;

    fn into_protobuf(self, body: JsonBody<'a>) -> Validated<proto::Span> {
        Ok(proto::Span {
            trace_id: id(self.trace_id),
            span_id: id(self.span_id),
            trace_state: self.trace_state.unwrap_or_default(),
            parent_span_id: id(self.parent_span_id),
            flags: integer(self.flags),
            name: self.name.unwrap_or_default(),
            kind: self.kind.unwrap_or_default(),
            start_time_unix_nano: integer(self.start_time_unix_nano),
            end_time_unix_nano: integer(self.end_time_unix_nano),
            attributes: attributes(self.attributes, body)?,
            dropped_attributes_count: integer(self.dropped_attributes_count),
            events: each(self.events, |event| event.into_protobuf(body))?,
            dropped_events_count: integer(self.dropped_events_count),
            links: each(self.links, |link| link.into_protobuf(body))?,
            dropped_links_count: integer(self.dropped_links_count),
            status: self.status.map(|ObjectMessage(status)| proto::Status {
                message: status.message.unwrap_or_default(),
                code: status.code.unwrap_or_default(),
            }),
        })
    }
}

impl<'a> IntoProtobuf<'a> for LogRecord<'a> {
    type Protobuf = proto::LogRecord;

    fn into_protobuf(self, body: JsonBody<'a>) -> Validated<proto::LogRecord> {
        Ok(proto::LogRecord {
            time_unix_nano: integer(self.time_unix_nano),
            observed_time_unix_nano: integer(self.observed_time_unix_nano),
            severity_number: self.severity_number.unwrap_or_default(),
            severity_text: self.severity_text.unwrap_or_default(),
            body: self.body.map(|value| body.read(value.get())).transpose()?,
            attributes: attributes(self.attributes, body)?,
            dropped_attributes_count: integer(self.dropped_attributes_count),
            flags: integer(self.flags),
            trace_id: id(self.trace_id),
            span_id: id(self.span_id),
            event_name: self.event_name.unwrap_or_default(),
        })
    }
}

impl<'a> Event<'a> {
    fn into_protobuf(self, body: JsonBody<'a>) -> Validated<proto::span::Event> {
        Ok(proto::span::Event {
            time_unix_nano: integer(self.time_unix_nano),
            name: self.name.unwrap_or_default(),
            attributes: attributes(self.attributes, body)?,
            dropped_attributes_count: integer(self.dropped_attributes_count),
        })
    }
}

impl<'a> Link<'a> {
    fn into_protobuf(self, body: JsonBody<'a>) -> Validated<proto::span::Link> {
        Ok(proto::span::Link {
            trace_id: id(self.trace_id),
            span_id: id(self.span_id),
            trace_state: self.trace_state.unwrap_or_default(),
            attributes: attributes(self.attributes, body)?,
            dropped_attributes_count: integer(self.dropped_attributes_count),
            flags: integer(self.flags),
        })
    }
}

fn attributes<'a>(list: Option<List<KeyValue<'a>>>, body: JsonBody<'a>) -> Validated<Vec<proto::KeyValue>> {
    each(list, |attribute| {
        let value = attribute.value.map(|value| body.read(value.get())).transpose()?;
        Ok(proto::KeyValue { key: attribute.key.unwrap_or_default(), value, key_strindex: 0 })
    })
}

fn each<T, M>(list: Option<List<T>>, into_protobuf: impl FnMut(T) -> Validated<M>) -> Validated<Vec<M>> {
    list.map_or_else(Vec::new, |List(elements)| elements).into_iter().map(into_protobuf).collect()
}

fn id(text: Option<Id>) -> Bytes {
    text.map_or_else(Bytes::new, |Id(bytes)| bytes)
}

fn integer<T: Default>(number: Option<Integer<T>>) -> T {
    number.map_or_else(T::default, |Integer(number)| number)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData)).map(Self)
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Vec<T>, S::Error> {
        let mut elements = Vec::new();
        while elements.len() <= MAX_ATTRIBUTES {
            let Some(element) = list.next_element()? else { return Ok(elements) };
            let ObjectMessage(element) = element;
            elements.push(element);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(elements)
    }
}
