//! A message of a conversation, and the text of a conversation's side.

/// The side of a span that a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Side {
    /// What was given to it.
    Input,
    /// What it gave back.
    Output,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    /// The system, a tool, anybody else.
    Other,
}

/// A message of a conversation.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) role: Role,
    /// Its text; empty if it has none.
    pub(super) text: String,
    /// The calls of tools that it asks for, as `<name>(<arguments>)`.
    pub(super) calls: Vec<String>,
}

/// Returns the text of one side of a conversation: the last message of a user, else the last with a text; or what the
/// assistant answers after the last message of anybody else, its text and the tools that it calls.
pub(super) fn text_of(messages: &[Message], side: Side) -> Option<String> {
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
