//! Messages of a conversation as text that people read (`docs/reference/traces.md#messages`).
//!
//! Frameworks write the same conversation in many shapes: as JSON text ([`shapes`]), one attribute per part
//! ([`numbered`]), or one span event per message ([`events`]). All become a list of [`Message`].

mod events;
mod numbered;
mod parts;
mod shapes;

use serde_json::Value as Json;

pub(super) use events::messages_of_events;
pub(super) use numbered::numbered_messages;

/// Maximum size of a text that is read as messages, in bytes; a longer one is shown as it was sent.
const MAX_BYTES: usize = 1 << 20;

/// The side of a span that a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// What was given to it.
    Input,
    /// What it gave back.
    Output,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    /// The system, a tool, anybody else.
    Other,
}

/// A message of a conversation.
#[derive(Debug)]
pub(super) struct Message {
    role: Role,
    /// Its text; empty if it has none.
    text: String,
    /// The calls of tools that it asks for, as `<name>(<arguments>)`.
    calls: Vec<String>,
}

/// What was found in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It is no list of messages.
    Other,
    /// Messages, of which none is of the side that was asked for.
    Nothing,
    /// The text of its messages.
    Text(String),
}

/// Reads `text`, JSON of messages in any shape.
pub(super) fn read(text: &str, side: Side) -> Reading {
    let may_be_messages = text.len() <= MAX_BYTES && text.trim_start().starts_with(['{', '[']);
    let json = may_be_messages.then(|| serde_json::from_str(text).ok()).flatten();
    json.map_or(Reading::Other, |json| read_json(&json, side))
}

/// Returns the text of a message of a tool, as frameworks write it for the result of a call.
pub(super) fn tool_message(text: &str) -> Option<String> {
    let may_be_message = text.len() <= MAX_BYTES && text.starts_with('{');
    let json: Json = may_be_message.then(|| serde_json::from_str(text).ok()).flatten()?;
    let is_of_tool = json["type"] == "tool" || json["kwargs"]["type"] == "tool";
    let messages = is_of_tool.then(|| shapes::messages(&json, Side::Output)).flatten()?;
    text_of(&messages, Side::Output)
}

/// Reads `json`, messages in any shape.
fn read_json(json: &Json, side: Side) -> Reading {
    match shapes::messages(json, side) {
        None => Reading::Other,
        Some(messages) => text_of(&messages, side).map_or(Reading::Nothing, Reading::Text),
    }
}

/// Returns the text of one side of a conversation: the last message of a user, else the last with a text; or what the
/// assistant answers after the last message of anybody else, its text and the tools that it calls.
fn text_of(messages: &[Message], side: Side) -> Option<String> {
    if side == Side::Input {
        let mut of_user = messages.iter().rev().filter(|message| message.role == Role::User);
        let mut with_text = messages.iter().rev().filter(|message| !message.text.is_empty());
        let last = of_user.find(|message| !message.text.is_empty()).or_else(|| with_text.next())?;
        return Some(last.text.clone());
    }
    let before =
        messages.iter().rposition(|message| message.role != Role::Assistant).map_or(0, |last| last + 1);
    let lines = messages[before..].iter().flat_map(|message| {
        let text = Some(message.text.as_str()).filter(|text| !text.is_empty());
        text.into_iter().chain(message.calls.iter().map(String::as_str))
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if !text.is_empty() {
        return Some(text);
    }
    // What a step gives back may be the result of a tool.
    let last = messages.last().filter(|last| last.role == Role::Other && !last.text.is_empty())?;
    Some(last.text.clone())
}
