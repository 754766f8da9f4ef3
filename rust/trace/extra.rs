//! The `extra_data` of a node: all data that is not shown elsewhere, under its OTLP names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::json::{JsonWriter, present};
use super::node::{Node, before_traceback};
use super::origins::OriginWriter;
use super::row::micros;
use crate::otlp::proto::{self, span::SpanKind, status::StatusCode};
use crate::otlp::{SpanId, TraceId};

/// Writes the member `extra_data` unless it is empty.
pub(super) fn write_extra_data<'a>(
    json: &mut JsonWriter<'_>,
    node: &Node<'a>,
    is_root: bool,
    origins: &mut OriginWriter<'a>,
) {
    let mut inside = Vec::new();
    let mut extra = JsonWriter::new(&mut inside);
    let message = &node.message;
    if message.name != *node.span.summary.name {
        extra.text_member("name", &message.name);
    }
    extra.attributes_member("attributes", node.unshown_attributes());
    extra.counted_member("dropped_attributes_count", message.dropped_attributes_count);
    write_events(&mut extra, &message.events);
    extra.counted_member("dropped_events_count", message.dropped_events_count);
    write_links(&mut extra, &message.links);
    extra.counted_member("dropped_links_count", message.dropped_links_count);
    write_status(&mut extra, node);
    write_kind(&mut extra, message.kind);
    // A root with a parent is an orphan, or the span where a cycle was cut.
    if is_root && let Some(parent_id) = node.span.parent_id {
        extra.text_member("parent_span_id", &parent_id.to_string());
    }
    extra.optional_member("trace_state", present(&message.trace_state));
    extra.counted_member("flags", message.flags);
    origins.write(&mut extra, node.span);
    if !inside.is_empty() {
        json.key("extra_data");
        json.begin_object();
        json.raw(&inside);
        json.end_object();
    }
}

fn write_events(extra: &mut JsonWriter<'_>, events: &[proto::span::Event]) {
    if events.is_empty() {
        return;
    }
    extra.key("events");
    extra.begin_array();
    for event in events {
        extra.begin_object();
        extra.text_member("name", &event.name);
        extra.instant_member("time", micros(event.time_unix_nano));
        extra.attributes_member("attributes", &event.attributes);
        extra.counted_member("dropped_attributes_count", event.dropped_attributes_count);
        extra.end_object();
    }
    extra.end_array();
}

fn write_links(extra: &mut JsonWriter<'_>, links: &[proto::span::Link]) {
    if links.is_empty() {
        return;
    }
    extra.key("links");
    extra.begin_array();
    for link in links {
        let trace_id = TraceId::from_bytes(&link.trace_id).map(|id| id.to_string());
        let span_id = SpanId::from_bytes(&link.span_id).map(|id| id.to_string());
        extra.begin_object();
        extra.text_member("trace_id", &trace_id.unwrap_or_else(|| STANDARD.encode(&link.trace_id)));
        extra.text_member("span_id", &span_id.unwrap_or_else(|| STANDARD.encode(&link.span_id)));
        extra.optional_member("trace_state", present(&link.trace_state));
        extra.attributes_member("attributes", &link.attributes);
        extra.counted_member("dropped_attributes_count", link.dropped_attributes_count);
        extra.counted_member("flags", link.flags);
        extra.end_object();
    }
    extra.end_array();
}

/// Writes the parts of the status that the node's `status` and `error` do not show: an explicit success, an
/// unknown code, and the message of a span that did not fail.
fn write_status(extra: &mut JsonWriter<'_>, node: &Node<'_>) {
    let Some(status) = &node.message.status else { return };
    match StatusCode::try_from(status.code) {
        Ok(StatusCode::Unset | StatusCode::Error) => {}
        Ok(StatusCode::Ok) => extra.text_member("status_code", "OK"),
        Err(_) => extra.whole_member("status_code", status.code),
    }
    if !node.span.is_error || before_traceback(&status.message) != status.message {
        extra.optional_member("status_message", present(&status.message));
    }
}

fn write_kind(extra: &mut JsonWriter<'_>, kind: i32) {
    match SpanKind::try_from(kind) {
        Ok(SpanKind::Unspecified) => {}
        Ok(known) => extra.text_member("kind", known.as_str_name().trim_start_matches("SPAN_KIND_")),
        Err(_) => extra.whole_member("kind", kind),
    }
}
