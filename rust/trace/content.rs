//! The input and output of a node (`docs/reference/traces.md#messages`).

use super::conventions::{Attribute, AttributeIndex, NUMBERED, VERBATIM};
use super::json::value_text;
use super::messages::{self, Reading, Side, messages_of_events, numbered_messages};
use super::node::Node;
use super::node_type::NodeType;

impl Node<'_> {
    /// Returns the input.
    pub(super) fn input(&mut self) -> Option<String> {
        self.content(Side::Input)
    }

    /// Returns the output.
    pub(super) fn output(&mut self) -> Option<String> {
        self.content(Side::Output)
    }

    /// Returns input or output: of the attribute, else of a span event, else of messages in events or numbered
    /// attributes.
    pub(super) fn content(&mut self, side: Side) -> Option<String> {
        let attribute = if side == Side::Input { Attribute::Input } else { Attribute::Output };
        if let Some(content) = self.content_of_attribute(attribute, side) {
            return Some(content);
        }
        let of_event = || self.content_of_event(attribute);
        let of_events = || messages_of_events(&self.message.events, side);
        of_event().or_else(of_events).or_else(|| self.numbered(attribute, side))
    }

    fn content_of_attribute(&mut self, attribute: Attribute, side: Side) -> Option<String> {
        let (position, value) = self.index.find(&self.message.attributes, attribute)?;
        let sent = value_text(&value);
        if self.span.summary.node_type == NodeType::Tool
            && side == Side::Output
            && let Some(text) = messages::tool_message(&sent)
        {
            return Some(text);
        }
        if self.is_verbatim(position) || !sent.starts_with(['{', '[']) {
            self.mark(position);
            return Some(sent);
        }
        // JSON beside numbered messages is the whole request or response of a model.
        if let Some(text) = self.numbered(attribute, side) {
            return Some(text);
        }
        match messages::read(&sent, side) {
            Reading::Text(text) => Some(text),
            // An attribute with both sides need not have this one.
            Reading::Nothing if self.has_both_sides(position) => None,
            Reading::Nothing | Reading::Other => {
                self.mark(position);
                Some(sent)
            }
        }
    }

    /// Whether the attribute at `position` is shown as it was sent: also what agno sends, and tools, whose arguments
    /// and results are theirs.
    fn is_verbatim(&self, position: Option<usize>) -> bool {
        let summary = &self.span.summary;
        let is_named = |position: usize| VERBATIM.contains(&self.message.attributes[position].key.as_str());
        summary.is_agno || summary.node_type == NodeType::Tool || position.is_some_and(is_named)
    }

    /// Whether the attribute at `position` holds input and output.
    fn has_both_sides(&self, position: Option<usize>) -> bool {
        [Attribute::Input, Attribute::Output].iter().all(|side| self.index.position(*side) == position)
    }

    fn numbered(&self, attribute: Attribute, side: Side) -> Option<String> {
        let (_, prefixes) = NUMBERED.iter().find(|(of, _)| *of == attribute)?;
        prefixes.iter().find_map(|prefix| numbered_messages(&self.message.attributes, prefix, side))
    }

    /// Returns content that older conventions put on a span event.
    fn content_of_event(&self, attribute: Attribute) -> Option<String> {
        self.message.events.iter().find_map(|event| {
            let value = AttributeIndex::of(&event.attributes).value(&event.attributes, attribute)?;
            Some(value_text(&value))
        })
    }
}
