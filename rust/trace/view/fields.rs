//! The fields of a span as one table. A new field is a new row.

use std::borrow::Cow;

use super::super::conventions::{Attribute, AttributeReader, ResourceTexts};
use super::super::node::tool_of_span;
use super::super::node_type::NodeType;
use super::super::row::micros;
use super::texts::Channel;
use super::trace_view::TraceView;
use crate::error::Result;
use crate::schema::{FieldType, STATUSES};

/// The value of a field of a span.
#[derive(Debug, Clone, PartialEq)]
pub enum SpanValue<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// An integer.
    Whole(i64),
    /// An amount of money in nanodollars.
    Nanodollars(i64),
    /// Nanoseconds since 1970.
    Nanos(i128),
    /// True or false.
    Boolean(bool),
}

/// The source of a field's value.
#[derive(Clone, Copy)]
enum Read {
    /// A function of the span at an ordinal.
    Value(for<'a> fn(&'a TraceView<'_>, usize) -> Result<Option<SpanValue<'a>>>),
    /// The texts of a channel.
    Texts(Channel),
}

/// The representation of a field in a span table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanColumn {
    /// A dictionary-encoded word.
    Word,
    /// A non-negative number.
    Number,
    /// Computed from the tree and the times.
    Derived(Derived),
    /// Not in the table; texts are in the documents.
    Absent,
}

/// A field that is computed from the position of a span in its tree, or from its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    /// `duration_ms`.
    Duration,
    /// `start_time`.
    Start,
    /// `is_root`.
    IsRoot,
    /// `depth`.
    Depth,
    /// `child_count`.
    ChildCount,
}

/// A field of a span: a row of the table.
pub struct SpanField {
    /// Its name in filters.
    pub key: &'static str,
    /// Its display name.
    pub label: &'static str,
    /// Its type.
    pub field_type: FieldType,
    /// Its representation in a span table.
    pub column: SpanColumn,
    read: Read,
}

impl std::fmt::Debug for SpanField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key)
    }
}

impl SpanField {
    /// Returns the field named `key`.
    pub fn from_key(key: &str) -> Option<&'static Self> {
        SPAN_FIELDS.iter().find(|field| field.key == key)
    }

    /// Returns the channel of a text field; `None` for other fields.
    pub fn channel(&self) -> Option<Channel> {
        match self.read {
            Read::Texts(channel) => Some(channel),
            Read::Value(_) => None,
        }
    }

    /// Returns the value of the span at an ordinal; `None` for NULL and for text fields.
    ///
    /// # Errors
    /// The errors of [`TraceView::attribute`].
    pub fn value<'a>(&self, view: &'a TraceView<'_>, ordinal: usize) -> Result<Option<SpanValue<'a>>> {
        match self.read {
            Read::Value(read) => read(view, ordinal),
            Read::Texts(_) => Ok(None),
        }
    }
}

macro_rules! field {
    ($key:literal, $label:literal, $type:ident, $column:expr, $read:expr) => {
        SpanField {
            key: $key,
            label: $label,
            field_type: FieldType::$type,
            column: $column,
            read: Read::Value($read),
        }
    };
}

const fn texts(key: &'static str, label: &'static str, channel: Channel) -> SpanField {
    SpanField {
        key,
        label,
        field_type: FieldType::Content,
        column: SpanColumn::Absent,
        read: Read::Texts(channel),
    }
}

