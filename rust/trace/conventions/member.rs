//! Members of a JSON object that an attribute holds as text.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::otlp::proto::any_value::Value;

/// The members of a JSON object, in order, not read further.
pub(super) struct JsonObject<'a>(Vec<(String, &'a RawValue)>);

impl<'a> JsonObject<'a> {
    /// Reads `text`; `None` if it is no JSON object.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let is_object = text.trim_start().starts_with('{');
        let mut json = serde_json::Deserializer::from_str(text);
        is_object.then(|| json.deserialize_map(Members).ok()).flatten().map(Self)
    }

    /// Returns the string or number at `path`, members separated by `.`, as text; an empty text counts as none.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.value(path)? {
            Value::StringValue(text) => Some(text),
            Value::IntValue(number) => Some(number.to_string()),
            Value::DoubleValue(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns the value at `path`, members separated by `.`: objects and arrays as their JSON. `null` and an empty text
    /// count as none.
    pub(super) fn value(&self, path: &str) -> Option<Value> {
        let (key, rest) = path.split_once('.').unwrap_or((path, ""));
        let (_, json) = self.0.iter().find(|(member, _)| member == key)?;
        if rest.is_empty() { value_of(json.get()) } else { JsonObject::of(json.get())?.value(rest) }
    }
}

fn value_of(json: &str) -> Option<Value> {
    match json {
        "null" => None,
        "true" | "false" => Some(Value::BoolValue(json == "true")),
        text if text.starts_with('"') => {
            let text: String = serde_json::from_str(text).ok()?;
            (!text.is_empty()).then_some(Value::StringValue(text))
        }
        container if container.starts_with(['{', '[']) => Some(Value::StringValue(container.to_owned())),
        number => {
            number.parse().map(Value::IntValue).or_else(|_| number.parse().map(Value::DoubleValue)).ok()
        }
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}
