//! Writes the `resource` and the `scope` of each node.
//!
//! Most spans share one resource, and every node shows its own. A resource may be large and a trace may have
//! many spans, so the repetition is limited. Beyond [`MAX_REPEATED_BYTES`], a node refers to the span that
//! shows the same resource or scope, in `resource_of` or `scope_of`.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prost::Message as _;

use super::Span;
use super::json::{JsonWriter, present};
use crate::otlp::{Origin, SpanId, proto};

/// The maximum size of repeated resources and scopes in one response, in bytes.
const MAX_REPEATED_BYTES: usize = 16 << 20;

#[derive(Default)]
pub(super) struct OriginWriter<'a> {
    parts: Vec<OriginPart>,
    part_indexes: HashMap<PartKey<'a>, usize>,
    /// The indexes by memory address, so that large shared content is hashed once instead of for each span.
    indexes_by_address: HashMap<(&'static str, *const u8, usize, &'a str), usize>,
    indexes_by_origin: HashMap<*const Origin, [Option<usize>; 2]>,
    repeated_bytes: usize,
}

/// The identity of a part: resource or scope, its encoding, its schema URL.
type PartKey<'a> = (&'static str, &'a Bytes, &'a str);

/// A resource or a scope, ready to be written.
struct OriginPart {
    /// The member that refers to the span with this part.
    reference: &'static str,
    /// The first span with this part.
    first: SpanId,
    /// The JSON member, including its key.
    member: Vec<u8>,
    is_written: bool,
}

impl<'a> OriginWriter<'a> {
    /// Writes the members for the origin of `span`.
    pub(super) fn write(&mut self, extra: &mut JsonWriter<'_>, span: &'a Span) {
        for part_index in self.part_indexes_of(span).into_iter().flatten() {
            let part = &mut self.parts[part_index];
            let repeated = self.repeated_bytes + part.member.len();
            if !part.is_written {
                part.is_written = true;
                extra.raw(&part.member);
            } else if repeated <= MAX_REPEATED_BYTES {
                self.repeated_bytes = repeated;
                extra.raw(&part.member);
            } else {
                extra.text_member(part.reference, &part.first.to_string());
            }
        }
    }

    fn part_indexes_of(&mut self, span: &'a Span) -> [Option<usize>; 2] {
        let origin = &span.wire.origin;
        if let Some(part_indexes) = self.indexes_by_origin.get(&Arc::as_ptr(origin)) {
            return *part_indexes;
        }
        let resource = (&origin.resource, origin.resource_schema_url.as_str());
        let scope = (&origin.scope, origin.scope_schema_url.as_str());
        let part_indexes = [
            self.part_index("resource_of", resource, span.span_id, write_resource),
            self.part_index("scope_of", scope, span.span_id, write_scope),
        ];
        self.indexes_by_origin.insert(Arc::as_ptr(origin), part_indexes);
        part_indexes
    }

    fn part_index(
        &mut self,
        reference: &'static str,
        (encoded, schema_url): (&'a Bytes, &'a str),
        first: SpanId,
        write: fn(&mut JsonWriter<'_>, &Bytes, &str),
    ) -> Option<usize> {
        if encoded.is_empty() && schema_url.is_empty() {
            return None;
        }
        let parts = &mut self.parts;
        let memory = (reference, encoded.as_ptr(), encoded.len(), schema_url);
        let part_index = *self.indexes_by_address.entry(memory).or_insert_with(|| {
            *self.part_indexes.entry((reference, encoded, schema_url)).or_insert_with(|| {
                let mut member = Vec::new();
                write(&mut JsonWriter::new(&mut member), encoded, schema_url);
                parts.push(OriginPart { reference, first, member, is_written: false });
                parts.len() - 1
            })
        });
        Some(part_index)
    }
}

fn write_resource(json: &mut JsonWriter<'_>, encoded: &Bytes, schema_url: &str) {
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

fn write_scope(json: &mut JsonWriter<'_>, encoded: &Bytes, schema_url: &str) {
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

fn write_texts(json: &mut JsonWriter<'_>, key: &str, texts: &[String]) {
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