/// The fields of a span, in the order of `/traces/filter-schema`.
pub static SPAN_FIELDS: [SpanField; 22] = [
    field!("name", "Name", Text, SpanColumn::Word, |view, at| Ok(text(&view.span(at).summary.name))),
    field!("type", "Type", Text, SpanColumn::Word, |view, at| Ok(text(
        view.span(at).summary.node_type.word()
    ))),
    field!("status", "Status", Status, SpanColumn::Word, |view, at| Ok(text(
        STATUSES[usize::from(view.span(at).is_error)]
    ))),
    field!("duration_ms", "Duration (ms)", Number, SpanColumn::Derived(Derived::Duration), |view, at| Ok(
        duration(view, at)
    )),
    field!("start_time", "Start Time", Time, SpanColumn::Derived(Derived::Start), |view, at| {
        Ok(Some(SpanValue::Nanos(i128::from(micros(view.span(at).start)) * 1_000)))
    }),
    field!("is_root", "Is a Root", Boolean, SpanColumn::Derived(Derived::IsRoot), |view, at| {
        Ok(Some(SpanValue::Boolean(view.parent(at).is_none())))
    }),
    field!("depth", "Depth", Number, SpanColumn::Derived(Derived::Depth), |view, at| Ok(Some(
        SpanValue::Whole(view.depths[at].into())
    ))),
    field!("child_count", "Children", Number, SpanColumn::Derived(Derived::ChildCount), |view, at| {
        Ok(Some(SpanValue::Whole(view.child_counts[at].into())))
    }),
    field!("model", "Model", Text, SpanColumn::Word, |view, at| of_model(view, at, Attribute::Model)),
    field!("provider", "Provider", Text, SpanColumn::Word, |view, at| of_model(
        view,
        at,
        Attribute::Provider
    )),
    field!("operation", "Operation", Text, SpanColumn::Word, |view, at| attribute(
        view,
        at,
        Attribute::Operation
    )),
    field!("tool_name", "Tool", Text, SpanColumn::Word, tool_name),
    field!("input_tokens", "Input Tokens", Number, SpanColumn::Number, |view, at| {
        Ok(tokens(view, at, view.span(at).summary.input_tokens))
    }),
    field!("output_tokens", "Output Tokens", Number, SpanColumn::Number, |view, at| {
        Ok(tokens(view, at, view.span(at).summary.output_tokens))
    }),
    field!("cached_tokens", "Cached Tokens", Number, SpanColumn::Number, |view, at| {
        Ok(tokens(view, at, view.span(at).summary.cached_tokens))
    }),
    field!("reasoning_tokens", "Reasoning Tokens", Number, SpanColumn::Number, |view, at| {
        Ok(tokens(view, at, view.span(at).summary.reasoning_tokens))
    }),
    field!("cost", "Cost ($)", Dollars, SpanColumn::Number, |view, at| {
        let cost = view.span(at).summary.cost;
        Ok(cost.map(|cost| SpanValue::Nanodollars(i64::try_from(cost).unwrap_or(i64::MAX))))
    }),
    field!("service", "Service", Text, SpanColumn::Word, |view, at| {
        let service = ResourceTexts::of(&view.span(at).wire.origin.resource).service;
        Ok(service.map(|service| SpanValue::Text(service.into())))
    }),
    texts("input", "Input", Channel::Input),
    texts("output", "Output", Channel::Output),
    texts("error", "Error", Channel::Error),
    texts("text", "Any Text", Channel::Any),
];

#[allow(clippy::unnecessary_wraps, reason = "every span has these")]
fn text(text: &str) -> Option<SpanValue<'_>> {
    Some(SpanValue::Text(text.into()))
}

/// Returns the displayed duration; NULL for a span without an end.
fn duration(view: &TraceView<'_>, ordinal: usize) -> Option<SpanValue<'static>> {
    let span = view.span(ordinal);
    let duration = (micros(span.end) - micros(span.start)).max(0) / 1_000;
    (span.end != 0).then_some(SpanValue::Whole(duration))
}

/// Returns a token count; NULL unless the span is a model call.
fn tokens(view: &TraceView<'_>, ordinal: usize, count: u64) -> Option<SpanValue<'static>> {
    let is_model = view.span(ordinal).summary.node_type.is_model();
    is_model.then(|| SpanValue::Whole(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn attribute<'a>(
    view: &'a TraceView<'_>,
    ordinal: usize,
    attribute: Attribute,
) -> Result<Option<SpanValue<'a>>> {
    let text = AttributeReader::of(&view.decoded(ordinal)?.attributes).text(attribute);
    Ok(text.filter(|text| !text.is_empty()).map(SpanValue::Text))
}

fn of_model<'a>(view: &'a TraceView<'_>, ordinal: usize, of: Attribute) -> Result<Option<SpanValue<'a>>> {
    if view.span(ordinal).summary.node_type.is_model() { attribute(view, ordinal, of) } else { Ok(None) }
}

fn tool_name<'a>(view: &'a TraceView<'_>, ordinal: usize) -> Result<Option<SpanValue<'a>>> {
    let span = view.span(ordinal);
    if span.summary.node_type != NodeType::Tool {
        return Ok(None);
    }
    let named = attribute(view, ordinal, Attribute::ToolName)?;
    Ok(named.or_else(|| tool_of_span(span).and_then(text)))
}
