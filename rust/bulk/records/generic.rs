//! Records with one value per span property (`docs/bulk.md#columns-of-other-programs`), including records of
//! Phoenix.
//!
//! Phoenix names its ids `context.trace_id` and `context.span_id`. Its `span_kind` is the span kind of
//! `OpenInference`. Its attributes are nested, although `OpenInference` defines flat ones.

use std::borrow::Cow;

use prost::Message as _;

use super::super::columns::{KINDS, STATUSES};
use super::attributes::Attributes;
use super::ids::id;
use super::properties::{Named, Properties, Record, property_of};
use super::value::{Object, Value, attribute, member};
use super::{Checked, EncodedSpan};
use crate::otlp::proto::{self, KeyValue};
use crate::time::NANOS_PER_MICRO;

/// A property of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    TraceId,
    SpanId,
    Name,
    StartTime,
    EndTime,
    ParentSpanId,
    Kind,
    Status,
    StatusMessage,
    TraceState,
    Attributes,
    Events,
    Links,
    ResourceAttributes,
    ScopeName,
    ScopeVersion,
    CreatedAt,
}

/// Every property, at its position, with its names in order of precedence.
const NAMES: [(Property, &[&str]); 17] = [
    (Property::TraceId, &["trace_id", "context.trace_id"]),
    (Property::SpanId, &["span_id", "context.span_id"]),
    (Property::Name, &["name", "span_name"]),
    (Property::StartTime, &["start_time", "start_time_unix_nano"]),
    (Property::EndTime, &["end_time", "end_time_unix_nano"]),
    (Property::ParentSpanId, &["parent_span_id", "parent_id"]),
    (Property::Kind, &["kind", "span_kind"]),
    (Property::Status, &["status", "status_code"]),
    (Property::StatusMessage, &["status_message"]),
    (Property::TraceState, &["trace_state", "context.trace_state"]),
    (Property::Attributes, &["attributes", "span_attributes"]),
    (Property::Events, &["events"]),
    (Property::Links, &["links"]),
    (Property::ResourceAttributes, &["resource_attributes"]),
    (Property::ScopeName, &["scope_name"]),
    (Property::ScopeVersion, &["scope_version"]),
    (Property::CreatedAt, &["created_at"]),
];
const _: () = {
    let mut position = 0;
    while position < NAMES.len() {
        assert!(NAMES[position].0 as usize == position, "a property is not at its position");
        position += 1;
    }
};
const REQUIRED: usize = 4;
/// The prefix of the name of a value that is a single attribute.
const ATTRIBUTE: &str = "attributes.";
const EVENT_TIMES: [&str; 3] = ["time", "timestamp", "time_unix_nano"];
const OPENINFERENCE_KIND: &str = "openinference.span.kind";

/// The meaning of the name of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name<'n> {
    /// A property, and `true` for a name of Phoenix.
    Property(Named<Property>, bool),
    /// The attribute of this name.
    Attribute(&'n str),
}

/// Returns the meaning of `name`; `None` if the name is unknown.
fn name_of(name: &str) -> Option<Name<'_>> {
    if let Some(key) = name.strip_prefix(ATTRIBUTE) {
        return Some(Name::Attribute(key));
    }
    Some(Name::Property(property_of(NAMES, name)?, name.starts_with("context.")))
}

/// Returns the required properties without a name in `names`.
pub(super) fn missing_among(names: &[&str]) -> Vec<&'static str> {
    let required = NAMES[..REQUIRED].iter().map(|(_, known)| *known);
    required.filter(|known| !known.iter().any(|name| names.contains(name))).map(|known| known[0]).collect()
}

/// The values of a record by property.
#[derive(Debug, Default)]
pub(super) struct PropertyValues<'a> {
    properties: Properties<'a, { NAMES.len() }>,
    attributes: Vec<(Cow<'a, str>, Value<'a>)>,
    is_openinference: bool,
}

impl<'a> PropertyValues<'a> {
    /// Returns the values of a JSON object.
    ///
    /// # Errors
    /// A required member is missing.
    pub(super) fn of(object: Object<'a>) -> Checked<Self> {
        let mut values = Self::default();
        for (key, value) in object {
            match (key.as_ref(), value) {
                ("context", Value::Object(context)) => {
                    for (key, value) in context {
                        if let Some(Name::Property(name, is_phoenix)) = name_of(&format!("context.{key}")) {
                            values.set_property(name, is_phoenix, value);
                        }
                    }
                }
                (_, value) => match name_of(&key) {
                    Some(Name::Property(name, is_phoenix)) => values.set_property(name, is_phoenix, value),
                    Some(Name::Attribute(_)) => {
                        values.attributes.push((without_prefix(key, ATTRIBUTE.len()), value));
                    }
                    None => {}
                },
            }
        }
        let required = NAMES[..REQUIRED].iter();
        let required = required.filter(|(property, _)| values.properties.get(*property as usize).is_none());
        let missing: Vec<_> = required.map(|(_, names)| format!("`{}`", names[0])).collect();
        match missing[..] {
            [] => Ok(values),
            _ => Err(format!("expected a span, found an object without {}", missing.join(", "))),
        }
    }

