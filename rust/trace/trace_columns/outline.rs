//! The fields of the trace columns that the summary of a span lacks.

use std::borrow::Cow;

use super::super::Span;
use super::super::content::{attribute_of, prefixes_of};
use super::super::conventions::{Attribute, AttributeReader};
use super::super::messages::Side;
use super::super::node::{Node, tool_of_span};
use super::super::node_type::NodeType;
use crate::error::{Error, Result};
use crate::otlp::SpanRef;

/// The fields of the trace columns that the summary of a span lacks.
#[derive(Default)]
pub(super) struct SpanOutline<'a> {
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) tool: Option<Cow<'a, str>>,
    pub(super) error: Option<String>,
    pub(super) input_bytes: usize,
    pub(super) output_bytes: usize,
    pub(super) events: u32,
    pub(super) links: u32,
}

impl<'a> SpanOutline<'a> {
    /// Returns the outline of `span`.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stored bytes are damaged.
    pub(super) fn of(span: &'a Span) -> Result<Self> {
        let view = SpanRef::of(&span.wire.bytes).map_err(|error| {
            Error::Decode(format!("span {} of trace {}: {error}", span.span_id, span.trace_id))
        })?;
        let mut reader = AttributeReader::of(&view.attributes);
        let mut outline = Self {
            error: if span.is_error { Node::of(span)?.error() } else { None },
            input_bytes: content_bytes(span, &view, &reader, Side::Input)?,
            output_bytes: content_bytes(span, &view, &reader, Side::Output)?,
            events: view.events,
            links: view.links,
            ..Self::default()
        };
        if span.summary.node_type.is_model() {
            outline.model = reader.text(Attribute::Model);
        }
        if span.summary.node_type == NodeType::Tool {
            let own = || tool_of_span(span).map(Cow::Borrowed);
            outline.tool = reader.text(Attribute::ToolName).or_else(own);
        }
        Ok(outline)
    }
}

/// Returns the size in bytes of the input or the output. The content is only decoded if the span does not
/// have it as a text attribute.
fn content_bytes(
    span: &Span,
    view: &SpanRef<'_>,
    reader: &AttributeReader<'_, '_>,
    side: Side,
) -> Result<usize> {
    let attribute = attribute_of(side);
    if let Some(bytes) = reader.sent_bytes(attribute) {
        return Ok(bytes);
    }
    let has_prefix = |key: &[u8]| prefixes_of(attribute).any(|prefix| key.starts_with(prefix.as_bytes()));
    let is_numbered = || view.attributes.iter().any(|sent| has_prefix(sent.key));
    let may_have_content = reader.has(attribute) || view.events > 0 || is_numbered();
    if !may_have_content {
        return Ok(0);
    }
    Ok(Node::of(span)?.content(side).map_or(0, |content| content.len()))
}
