//! The `extra_data` of a node: everything that was sent and has no place of its own, under the
//! names of OTLP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::json::{Json, present};
use super::node::Node;
use super::origins::Origins;
use super::row::micros;
use crate::otlp::proto::{self, span::SpanKind, status::StatusCode};
use crate::otlp::{SpanId, TraceId};

/// Writes the member `extra_data`, if there is anything to say.
pub(super) fn write_extra_data<'a>(
    json: &mut Json<'_>,
    node: &Node<'a>,
    is_root: bool,
    origins: &mut Origins<'a>,
) {
    let mut inside = Vec::new();
    let mut extra = Json::new(&mut inside);
    let message = &node.message;
    extra.attributes_member("attributes", node.rest());
    extra.counted_member("dropped_attributes_count", message.dropped_attributes_count);
    write_events(&mut extra, &message.events);
    extra.counted_member("dropped_events_count", message.dropped_events_count);
    write_links(&mut extra, &message.links);
    extra.counted_member("dropped_links_count", message.dropped_links_count);
    write_status(&mut extra, node);
    write_kind(&mut extra, message.kind);
    // A root with a parent is an orphan, or the place where a circle was cut.
    if is_root && let Some(parent_id) = node.span.parent_id {
        extra.text_member("parent_span_id", &parent_id.to_string());
    }
    extra.optional_member("trace_state", present(&message.trace_state));
    extra.counted_member("flags", message.flags);
    origins.write(&mut extra, node.span);
    if !inside.is_empty() {
        json.key("extra_data");
        json.begin_object();
        json.finished(&inside);
        json.end_object();
    }
}

fn write_events(extra: &mut Json<'_>, events: &[proto::span::Event]) {
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

fn write_links(extra: &mut Json<'_>, links: &[proto::span::Link]) {
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

/// Writes what `status` and `error` of the node do not tell: that a success was declared, a code
/// unknown to us, the message of a span that did not fail.
fn write_status(extra: &mut Json<'_>, node: &Node<'_>) {
    let Some(status) = &node.message.status else { return };
    match StatusCode::try_from(status.code) {
        Ok(StatusCode::Unset | StatusCode::Error) => {}
        Ok(StatusCode::Ok) => extra.text_member("status_code", "OK"),
        Err(_) => extra.whole_member("status_code", status.code),
    }
    if !node.span.is_error {
        extra.optional_member("status_message", present(&status.message));
    }
}

fn write_kind(extra: &mut Json<'_>, kind: i32) {
    match SpanKind::try_from(kind) {
        Ok(SpanKind::Unspecified) => {}
        Ok(known) => extra.text_member("kind", known.as_str_name().trim_start_matches("SPAN_KIND_")),
        Err(_) => extra.whole_member("kind", kind),
    }
}