    fn set_property(&mut self, name: Named<Property>, is_phoenix: bool, value: Value<'a>) {
        self.is_openinference |= is_phoenix;
        self.properties.set(name.property as usize, name.position, value);
    }

    fn get(&self, property: Property) -> Option<&Value<'a>> {
        self.properties.get(property as usize).filter(|value| **value != Value::Null)
    }

    fn text(&self, property: Property) -> String {
        self.get(property).map(Value::plain_text).unwrap_or_default().into_owned()
    }

    fn code(&self, property: Property, name: &str, words: &[&str]) -> Checked<i32> {
        let found = match self.get(property) {
            None => Some(0),
            Some(Value::Int(number)) => usize::try_from(*number).ok().filter(|number| *number < words.len()),
            Some(Value::Text(text)) if text.is_empty() => Some(0),
            Some(Value::Text(text)) => {
                let word = text.to_ascii_uppercase();
                let word = word.strip_prefix("SPAN_KIND_").unwrap_or(&word);
                let word = word.strip_prefix("STATUS_CODE_").unwrap_or(word);
                words.iter().position(|known| *known == word)
            }
            Some(_) => None,
        };
        let got = || self.get(property).map(Value::to_string).unwrap_or_default();
        found
            .and_then(|code| i32::try_from(code).ok())
            .ok_or_else(|| format!("expected `{name}` to be one of {}, got `{}`", words.join(", "), got()))
    }

    /// Moves Phoenix's span kind to the original attribute. Returns the OpenTelemetry span kind.
    fn take_openinference_kind(&mut self, attributes: &mut Attributes) -> Option<i32> {
        let kind = self.properties.take(Property::Kind as usize)?;
        let is_known = !matches!(kind.text(), None | Some("" | "UNKNOWN"));
        if is_known && !attributes.has(OPENINFERENCE_KIND) {
            attributes.push(OPENINFERENCE_KIND, &kind);
        }
        Some(proto::span::SpanKind::Internal as i32)
    }

    fn append_all(&mut self, attributes: &mut Attributes, property: Property, name: &str) -> Checked<()> {
        let mut path = String::new();
        for (key, value) in object(self.properties.take(property as usize), name)? {
            self.append(attributes, &mut path, &key, value);
        }
        Ok(())
    }

    /// Appends an attribute; `path` is a buffer for the keys of nested ones.
    fn append(&self, attributes: &mut Attributes, path: &mut String, key: &str, value: Value<'_>) {
        if self.is_openinference {
            path.clear();
            path.push_str(key);
            flatten(attributes, path, value);
        } else if value != Value::Null {
            attributes.push(key, &value);
        }
    }
}

impl<'a> Record<'a> for PropertyValues<'a> {
    type Name = Name<'a>;

    fn name_of(name: &'a str) -> Option<Self::Name> {
        name_of(name)
    }

    fn set(&mut self, name: Self::Name, value: Value<'a>) {
        match name {
            Name::Attribute(key) => self.attributes.push((key.into(), value)),
            Name::Property(name, is_phoenix) => self.set_property(name, is_phoenix, value),
        }
    }

    fn into_span(mut self) -> Checked<EncodedSpan> {
        let mut attributes = Attributes::of_span();
        self.append_all(&mut attributes, Property::Attributes, "attributes")?;
        let mut path = String::new();
        for (key, value) in std::mem::take(&mut self.attributes) {
            self.append(&mut attributes, &mut path, &key, value);
        }
        let kind = if self.is_openinference { self.take_openinference_kind(&mut attributes) } else { None };
        let kind = kind.map_or_else(|| self.code(Property::Kind, "kind", &KINDS), Ok)?;
        let end = self.get(Property::EndTime);
        let head = proto::Span {
            trace_id: id(self.get(Property::TraceId), "trace_id")?,
            span_id: id(self.get(Property::SpanId), "span_id")?,
            parent_span_id: id(self.get(Property::ParentSpanId), "parent_span_id")?,
            trace_state: self.text(Property::TraceState),
            name: self.text(Property::Name),
            kind,
            start_time_unix_nano: self
                .get(Property::StartTime)
                .unwrap_or(&Value::Null)
                .nanos("start_time")?,
            end_time_unix_nano: end.map_or(Ok(0), |end| end.nanos("end_time"))?,
            ..Default::default()
        };
        let tail = proto::Span {
            events: each(self.get(Property::Events), "events", event)?,
            links: each(self.get(Property::Links), "links", link)?,
            status: Some(proto::Status {
                code: self.code(Property::Status, "status", &STATUSES)?,
                message: self.text(Property::StatusMessage),
            }),
            ..Default::default()
        };
        let mut resource = Attributes::of_resource();
        self.append_all(&mut resource, Property::ResourceAttributes, "resource_attributes")?;
        let scope = proto::InstrumentationScope {
            name: self.text(Property::ScopeName),
            version: self.text(Property::ScopeVersion),
            ..Default::default()
        };
        let created_at = self.get(Property::CreatedAt).map(|at| at.nanos("created_at")).transpose()?;
        Ok(EncodedSpan {
            span: attributes.into_span(&head, &tail),
            resource: resource.into_resource(),
            scope: scope.encode_to_vec(),
            created_at: created_at.and_then(|nanos| i64::try_from(nanos / NANOS_PER_MICRO).ok()),
        })
    }
}

