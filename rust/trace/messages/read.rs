//! Parses JSON that may contain messages.

use serde_json::Value as Json;

use super::message::{Side, text_of};
use super::shapes;

/// The maximum size of a text that is parsed as messages, in bytes. A longer text is shown verbatim.
const MAX_BYTES: usize = 1 << 20;

/// The result of parsing a text.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Reading {
    /// The text is not a list of messages.
    Other,
    /// The text has messages, but none of the requested side.
    Nothing,
    /// The text of the messages.
    Text(String),
}

/// Parses `text` as JSON, if it may be messages.
pub(in super::super) fn json_of(text: &str) -> Option<Json> {
    let may_be_messages = text.len() <= MAX_BYTES && text.trim_start().starts_with(['{', '[']);
    may_be_messages.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Returns the text of the messages in `json`.
pub(in super::super) fn text_in(json: &Json, side: Side) -> Option<String> {
    match read(json, side) {
        Reading::Text(text) => Some(text),
        Reading::Nothing | Reading::Other => None,
    }
}

/// Returns the text of a tool message, which frameworks use for the result of a call.
pub(in super::super) fn tool_message(text: &str) -> Option<String> {
    // An escape may encode a letter of the word.
    let has_word = || text.contains("tool") || text.contains("\\u");
    let may_be_message = text.len() <= MAX_BYTES && text.starts_with('{') && has_word();
    let json: Json = may_be_message.then(|| serde_json::from_str(text).ok()).flatten()?;
    let is_of_tool = json["type"] == "tool" || json["kwargs"]["type"] == "tool";
    let messages = is_of_tool.then(|| shapes::messages(&json, Side::Output)).flatten()?;
    text_of(&messages, Side::Output)
}

/// Parses `json` as messages in any shape.
pub(in super::super) fn read(json: &Json, side: Side) -> Reading {
    match shapes::messages(json, side) {
        None => Reading::Other,
        Some(messages) => text_of(&messages, side).map_or(Reading::Nothing, Reading::Text),
    }
}
