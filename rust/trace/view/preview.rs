//! Writes a span for a list of spans (`docs/reference/api-search.md#span-preview`).

use super::super::json::{JsonWriter, preview};
use super::super::node::Node;
use super::fields::{SpanField, SpanValue};
use super::trace_view::TraceView;
use crate::error::Result;

/// The displayed fields, with the values that filters compare.
const SHOWN: [&str; 13] = [
    "name",
    "type",
    "status",
    "start_time",
    "duration_ms",
    "model",
    "tool_name",
    "service",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cost",
];

/// Appends the span at an ordinal as a `SpanPreview` object. Missing values are omitted.
///
/// # Errors
/// [`crate::error::Error::Decode`] if the stored bytes are damaged; `out` is then incomplete.
pub fn write_span_preview(out: &mut Vec<u8>, view: &TraceView<'_>, ordinal: usize) -> Result<()> {
    let span = view.span(ordinal);
    let mut json = JsonWriter::new(out);
    json.begin_object();
    json.text_member("trace_id", &span.trace_id.to_string());
    json.text_member("span_id", &span.span_id.to_string());
    for key in SHOWN {
        let value = SpanField::from_key(key).map(|field| field.value(view, ordinal)).transpose()?.flatten();
        match value {
            Some(SpanValue::Text(text)) => json.text_member(key, &text),
            Some(SpanValue::Whole(number)) => json.whole_member(key, number),
            Some(SpanValue::Nanodollars(cost)) => json.dollars_member(key, cost.unsigned_abs()),
            Some(SpanValue::Nanos(nanos)) => {
                json.instant_member(key, i64::try_from(nanos / 1_000).unwrap_or(i64::MAX));
            }
            Some(SpanValue::Boolean(_)) | None => {}
        }
    }
    let mut node = Node::of(span)?;
    for (key, text) in
        [("input_preview", node.input()), ("output_preview", node.output()), ("error_preview", node.error())]
    {
        json.optional_member(key, text.as_deref().map(preview).as_deref());
    }
    json.end_object();
    Ok(())
}
