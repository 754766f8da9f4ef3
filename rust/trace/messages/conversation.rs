//! The messages of a span in one shape for all instrumentations.

use serde::Serialize;
use serde_json::Value as Json;

use super::message::{Message, Role, Side, ToolCall, answer_start};
use super::parts::{MessageParts, lines};
use super::shapes;

/// Members of a request with system instructions that are separate from its messages.
const SYSTEM: [&str; 4] = ["system", "instructions", "system_instruction", "systemInstruction"];

/// The messages of a span, by side.
#[derive(Debug, Serialize)]
pub(in super::super) struct Conversation {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) input: Vec<ConversationMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) output: Vec<ConversationMessage>,
}

/// A message as it is displayed. The result of a tool is a separate message.
#[derive(Debug, Serialize)]
pub(in super::super) struct ConversationMessage {
    role: Role,
    text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reasoning: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl ConversationMessage {
    /// Returns the texts of the message: its text, the reasoning, and each tool call as
    /// `<name>(<arguments>)`.
    pub(in super::super) fn into_texts(self) -> impl Iterator<Item = String> {
        let calls = self.tool_calls.into_iter().map(|call| call.to_string());
        [self.text, self.reasoning].into_iter().chain(calls)
    }
}

/// Returns the messages of `side` in `json`. With `has_both_sides`, the answer follows the messages of the
/// input.
pub(in super::super) fn conversation(
    json: &Json,
    side: Side,
    has_both_sides: bool,
) -> Vec<ConversationMessage> {
    let Some(mut messages) = shapes::messages(json, side) else { return Vec::new() };
    let answer = answer_start(&messages);
    if side == Side::Output && answer == messages.len() {
        // The output of a step may be the result of a tool.
        messages.retain(|message| message.role != Role::User);
        messages.drain(..messages.len().saturating_sub(1));
    } else if side == Side::Output {
        messages.drain(..answer);
    } else if has_both_sides {
        messages.truncate(answer);
    }
    let mut shown = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        push(&mut shown, message);
    }
    if side == Side::Input
        && !shown.is_empty()
        && shown.iter().all(|message| message.role != Role::System)
        && let Some(system) = SYSTEM.iter().find_map(|key| system_message(json.get(key)?))
    {
        shown.insert(0, system);
    }
    shown
}

/// Returns the system message with this content: a text, or parts.
pub(in super::super) fn system_message(content: &Json) -> Option<ConversationMessage> {
    let mut parts = MessageParts::default();
    parts.read(content.get("parts").unwrap_or(content));
    let message = Message::of(Role::System, lines(parts.texts));
    (!message.text.is_empty()).then(|| shown(message))
}

impl ConversationMessage {
    /// Returns `true` for a message of the system.
    pub(in super::super) fn is_of_system(&self) -> bool {
        self.role == Role::System
    }
}

/// Appends a message, preceded by each tool result in it as a separate message. Items of one answer become
/// one message.
fn push(messages: &mut Vec<ConversationMessage>, mut message: Message) {
    let is_of_tool = !message.results.is_empty() && message.role != Role::Assistant;
    for result in message.results.drain(..) {
        let (tool_call_id, name) = (result.id, result.name);
        messages.push(ConversationMessage {
            tool_call_id,
            name,
            ..shown(Message::of(Role::Tool, result.text))
        });
    }
    let is_repeated = is_of_tool && message.role != Role::User;
    let is_empty = message.text.is_empty() && message.reasoning.is_empty() && message.calls.is_empty();
    if is_repeated || is_empty {
        return;
    }
    let message = shown(message);
    match messages.last_mut() {
        Some(last)
            if last.role == Role::Assistant
                && message.role == Role::Assistant
                && last.goes_on_in(&message) =>
        {
            last.append(message);
        }
        _ => messages.push(message),
    }
}

fn shown(message: Message) -> ConversationMessage {
    let Message { role, text, reasoning, calls, .. } = message;
    ConversationMessage { role, text, reasoning, tool_calls: calls, tool_call_id: None, name: None }
}

impl ConversationMessage {
    /// Returns `true` if `next` is another item of this answer. Some programs send the text, the reasoning
    /// and each call as separate items.
    fn goes_on_in(&self, next: &Self) -> bool {
        next.text.is_empty() || (self.text.is_empty() && self.tool_calls.is_empty())
    }

    fn append(&mut self, next: Self) {
        self.text.push_str(&next.text);
        if !self.reasoning.is_empty() && !next.reasoning.is_empty() {
            self.reasoning.push('\n');
        }
        self.reasoning.push_str(&next.reasoning);
        self.tool_calls.extend(next.tool_calls);
    }
}
