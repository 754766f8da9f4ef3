//! The input and output of a node (`docs/reference/traces.md#messages`).

use std::borrow::Cow;

use serde_json::Value as Json;

use super::conventions::{
    Attribute, AttributePositions, AttributeReader, NUMBERED, SYSTEM_INSTRUCTIONS, TABLE, VERBATIM, WHOLE,
    may_hold,
};
use super::json::value_text;
use super::messages::{
    self, Conversation, ConversationMessage, Reading, Side, call_of_events, json_of, messages_of_events,
    numbered_messages, system_message, text_in,
};
use super::node::Node;
use super::node_type::NodeType;
use crate::otlp::SpanRef;
use crate::otlp::proto::any_value::Value;
use crate::otlp::span_ref::ValueRef;

impl Node<'_> {
    pub(super) fn input(&mut self) -> Option<String> {
        self.content(Side::Input)
    }

    pub(super) fn output(&mut self) -> Option<String> {
        self.content(Side::Output)
    }

    /// Returns the input or the output. Sources in order: the attribute, a span event, messages in events or
    /// numbered attributes.
    pub(super) fn content(&mut self, side: Side) -> Option<String> {
        let attribute = attribute_of(side);
        if let Some(content) = self.content_of_attribute(attribute, side) {
            return Some(content);
        }
        let of_event = || self.content_of_event(attribute);
        let is_call = side == Side::Input && self.span.summary.node_type == NodeType::Tool;
        let of_events = || {
            let events = &self.message.events;
            if is_call { call_of_events(events) } else { text_in(&messages_of_events(events), side) }
        };
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
            let sent = sent.into_owned();
            self.mark(position);
            return Some(sent);
        }
        // JSON next to numbered messages is the whole request or response of a model.
        if let Some(text) = self.numbered(attribute, side) {
            return Some(text);
        }
        let json = self.json_of_value(position, &value);
        match json.map_or(Reading::Other, |json| messages::read(&json, side)) {
            Reading::Text(text) => Some(text),
            // An attribute for both sides may lack this one.
            Reading::Nothing if self.has_both_sides(position) => None,
            Reading::Nothing | Reading::Other => {
                let sent = sent.into_owned();
                self.mark(position);
                Some(sent)
            }
        }
    }

    /// Returns the JSON of a value that was found at `position`, if it may be messages.
    fn json_of_value(&self, position: Option<usize>, value: &Value) -> Option<Cow<'_, Json>> {
        match position {
            Some(position) => self.json_at(position).map(Cow::Borrowed),
            None => json_of(&value_text(value)).map(Cow::Owned),
        }
    }

    /// Returns `true` if the attribute at `position` is shown verbatim. This includes the attributes of agno,
    /// and the arguments and results of tools.
    fn is_verbatim(&self, position: Option<usize>) -> bool {
        let summary = &self.span.summary;
        let is_named = |position: usize| VERBATIM.contains(&self.message.attributes[position].key.as_str());
        summary.is_agno || summary.node_type == NodeType::Tool || position.is_some_and(is_named)
    }

    /// Returns `true` if the attribute at `position` has both input and output.
    fn has_both_sides(&self, position: Option<usize>) -> bool {
        [Attribute::Input, Attribute::Output].iter().all(|side| self.index.position(*side) == position)
    }

    fn numbered(&self, attribute: Attribute, side: Side) -> Option<String> {
        prefixes_of(attribute)
            .find_map(|prefix| text_in(&numbered_messages(&self.message.attributes, prefix, side), side))
    }

    /// Returns the input and output as messages. `None` if neither has messages, or if the span is a tool
    /// call, whose arguments and result are not messages.
    pub(super) fn conversation(&self) -> Option<Conversation> {
        if self.span.summary.node_type == NodeType::Tool {
            return None;
        }
        let mut input = self.messages(Side::Input);
        let output = self.messages(Side::Output);
        let system = self.position_of(SYSTEM_INSTRUCTIONS).and_then(|at| system_message(self.json_at(at)?));
        if let Some(system) = system.filter(|_| input.iter().all(|message| !message.is_of_system())) {
            input.insert(0, system);
        }
        (!input.is_empty() || !output.is_empty()).then_some(Conversation { input, output })
    }

    /// Returns the messages of a side from the first source that has any. Sources in order: numbered
    /// attributes, attributes of the side, events with such an attribute, events that are messages.
    fn messages(&self, side: Side) -> Vec<ConversationMessage> {
        let attribute = attribute_of(side);
        let attributes = &self.message.attributes;
        let found = self.index.find(attributes, attribute).and_then(|(position, value)| {
            let is_of_both =
                |at: usize| is_of_both_sides(&attributes[at].key) || self.has_both_sides(position);
            Some((self.json_of_value(position, &value)?, position.is_some_and(is_of_both)))
        });
        let names = TABLE[attribute as usize].names.iter().chain(&WHOLE);
        let others = names.filter_map(|name| {
            let json = self.json_at(self.position_of(name)?)?;
            Some((Cow::Borrowed(json), is_of_both_sides(name)))
        });
        let numbered = prefixes_of(attribute)
            .map(|prefix| (Cow::Owned(numbered_messages(attributes, prefix, side)), false));
        let of_event = || Some((Cow::Owned(json_of(&self.content_of_event(attribute)?)?), false));
        let of_events = || Some((Cow::Owned(messages_of_events(&self.message.events)), true));
        let later = std::iter::once_with(of_event).chain(std::iter::once_with(of_events)).flatten();
        let mut read = numbered
            .chain(found)
            .chain(others)
            .chain(later)
            .map(|(json, is_both)| messages::conversation(&json, side, is_both));
        read.find(|messages| !messages.is_empty()).unwrap_or_default()
    }

    /// Returns the position of the attribute with this name.
    fn position_of(&self, name: &str) -> Option<usize> {
        self.message.attributes.iter().position(|attribute| attribute.key == name)
    }

    /// Returns content that older conventions store in a span event.
    fn content_of_event(&self, attribute: Attribute) -> Option<String> {
        self.message.events.iter().find_map(|event| {
            let value = AttributePositions::of(&event.attributes).value(&event.attributes, attribute)?;
            Some(value_text(&value).into_owned())
        })
    }
}

