//! Reads JSON that may be messages.

use serde_json::Value as Json;

use super::message::{Side, text_of};
use super::shapes;

/// Maximum size of a text that is read as messages, in bytes; a longer one is shown as it was sent.
const MAX_BYTES: usize = 1 << 20;

/// What was found in a text.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Reading {
    /// It is no list of messages.
    Other,
    /// Messages, of which none is of the side that was asked for.
    Nothing,
    /// The text of its messages.
    Text(String),
}

/// Reads `text`, JSON of messages in any shape.
pub(in super::super) fn read(text: &str, side: Side) -> Reading {
    let may_be_messages = text.len() <= MAX_BYTES && text.trim_start().starts_with(['{', '[']);
    let json = may_be_messages.then(|| serde_json::from_str(text).ok()).flatten();
    json.map_or(Reading::Other, |json| read_json(&json, side))
}

/// Returns the text of a message of a tool, as frameworks write it for the result of a call.
pub(in super::super) fn tool_message(text: &str) -> Option<String> {
    let may_be_message = text.len() <= MAX_BYTES && text.starts_with('{');
    let json: Json = may_be_message.then(|| serde_json::from_str(text).ok()).flatten()?;
    let is_of_tool = json["type"] == "tool" || json["kwargs"]["type"] == "tool";
    let messages = is_of_tool.then(|| shapes::messages(&json, Side::Output)).flatten()?;
    text_of(&messages, Side::Output)
}

/// Reads `json`, messages in any shape.
pub(super) fn read_json(json: &Json, side: Side) -> Reading {
    match shapes::messages(json, side) {
        None => Reading::Other,
        Some(messages) => text_of(&messages, side).map_or(Reading::Nothing, Reading::Text),
    }
}
