//! Where a trace's spans came from: the `resource` and the `scope` of each node.
//!
//! Most spans share one resource, and every node shows its own. But a resource may be large and a
//! trace may have many spans, so repetition is bounded: beyond [`MAX_REPEATED_BYTES`] a node names,
//! as `resource_of` or `scope_of`, the span at which the very same one stands.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prost::Message as _;

use super::Span;
use super::json::{Json, present};
use crate::otlp::{Origin, SpanId, proto};

/// The most bytes of one answer that only repeat resources and scopes.
const MAX_REPEATED_BYTES: usize = 16 << 20;

/// The resources and scopes met so far.
#[derive(Default)]
pub(super) struct Origins<'a> {
    parts: Vec<Part>,
    places: HashMap<Content<'a>, usize>,
    /// The places by memory: large content that is shared is read once, not for each span.
    places_in_memory: HashMap<(&'static str, *const u8, usize, &'a str), usize>,
    known: HashMap<*const Origin, [Option<usize>; 2]>,
    repeated_bytes: usize,
}

/// What makes two parts the same: which one it is, its bytes, its schema.
type Content<'a> = (&'static str, &'a Bytes, &'a str);

/// A resource or a scope.
struct Part {
    /// The member that names the span at which it stands.
    reference: &'static str,
    /// The span at which it stands.
    first: SpanId,
    /// The finished member, key included.
    member: Vec<u8>,
    is_written: bool,
}

impl<'a> Origins<'a> {
    /// Writes the members that tell where `span` came from.
    pub(super) fn write(&mut self, extra: &mut Json<'_>, span: &'a Span) {
        for place in self.places_of(span).into_iter().flatten() {
            let part = &mut self.parts[place];
            let repeated = self.repeated_bytes + part.member.len();
            if !part.is_written {
                part.is_written = true;
                extra.finished(&part.member);
            } else if repeated <= MAX_REPEATED_BYTES {
                self.repeated_bytes = repeated;
                extra.finished(&part.member);
            } else {
                extra.text_member(part.reference, &part.first.to_string());
            }
        }
    }

    fn places_of(&mut self, span: &'a Span) -> [Option<usize>; 2] {
        let origin = &span.wire.origin;
        if let Some(places) = self.known.get(&Arc::as_ptr(origin)) {
            return *places;
        }
        let resource = (&origin.resource, origin.resource_schema_url.as_str());
        let scope = (&origin.scope, origin.scope_schema_url.as_str());
        let places = [
            self.place("resource_of", resource, span.span_id, write_resource),
            self.place("scope_of", scope, span.span_id, write_scope),
        ];
        self.known.insert(Arc::as_ptr(origin), places);
        places
    }

    fn place(
        &mut self,
        reference: &'static str,
        (encoded, schema_url): (&'a Bytes, &'a str),
        first: SpanId,
        write: fn(&mut Json<'_>, &Bytes, &str),
    ) -> Option<usize> {
        if encoded.is_empty() && schema_url.is_empty() {
            return None;
        }
        let parts = &mut self.parts;
        let memory = (reference, encoded.as_ptr(), encoded.len(), schema_url);
        let place = *self.places_in_memory.entry(memory).or_insert_with(|| {
            *self.places.entry((reference, encoded, schema_url)).or_insert_with(|| {
                let mut member = Vec::new();
                write(&mut Json::new(&mut member), encoded, schema_url);
                parts.push(Part { reference, first, member, is_written: false });
                parts.len() - 1
            })
        });
        Some(place)
    }
}

fn write_resource(json: &mut Json<'_>, encoded: &Bytes, schema_url: &str) {
    json.key("resource");
    let Ok(resource) = proto::Resource::decode(encoded.clone()) else {
        return json.text(&STANDARD.encode(encoded));
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
    json.optional_member("schema_url", present(schema_url));
    json.end_object();
}

fn write_scope(json: &mut Json<'_>, encoded: &Bytes, schema_url: &str) {
    json.key("scope");
    let Ok(scope) = proto::InstrumentationScope::decode(encoded.clone()) else {
        return json.text(&STANDARD.encode(encoded));
    };
    json.begin_object();
    json.optional_member("name", present(&scope.name));
    json.optional_member("version", present(&scope.version));
    json.attributes_member("attributes", &scope.attributes);
    json.counted_member("dropped_attributes_count", scope.dropped_attributes_count);
    json.optional_member("schema_url", present(schema_url));
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
