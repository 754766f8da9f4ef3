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

/// Returns the JSON that `text` is, if it may be messages.
pub(in super::super) fn json_of(text: &str) -> Option<Json> {
    let may_be_messages = text.len() <= MAX_BYTES && text.trim_start().starts_with(['{', '[']);
    may_be_messages.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Returns the text of the messages that `json` is.
pub(in super::super) fn text_in(json: &Json, side: Side) -> Option<String> {
    match read(json, side) {
        Reading::Text(text) => Some(text),
        Reading::Nothing | Reading::Other => None,
    }
}

/// Returns the text of a message of a tool, as frameworks write it for the result of a call.
pub(in super::super) fn tool_message(text: &str) -> Option<String> {
    // An escape may be a letter of the word.
    let has_word = || text.contains("tool") || text.contains("\\u");
    let may_be_message = text.len() <= MAX_BYTES && text.starts_with('{') && has_word();
    let json: Json = may_be_message.then(|| serde_json::from_str(text).ok()).flatten()?;
    let is_of_tool = json["type"] == "tool" || json["kwargs"]["type"] == "tool";
    let messages = is_of_tool.then(|| shapes::messages(&json, Side::Output)).flatten()?;
    text_of(&messages, Side::Output)
}

/// Reads `json`, messages in any shape.
pub(in super::super) fn read(json: &Json, side: Side) -> Reading {
    match shapes::messages(json, side) {
        None => Reading::Other,
        Some(messages) => text_of(&messages, side).map_or(Reading::Nothing, Reading::Text),
    }
}
