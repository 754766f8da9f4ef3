//! Spans as bytes: taking a `TracesData` message apart and putting one together.
//!
//! An export request, a document and a write-ahead entry are all the same message on the wire
//! (`TracesData` and `ExportTraceServiceRequest` have one layout), so this is the only code that
//! knows it. A message is walked in place: what a hostile sender repeats ten million times in
//! two bytes each must not become ten million objects.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost::{DecodeError, Message as _};

use super::proto;
use crate::error::{Error, Result};

/// What a span shares with the spans that one library of one program sent beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// An encoded `Resource` message; empty if there was none.
    pub resource: Bytes,
    /// The schema of the resource.
    pub resource_schema_url: String,
    /// An encoded `InstrumentationScope` message; empty if there was none.
    pub scope: Bytes,
    /// The schema of the scope's spans.
    pub scope_schema_url: String,
}

/// One span as it came: an encoded `Span` message and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WireSpan {
    /// The encoded `Span` message, unknown fields included.
    pub bytes: Bytes,
    /// The resource and scope it was sent under.
    pub origin: Arc<Origin>,
}

/// A field's number, and its content if the field is length-delimited.
pub(super) type Field<'a> = (u32, Option<&'a [u8]>);

/// The fields of an encoded message, in order; nobody may read on after a fault.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Returns the fields of `message`.
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn read(&mut self) -> std::result::Result<Field<'a>, DecodeError> {
        let (number, wire_type) = decode_key(&mut self.rest)?;
        let here = self.rest;
        skip_field(wire_type, number, &mut self.rest, DecodeContext::default())?;
        if wire_type != WireType::LengthDelimited {
            return Ok((number, None));
        }
        let mut content = &here[..here.len() - self.rest.len()];
        decode_varint(&mut content)?;
        Ok((number, Some(content)))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = std::result::Result<Field<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.read())
    }
}

/// Calls `visit` with each span of an encoded `TracesData` message, in order, sharing its memory.
///
/// # Errors
/// [`Error::Decode`] if the message's frame is malformed, or what `visit` returns; either ends the
/// walk. The spans themselves are not looked into.
pub fn walk(data: &Bytes, mut visit: impl FnMut(WireSpan) -> Result<()>) -> Result<()> {
    for resource_spans in contents(data, 1) {
        walk_resource(data, resource_spans?, &mut visit)?;
    }
    Ok(())
}

/// Returns the spans of an encoded `TracesData` message, in order, sharing its memory.
///
/// # Errors
/// As for [`walk`].
#[allow(clippy::needless_pass_by_value, reason = "from here on the spans own the data")]
pub fn split(data: Bytes) -> Result<Vec<WireSpan>> {
    let mut spans = Vec::new();
    walk(&data, |span| {
        spans.push(span);
        Ok(())
    })?;
    Ok(spans)
}

fn walk_resource(data: &Bytes, message: &[u8], visit: &mut impl FnMut(WireSpan) -> Result<()>) -> Result<()> {
    let resource = data.slice_ref(last_content(message, 1)?);
    let resource_schema_url = text(last_content(message, 3)?)?;
    for scope_spans in contents(message, 2) {
        let scope_spans = scope_spans?;
        let scope_schema_url = text(last_content(scope_spans, 3)?)?;
        let scope = data.slice_ref(last_content(scope_spans, 1)?);
        // Made for the first span only: a scope without spans costs two bytes to send.
        let mut origin = None;
        for span in contents(scope_spans, 2) {
            let origin = origin.get_or_insert_with(|| {
                Arc::new(Origin {
                    resource: resource.clone(),
                    resource_schema_url: resource_schema_url.to_owned(),
                    scope: scope.clone(),
                    scope_schema_url: scope_schema_url.to_owned(),
                })
            });
            visit(WireSpan { bytes: data.slice_ref(span?), origin: origin.clone() })?;
        }
    }
    Ok(())
}

