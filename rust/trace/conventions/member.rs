//! Members of a JSON object in a text attribute.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::otlp::proto::any_value::Value;

/// The unparsed members of a JSON object, in order.
pub struct JsonObject<'a>(Vec<(String, &'a RawValue)>);

impl<'a> JsonObject<'a> {
    /// Parses `text`; `None` if it is not a JSON object.
    pub fn of(text: &'a str) -> Option<Self> {
        let is_object = text.trim_start().starts_with('{');
        let mut json = serde_json::Deserializer::from_str(text);
        is_object.then(|| json.deserialize_map(MemberReader).ok()).flatten().map(Self)
    }

    /// Returns the members, in order.
    pub fn into_members(self) -> Vec<(String, &'a RawValue)> {
        self.0
    }

    /// Returns the string or number at `path` as text; `None` for an empty text. The members of the path are
    /// separated by `.`.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.value(path)? {
            Value::StringValue(text) => Some(text),
            Value::IntValue(number) => Some(number.to_string()),
            Value::DoubleValue(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns the value at `path`, whose members are separated by `.`. Objects and arrays are returned as
    /// JSON. `null` and an empty text are `None`. A path that ends with `+` is the sum of the member and of
    /// all members with the prefix `<member>_`. A path that ends with `*` is the sum of all numbers.
    pub(super) fn value(&self, path: &str) -> Option<Value> {
        if path == "*" {
            let numbers = self.0.iter().filter_map(|(_, json)| json.get().parse::<f64>().ok());
            return numbers.reduce(|sum, number| sum + number).map(Value::DoubleValue);
        }
        if let Some(name) = path.strip_suffix('+') {
            return self.sum(name);
        }
        let (key, rest) = path.split_once('.').unwrap_or((path, ""));
        let (_, json) = self.0.iter().find(|(member, _)| member == key)?;
        if rest.is_empty() { value_of(json.get()) } else { JsonObject::of(json.get())?.value(rest) }
    }

    fn sum(&self, name: &str) -> Option<Value> {
        let is_part = |member: &str| {
            member.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let parts = self.0.iter().filter(|(member, _)| is_part(member));
        let counts: Vec<i64> = parts.filter_map(|(_, json)| json.get().parse().ok()).collect();
        let sum = counts.iter().fold(0, |sum: i64, count| sum.saturating_add(*count));
        (!counts.is_empty()).then_some(Value::IntValue(sum))
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

struct MemberReader;

impl<'de> Visitor<'de> for MemberReader {
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
