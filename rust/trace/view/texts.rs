//! The texts of a span: its input, its output and its error.
//!
//! The texts of a side are the displayed text and every message of the conversation. They include the history
//! and the system prompt, which a node does not show.

use std::cell::OnceCell;

use super::super::Span;
use super::super::content::sent_sides;
use super::super::json::present;
use super::super::messages::ConversationMessage;
use super::super::node::Node;
use super::super::node_type::NodeType;
use crate::error::Result;
use crate::otlp::SpanRef;

/// A channel of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The input of a span.
    Input,
    /// The output of a span.
    Output,
    /// The error of a span.
    Error,
    /// All channels.
    Any,
}

/// The texts of a span, read on first use.
#[derive(Debug, Default)]
pub(super) struct SpanTexts {
    sides: OnceCell<[Vec<String>; 2]>,
    error: OnceCell<Option<String>>,
}

impl SpanTexts {
    /// Returns the texts of `span` in a channel. If the attributes in `decoded` determine the texts, the rest
    /// is not read.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if the stored bytes are not a span.
    pub(super) fn of(
        &self,
        span: &Span,
        decoded: Option<&SpanRef<'_>>,
        channel: Channel,
    ) -> Result<impl Iterator<Item = &str>> {
        let has = |own: Channel| channel == Channel::Any || channel == own;
        let none: &[String] = &[];
        let (mut input, mut output, mut error) = (none, none, None);
        if has(Channel::Input) || has(Channel::Output) {
            let [inputs, outputs] = self.sides(span, decoded)?;
            input = if has(Channel::Input) { inputs } else { none };
            output = if has(Channel::Output) { outputs } else { none };
        }
        if has(Channel::Error) {
            error = self.error(span)?;
        }
        Ok(input.iter().chain(output).map(String::as_str).chain(error))
    }

    fn sides(&self, span: &Span, decoded: Option<&SpanRef<'_>>) -> Result<&[Vec<String>; 2]> {
        if let Some(known) = self.sides.get() {
            return Ok(known);
        }
        let (scope, is_tool) = (span.wire.origin.scope_name(), span.summary.node_type == NodeType::Tool);
        if let Some(sent) = decoded.and_then(|decoded| sent_sides(decoded, scope, is_tool)) {
            let sides = sent.map(|text| text.into_iter().filter_map(present).map(str::to_owned).collect());
            return Ok(self.sides.get_or_init(|| sides));
        }
        let mut node = Node::of(span)?;
        let mut sides = [node.input(), node.output()].map(Vec::from_iter);
        if let Some(conversation) = node.conversation() {
            for (texts, messages) in sides.iter_mut().zip([conversation.input, conversation.output]) {
                texts.extend(messages.into_iter().flat_map(ConversationMessage::into_texts));
            }
        }
        for texts in &mut sides {
            texts.retain(|text| !text.is_empty());
        }
        Ok(self.sides.get_or_init(|| sides))
    }

    fn error(&self, span: &Span) -> Result<Option<&str>> {
        if !span.is_error {
            return Ok(None);
        }
        if self.error.get().is_none() {
            let error = Node::of(span)?.error();
            return Ok(self.error.get_or_init(|| error).as_deref());
        }
        Ok(self.error.get().and_then(Option::as_deref))
    }
}
