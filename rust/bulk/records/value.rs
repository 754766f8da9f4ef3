//! A value of a record, and its OTLP and JSON forms.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::Checked;
use crate::otlp::proto::{AnyValue, ArrayValue, KeyValue, KeyValueList, any_value};
use crate::time::parse_instant;

/// A value, which borrows from the source text or columns where possible.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    List(Vec<Value<'a>>),
    Object(Object<'a>),
}

/// The members of an object, in order.
pub(super) type Object<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// Returns the value of a member; `None` if it is missing or null.
pub(super) fn member<'o, 'a>(object: &'o Object<'a>, name: &str) -> Option<&'o Value<'a>> {
    object.iter().find(|(key, _)| key == name).map(|(_, value)| value).filter(|value| **value != Value::Null)
}

/// Takes the values of a list member; `None` if there is no such member.
pub(super) fn take_list<'a>(object: &mut Object<'a>, name: &str) -> Option<Vec<Value<'a>>> {
    let (_, value) = object.iter_mut().find(|(key, _)| key == name)?;
    match value {
        Value::List(values) => Some(std::mem::take(values)),
        _ => None,
    }
}

impl Value<'_> {
    /// Returns the text; `None` for other values.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns an instant in nanoseconds since 1970, from a number of nanoseconds or an ISO 8601 text. A text
    /// without an offset is in UTC.
    pub(super) fn nanos(&self, name: &str) -> Checked<u64> {
        let found = match self {
            Self::Int(count) => u64::try_from(*count).ok(),
            Self::Text(text) => parse_instant(text).and_then(|nanos| u64::try_from(nanos).ok()),
            _ => None,
        };
        found.ok_or_else(|| {
            format!("expected `{name}` to be an instant, or nanoseconds since 1970, got `{self}`")
        })
    }

    /// Converts the value to OTLP.
    pub(super) fn into_otlp(self) -> AnyValue {
        let value = match self {
            Self::Null => None,
            Self::Bool(is) => Some(any_value::Value::BoolValue(is)),
            Self::Int(number) => Some(any_value::Value::IntValue(number)),
            Self::Double(number) => Some(any_value::Value::DoubleValue(number)),
            Self::Text(text) => Some(any_value::Value::StringValue(text.into_owned())),
            Self::Bytes(bytes) => Some(any_value::Value::BytesValue(bytes.into_owned().into())),
            Self::List(values) => {
                let values = values.into_iter().map(Value::into_otlp).collect();
                Some(any_value::Value::ArrayValue(ArrayValue { values }))
            }
            Self::Object(members) => {
                let values = members.into_iter().map(|(key, value)| attribute(key, value)).collect();
                Some(any_value::Value::KvlistValue(KeyValueList { values }))
            }
        };
        AnyValue { value }
    }

    /// Returns a text unchanged, an empty text for null, and any other value as JSON.
    pub(super) fn plain_text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::default(),
            Self::Text(text) => Cow::Borrowed(text),
            other => other.json().into(),
        }
    }

    /// Returns the value without borrowed data.
    pub(super) fn into_owned<'other>(self) -> Value<'other> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(is) => Value::Bool(is),
            Self::Int(number) => Value::Int(number),
            Self::Double(number) => Value::Double(number),
            Self::Text(text) => Value::Text(text.into_owned().into()),
            Self::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
            Self::List(values) => Value::List(values.into_iter().map(Value::into_owned).collect()),
            Self::Object(members) => {
                let owned =
                    |(key, value): (Cow<'_, str>, Value<'_>)| (key.into_owned().into(), value.into_owned());
                Value::Object(members.into_iter().map(owned).collect())
            }
        }
    }

    fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns an attribute of a span, a resource, an event or a link.
pub(super) fn attribute(key: impl Into<String>, value: Value<'_>) -> KeyValue {
    KeyValue { key: key.into(), value: Some(value.into_otlp()), key_strindex: 0 }
}

/// Formats the value for error messages.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_CHARS: usize = 100;
        let text = match self {
            Self::Text(text) => text.to_string(),
            other => other.json(),
        };
        text.chars().take(MAX_CHARS).try_for_each(|letter| write!(f, "{letter}"))
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(is))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value<'de>, E> {
        // OTLP has only signed 64-bit integers.
        Ok(i64::try_from(number).map_or_else(|_| Value::Text(number.to_string().into()), Value::Int))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Double(number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(text.to_owned().into()))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Value<'de>, S::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Value<'de>, M::Error> {
        let mut object = Object::new();
        while let Some((Key(key), value)) = members.next_entry()? {
            object.push((key, value));
        }
        Ok(Value::Object(object))
    }
}

/// The name of a member, borrowed unless it has escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(ValueVisitor)? {
            Value::Text(text) => Ok(Self(text)),
            other => Err(D::Error::custom(format!("expected a name, found `{other}`"))),
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(is) => serializer.serialize_bool(*is),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Double(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.serialize_str(&String::from_utf8_lossy(bytes)),
            Self::List(values) => serializer.collect_seq(values),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}