/// Returns a key without its first `length` bytes.
fn without_prefix(key: Cow<'_, str>, length: usize) -> Cow<'_, str> {
    match key {
        Cow::Borrowed(key) => key[length..].into(),
        Cow::Owned(mut key) => key.split_off(length).into(),
    }
}

/// Appends an attribute of `OpenInference`. Lists of objects become attributes with numbers in their names,
/// metadata becomes text, and token counts become integers.
fn flatten(attributes: &mut Attributes, key: &mut String, value: Value<'_>) {
    #[allow(clippy::cast_possible_truncation, reason = "a count of tokens")]
    let value = match value {
        Value::Double(count) if key.starts_with("llm.token_count.") && count.fract() == 0.0 => {
            Value::Int(count as i64)
        }
        other => other,
    };
    match value {
        Value::Null => {}
        Value::Object(_) if key == "metadata" || key.ends_with(".metadata") => {
            attributes.push(key, &Value::Text(value.plain_text()));
        }
        Value::Object(members) => {
            for (name, value) in members {
                flatten_member(attributes, key, &name, value);
            }
        }
        Value::List(values) if values.iter().any(|value| matches!(value, Value::Object(_))) => {
            for (number, value) in values.into_iter().enumerate() {
                flatten_member(attributes, key, &number.to_string(), value);
            }
        }
        other => attributes.push(key, &other),
    }
}

/// Appends the member `name` of `key`.
fn flatten_member(attributes: &mut Attributes, key: &mut String, name: &str, value: Value<'_>) {
    let length = key.len();
    key.push('.');
    key.push_str(name);
    flatten(attributes, key, value);
    key.truncate(length);
}

/// Returns the members of a map, a struct, or a JSON object in text.
fn object<'a>(value: Option<Value<'a>>, name: &str) -> Checked<Object<'a>> {
    match parsed(value)? {
        None | Some(Value::Null) => Ok(Object::new()),
        Some(Value::Object(members)) => Ok(members),
        Some(other) => Err(format!("expected `{name}` to be a map or a JSON object, got `{other}`")),
    }
}

/// Returns the elements of a list of structs, or of JSON objects in text.
fn each<T>(value: Option<&Value<'_>>, name: &str, convert: fn(&Object<'_>) -> Checked<T>) -> Checked<Vec<T>> {
    let refused = |found: &Value<'_>| {
        format!("expected `{name}` to be a list of structs or of JSON objects, got `{found}`")
    };
    match parsed(value.cloned())? {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::List(values)) => values
            .iter()
            .map(|value| match value {
                Value::Object(members) => convert(members),
                other => Err(refused(other)),
            })
            .collect(),
        Some(other) => Err(refused(&other)),
    }
}

/// Returns a value. JSON in text or bytes is parsed.
fn parsed(value: Option<Value<'_>>) -> Checked<Option<Value<'_>>> {
    let text = match &value {
        Some(Value::Text(text)) => text.as_bytes(),
        Some(Value::Bytes(bytes)) => bytes,
        _ => return Ok(value),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let parsed: Value<'_> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    Ok(Some(parsed.into_owned()))
}

fn event(event: &Object<'_>) -> Checked<proto::span::Event> {
    let time = EVENT_TIMES.iter().find_map(|name| member(event, name));
    Ok(proto::span::Event {
        name: member(event, "name").map(Value::plain_text).unwrap_or_default().into_owned(),
        time_unix_nano: time.map_or(Ok(0), |time| time.nanos("events.time"))?,
        attributes: attributes_of(event, "events.attributes")?,
        ..Default::default()
    })
}

fn link(link: &Object<'_>) -> Checked<proto::span::Link> {
    Ok(proto::span::Link {
        trace_id: id(member(link, "trace_id"), "links.trace_id")?,
        span_id: id(member(link, "span_id"), "links.span_id")?,
        attributes: attributes_of(link, "links.attributes")?,
        ..Default::default()
    })
}

fn attributes_of(holder: &Object<'_>, name: &str) -> Checked<Vec<KeyValue>> {
    let members = object(member(holder, "attributes").cloned(), name)?;
    let present = members.into_iter().filter(|(_, value)| *value != Value::Null);
    Ok(present.map(|(key, value)| attribute(key, value)).collect())
}
