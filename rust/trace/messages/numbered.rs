//! Messages that were sent as one attribute per part, `<prefix><number>.<part>`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::message::Side;
use crate::otlp::proto::any_value::Value;
use crate::otlp::proto::{AnyValue, KeyValue};

/// The maximum number of parts in an attribute name.
const MAX_DEPTH: usize = 12;

/// The numbered attributes as a tree, by the parts of their names.
#[derive(Default)]
struct Branch {
    value: Option<Json>,
    below: BTreeMap<String, Self>,
}

/// Returns the messages whose attributes have the prefix `prefix`, as JSON.
pub(in super::super) fn numbered_messages(attributes: &[KeyValue], prefix: &str, side: Side) -> Json {
    let mut root = Branch::default();
    for attribute in attributes {
        let Some(path) = attribute.key.strip_prefix(prefix) else { continue };
        let parts: Vec<&str> = path.split('.').collect();
        if parts.len() < 2 || parts.len() > MAX_DEPTH || parts[0].parse::<u64>().is_err() {
            continue;
        }
        let mut branch = &mut root;
        for part in parts {
            branch = branch.below.entry(part.to_owned()).or_default();
        }
        branch.value = attribute.value.as_ref().and_then(json_of);
    }
    let mut messages = root.into_json();
    // The role of a completion may be missing.
    let role = if side == Side::Input { "user" } else { "assistant" };
    for message in messages.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        if !message.contains_key("message") {
            message.entry("role").or_insert_with(|| role.into());
        }
    }
    messages
}

impl Branch {
    /// Returns the tree as JSON. Names that are all numbers become the positions of a list.
    fn into_json(self) -> Json {
        if self.below.is_empty() {
            return self.value.unwrap_or_default();
        }
        let numbers: Option<Vec<u64>> = self.below.keys().map(|key| key.parse().ok()).collect();
        let Some(numbers) = numbers else {
            let members = self.below.into_iter().map(|(key, below)| (key, below.into_json()));
            return Json::Object(members.collect::<Map<_, _>>());
        };
        let mut items: Vec<_> = numbers.into_iter().zip(self.below.into_values()).collect();
        items.sort_by_key(|(number, _)| *number);
        items.into_iter().map(|(_, below)| below.into_json()).collect()
    }
}

/// Returns the JSON of a scalar.
fn json_of(value: &AnyValue) -> Option<Json> {
    match value.value.as_ref()? {
        Value::StringValue(text) => Some(text.as_str().into()),
        Value::BoolValue(truth) => Some((*truth).into()),
        Value::IntValue(number) => Some((*number).into()),
        Value::DoubleValue(number) => Some((*number).into()),
        _ => None,
    }
}
