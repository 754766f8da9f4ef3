//! The `extra_data` of a node: everything that was sent and has no place of its own, under the
//! names of OTLP.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;

use super::json::Json;
use super::node::Node;
use super::row::micros;
use crate::otlp::proto::{self, span::SpanKind, status::StatusCode};
use crate::otlp::{Origin, SpanId, TraceId};

/// The resources and scopes met so far as finished JSON members; most spans share one.
#[derive(Default)]
pub(super) struct Origins {
    finished: HashMap<*const Origin, Vec<u8>>,
}

impl Origins {
    /// Returns the members `resource` and `scope`, without the braces around them.
    fn members(&mut self, origin: &Arc<Origin>) -> &[u8] {
        self.finished.entry(Arc::as_ptr(origin)).or_insert_with(|| {
            let mut members = Vec::new();
            let mut json = Json::new(&mut members);
            write_resource(&mut json, origin);
            write_scope(&mut json, origin);
            members
        })
    }
}

/// Writes the member `extra_data`, if there is anything to say.
pub(super) fn write_extra_data(json: &mut Json<'_>, node: &Node<'_>, is_root: bool, origins: &mut Origins) {
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
    let origin = origins.members(&node.span.wire.origin);
    if !origin.is_empty() {
        extra.finished(origin);
    }
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

fn write_resource(json: &mut Json<'_>, origin: &Origin) {
    if origin.resource.is_empty() && origin.resource_schema_url.is_empty() {
        return;
    }
    json.key("resource");
    let Ok(resource) = proto::Resource::decode(origin.resource.clone()) else {
        return json.text(&STANDARD.encode(&origin.resource));
    };
    json.begin_object();
    json.attributes_member("attributes", &resource.attributes);
    json.counted_member("dropped_attributes_count", resource.dropped_attributes_count);
    if !resource.entity_refs.is_empty() {
        json.key("entity_refs");
        json.begin_array();
        for entity in &resource.entity_refs {
            json.begin_object();
            json.text_member("type", &entity.r#type);
            write_texts(json, "id_keys", &entity.id_keys);
            write_texts(json, "description_keys", &entity.description_keys);
            json.optional_member("schema_url", present(&entity.schema_url));
            json.end_object();
        }
        json.end_array();
    }
    json.optional_member("schema_url", present(&origin.resource_schema_url));
    json.end_object();
}

fn write_scope(json: &mut Json<'_>, origin: &Origin) {
    if origin.scope.is_empty() && origin.scope_schema_url.is_empty() {
        return;
    }
    json.key("scope");
    let Ok(scope) = proto::InstrumentationScope::decode(origin.scope.clone()) else {
        return json.text(&STANDARD.encode(&origin.scope));
    };
    json.begin_object();
    json.optional_member("name", present(&scope.name));
    json.optional_member("version", present(&scope.version));
    json.attributes_member("attributes", &scope.attributes);
    json.counted_member("dropped_attributes_count", scope.dropped_attributes_count);
    json.optional_member("schema_url", present(&origin.scope_schema_url));
    json.end_object();
}

fn write_texts(json: &mut Json<'_>, key: &str, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    json.key(key);
    json.begin_array();
    for text in texts {
        json.text(text);
    }
    json.end_array();
}

fn present(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
