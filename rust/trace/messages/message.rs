//! A message of a conversation, and the text of a conversation's side.

use std::fmt;

use serde::Serialize;

/// The side of a span that a text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Side {
    Input,
    Output,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    /// The system, and all authors without another role.
    System,
    User,
    Assistant,
    Tool,
}

/// A message of a conversation.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) role: Role,
    /// The text; empty if it is missing.
    pub(super) text: String,
    /// The reasoning of the model; empty if it is missing.
    pub(super) reasoning: String,
    /// The requested tool calls.
    pub(super) calls: Vec<ToolCall>,
    /// The results of tools in the message.
    pub(super) results: Vec<ToolResult>,
}

#[derive(Debug, Serialize)]
pub(super) struct ToolCall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// The arguments as they were sent, usually JSON.
    pub(super) arguments: String,
}

#[derive(Debug)]
pub(super) struct ToolResult {
    /// The id of the call.
    pub(super) id: Option<String>,
    /// The name of the tool.
    pub(super) name: Option<String>,
    pub(super) text: String,
}

impl Message {
    /// Returns a message that has only a text.
    pub(super) fn of(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), reasoning: String::new(), calls: Vec::new(), results: Vec::new() }
    }
}

impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments)
    }
}

/// Returns the text of one side of a conversation. The input is the last user message, or otherwise the last
/// message with a text. The output is the assistant's answer after the last message of another role: its text
/// and its tool calls.
pub(super) fn text_of(messages: &[Message], side: Side) -> Option<String> {
    if side == Side::Input {
        let mut of_user = messages.iter().rev().filter(|message| message.role == Role::User);
        let mut with_text = messages.iter().rev().filter(|message| !message.text.is_empty());
        let last = of_user.find(|message| !message.text.is_empty()).or_else(|| with_text.next())?;
        return Some(last.text.clone());
    }
    let lines = messages[answer_start(messages)..].iter().flat_map(|message| {
        let text = Some(message.text.clone()).filter(|text| !text.is_empty());
        text.into_iter().chain(message.calls.iter().map(ToString::to_string))
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if !text.is_empty() {
        return Some(text);
    }
    // The output of a step may be the result of a tool.
    let is_other = |role| matches!(role, Role::System | Role::Tool);
    let last = messages.last().filter(|last| is_other(last.role) && !last.text.is_empty())?;
    Some(last.text.clone())
}

/// Returns the start of the answer: the position after the last message that is not from the assistant.
pub(super) fn answer_start(messages: &[Message]) -> usize {
    messages.iter().rposition(|message| message.role != Role::Assistant).map_or(0, |last| last + 1)
}