/// Returns the contents of every field of `message` that has this number.
fn contents(message: &[u8], wanted: u32) -> impl Iterator<Item = Result<&[u8]>> {
    Fields::of(message).filter_map(move |field| match field {
        Ok((number, Some(content))) if number == wanted => Some(Ok(content)),
        Ok((number, None)) if number == wanted => {
            Some(Err(malformed(format!("field {number} that is not length-delimited"))))
        }
        Ok(_) => None,
        Err(fault) => Some(Err(malformed(describe(&fault)))),
    })
}

/// Returns the content of the last field with this number, which is the one that counts; empty if
/// there is none.
fn last_content(message: &[u8], wanted: u32) -> Result<&[u8]> {
    contents(message, wanted).try_fold([].as_slice(), |_, content| content)
}

fn text(content: &[u8]) -> Result<&str> {
    std::str::from_utf8(content).map_err(|fault| malformed(format!("text that is not UTF-8: {fault}")))
}

/// Returns what is wrong with an encoded message.
pub(super) fn describe(fault: &DecodeError) -> String {
    fault.to_string().replacen("failed to decode Protobuf message", "malformed protobuf", 1)
}

fn malformed(found: impl std::fmt::Display) -> Error {
    Error::Decode(format!("expected OTLP trace data as protobuf, got {found}"))
}

/// Gives each of `spans` memory of its own, so that nothing holds on to the message they came from.
pub(super) fn detach<'a>(spans: impl IntoIterator<Item = &'a mut WireSpan>) {
    let mut copies: HashMap<*const Origin, Arc<Origin>> = HashMap::new();
    for span in spans {
        let origin = copies.entry(Arc::as_ptr(&span.origin)).or_insert_with(|| {
            Arc::new(Origin {
                resource: Bytes::copy_from_slice(&span.origin.resource),
                scope: Bytes::copy_from_slice(&span.origin.scope),
                ..span.origin.as_ref().clone()
            })
        });
        *span = WireSpan { bytes: Bytes::copy_from_slice(&span.bytes), origin: origin.clone() };
    }
}

/// Returns an encoded `TracesData` message of `spans`, grouped by resource and within it by scope,
/// both in order of appearance, so that each stands in it once.
pub fn join<'a>(spans: impl IntoIterator<Item = &'a WireSpan>) -> Vec<u8> {
    let mut groups = Groups::default();
    for span in spans {
        groups.spans_of(&span.origin).push(span.bytes.clone());
    }
    proto::TracesData { resource_spans: groups.message }.encode_to_vec()
}

/// A message under construction, and where in it each origin's spans go.
#[derive(Default)]
struct Groups<'a> {
    message: Vec<proto::ResourceSpans>,
    resources: HashMap<(&'a Bytes, &'a str), usize>,
    scopes: HashMap<(usize, &'a Bytes, &'a str), usize>,
    /// Spares the hashing of whole resources: most spans share their origin with others.
    known: HashMap<*const Origin, (usize, usize)>,
}

impl<'a> Groups<'a> {
    fn spans_of(&mut self, origin: &'a Arc<Origin>) -> &mut Vec<Bytes> {
        let (resource, scope) = match self.known.get(&Arc::as_ptr(origin)) {
            Some(place) => *place,
            None => self.place(origin),
        };
        &mut self.message[resource].scope_spans[scope].spans
    }

    fn place(&mut self, origin: &'a Arc<Origin>) -> (usize, usize) {
        let resource_key = (&origin.resource, origin.resource_schema_url.as_str());
        let resource = *self.resources.entry(resource_key).or_insert_with(|| {
            self.message.push(proto::ResourceSpans {
                resource: origin.resource.clone(),
                scope_spans: Vec::new(),
                schema_url: origin.resource_schema_url.clone(),
            });
            self.message.len() - 1
        });
        let scopes = &mut self.message[resource].scope_spans;
        let scope_key = (resource, &origin.scope, origin.scope_schema_url.as_str());
        let scope = *self.scopes.entry(scope_key).or_insert_with(|| {
            scopes.push(proto::ScopeSpans {
                scope: origin.scope.clone(),
                spans: Vec::new(),
                schema_url: origin.scope_schema_url.clone(),
            });
            scopes.len() - 1
        });
        self.known.insert(Arc::as_ptr(origin), (resource, scope));
        (resource, scope)
    }
}