/// Returns the attribute for a side.
pub(super) fn attribute_of(side: Side) -> Attribute {
    if side == Side::Input { Attribute::Input } else { Attribute::Output }
}

/// Returns the prefixes of the numbered attributes for `attribute`.
pub(super) fn prefixes_of(attribute: Attribute) -> impl Iterator<Item = &'static &'static str> {
    NUMBERED.iter().filter(move |(of, _)| *of == attribute).flat_map(|(_, prefixes)| *prefixes)
}

/// Returns `true` if an attribute with this name has both input and output.
fn is_of_both_sides(name: &str) -> bool {
    WHOLE.contains(&name)
        || [Attribute::Input, Attribute::Output]
            .iter()
            .all(|side| TABLE[*side as usize].names.contains(&name))
}

/// Returns `true` if the texts of `attribute` may be built from an attribute with this name.
pub(super) fn may_feed(name: &[u8], attribute: Attribute) -> bool {
    let is_named = |own: &&str| own.as_bytes() == name;
    let is_of_messages = match attribute {
        Attribute::Input | Attribute::Output => {
            WHOLE.iter().any(is_named)
                || TABLE[attribute as usize].names.iter().any(is_named)
                || prefixes_of(attribute).any(|prefix| name.starts_with(prefix.as_bytes()))
                || (attribute == Attribute::Input && name == SYSTEM_INSTRUCTIONS.as_bytes())
        }
        _ => false,
    };
    is_of_messages || may_hold(name, attribute)
}

/// Returns the text of a side that a node shows verbatim, if the attributes alone determine it. `scope` is
/// the name of the instrumentation scope.
pub(super) fn sent_text<'a>(reader: &AttributeReader<'_, 'a>, scope: &[u8], side: Side) -> Option<&'a str> {
    let (name, sent) = reader.whole_text(attribute_of(side))?;
    // The output of a tool may be a message, and only a part of it is shown.
    let may_be_message = side == Side::Output && sent.starts_with('{');
    if may_be_message && (sent.contains("tool") || sent.contains("\\u")) {
        return None;
    }
    let is_verbatim = || reader.is_agno(scope) || VERBATIM.iter().any(|own| own.as_bytes() == name);
    (!sent.starts_with(['{', '[']) || is_verbatim()).then_some(sent)
}

/// Returns the texts of both sides of a span if the attributes alone determine them, and there are no other
/// messages. `scope` is the name of the instrumentation scope.
pub(super) fn sent_sides<'a>(
    span: &SpanRef<'a>,
    scope: &[u8],
    is_tool: bool,
) -> Option<[Option<&'a str>; 2]> {
    if span.events > 0 || !span.attributes.iter().all(|own| is_no_message(own.key, own.value, is_tool)) {
        return None;
    }
    let reader = AttributeReader::of(&span.attributes);
    let [input, output] = [Side::Input, Side::Output].map(|side| {
        let sent = sent_text(&reader, scope, side);
        (sent.is_some() || !reader.has(attribute_of(side))).then_some(sent)
    });
    Some([input?, output?])
}

/// Returns `true` if an attribute cannot have messages. In a tool call, only numbered attributes can.
fn is_no_message(name: &[u8], value: ValueRef<'_>, is_tool: bool) -> bool {
    let sides = [Attribute::Input, Attribute::Output];
    let is_numbered =
        || sides.into_iter().flat_map(prefixes_of).any(|prefix| name.starts_with(prefix.as_bytes()));
    let may_be_json = |text: &[u8]| {
        text.trim_ascii_start().first().is_some_and(|byte| !byte.is_ascii() || b"{[".contains(byte))
    };
    !sides.into_iter().any(|side| may_feed(name, side))
        || !is_numbered() && (is_tool || matches!(value, ValueRef::Text(text) if !may_be_json(text)))
}
