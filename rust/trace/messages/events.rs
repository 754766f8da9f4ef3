//! Messages that are sent as span events, one event per message: `gen_ai.user.message`, `gen_ai.choice`.

use serde_json::{Map, Value as Json};

use super::super::json::value_text;
use crate::otlp::proto::any_value::Value;
use crate::otlp::proto::span::Event;

/// Returns the messages among `events` as JSON.
pub(in super::super) fn messages_of_events(events: &[Event]) -> Json {
    let is_message =
        |name: &str| name == "gen_ai.choice" || (name.starts_with("gen_ai.") && name.ends_with(".message"));
    events.iter().filter(|event| is_message(&event.name)).map(message_of).collect()
}

/// Returns the arguments of a tool call, which are sent as a message in the events of its span.
pub(in super::super) fn call_of_events(events: &[Event]) -> Option<String> {
    let call = events.iter().find(|event| event.name == "gen_ai.tool.message")?;
    let content = call.attributes.iter().find(|attribute| attribute.key == "content")?;
    Some(value_text(content.value.as_ref()?.value.as_ref()?).into_owned())
}

/// Returns an event as an object of its attributes. JSON in a text is parsed.
fn message_of(event: &Event) -> Json {
    let attributes = event.attributes.iter().filter_map(|attribute| {
        let value = attribute.value.as_ref()?.value.as_ref()?;
        let text = value_text(value);
        let is_json = !matches!(value, Value::StringValue(_)) || text.starts_with(['{', '[']);
        let json = is_json.then(|| serde_json::from_str(&text).ok()).flatten();
        Some((attribute.key.clone(), json.unwrap_or_else(|| text.into())))
    });
    let mut members: Map<String, Json> = attributes.collect();
    members.insert("event.name".to_owned(), event.name.as_str().into());
    Json::Object(members)
}
