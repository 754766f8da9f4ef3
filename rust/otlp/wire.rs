//! Splits an encoded `TracesData` message into spans, and joins spans into a message.
//!
//! OTLP requests, documents and WAL entries have the same wire format, because `TracesData` and
//! `ExportTraceServiceRequest` have the same layout. Only this file reads and writes it. A message is walked
//! without collecting objects. Otherwise a hostile sender could repeat two bytes ten million times and create
//! ten million objects.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use prost::DecodeError;
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, encoded_len_varint,
    skip_field,
};

use crate::error::{Error, Result};

/// The resource and instrumentation scope of spans. Spans share it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// An encoded `Resource` message; empty if it is missing.
    pub resource: Bytes,
    /// The schema URL of the resource.
    pub resource_schema_url: String,
    /// An encoded `InstrumentationScope` message; empty if it is missing.
    pub scope: Bytes,
    /// The schema URL of the scope's spans.
    pub scope_schema_url: String,
}

impl Origin {
    /// Returns the name of the instrumentation scope; empty if it is missing.
    pub fn scope_name(&self) -> &[u8] {
        name_of_scope(&self.scope)
    }
}

/// Returns the name in an encoded `InstrumentationScope` message; empty if it is missing.
pub fn name_of_scope(scope: &[u8]) -> &[u8] {
    last_content(scope, 1).unwrap_or_default()
}

/// A span as it arrived: an encoded `Span` message and its origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WireSpan {
    /// The encoded `Span` message, including unknown fields.
    pub bytes: Bytes,
    /// The resource and scope of the span.
    pub origin: Arc<Origin>,
}

/// A field of an encoded message.
pub(super) struct WireField<'a> {
    pub(super) number: u32,
    pub(super) wire_type: WireType,
    /// The bytes after the key. For a length-delimited field, the bytes after the length.
    pub(super) content: &'a [u8],
}

/// Iterates over the fields of an encoded message, in order. Iteration must stop at the first error.
pub(super) struct WireFields<'a> {
    rest: &'a [u8],
}

impl<'a> WireFields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Returns the number of unread bytes.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Returns the next field if it has the most common form: a number below 16, with less than 16 KiB of
    /// length-delimited content or eight fixed bytes.
    #[inline]
    fn read_common(&mut self) -> Option<WireField<'a>> {
        const LENGTH_DELIMITED: u8 = WireType::LengthDelimited as u8;
        const SIXTY_FOUR_BIT: u8 = WireType::SixtyFourBit as u8;
        let (key, rest) = self.rest.split_first().filter(|(key, _)| (8..0x80).contains(*key))?;
        let (wire_type, (content, rest)) = match (key & 7, rest) {
            (LENGTH_DELIMITED, [length @ ..0x80, rest @ ..]) => {
                (WireType::LengthDelimited, rest.split_at_checked(usize::from(*length))?)
            }
            (LENGTH_DELIMITED, [low, high @ ..0x80, rest @ ..]) => {
                let length = usize::from(low & 0x7f) | usize::from(*high) << 7;
                (WireType::LengthDelimited, rest.split_at_checked(length)?)
            }
            (SIXTY_FOUR_BIT, rest) => (WireType::SixtyFourBit, rest.split_at_checked(8)?),
            _ => return None,
        };
        self.rest = rest;
        Some(WireField { number: u32::from(key >> 3), wire_type, content })
    }

    /// Returns the next field in any form.
    #[cold]
    fn read_any(&mut self) -> std::result::Result<WireField<'a>, DecodeError> {
        let (number, wire_type) = decode_key(&mut self.rest)?;
        let here = self.rest;
        if wire_type == WireType::LengthDelimited {
            let length = decode_varint(&mut self.rest)?;
            if let Some((content, rest)) =
                usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length))
            {
                self.rest = rest;
                return Ok(WireField { number, wire_type, content });
            }
            // The content is truncated. prost returns the error message.
            self.rest = here;
        }
        skip_field(wire_type, number, &mut self.rest, DecodeContext::default())?;
        Ok(WireField { number, wire_type, content: &here[..here.len() - self.rest.len()] })
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = std::result::Result<WireField<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        Some(self.read_common().map_or_else(|| self.read_any(), Ok))
    }
}

/// Calls `visit` with each span of an encoded `TracesData` message, in order. The spans share its memory and
/// are not decoded.
///
/// # Errors
/// [`Error::Decode`] if the structure around the spans is malformed, or an error of `visit`. Both end the
/// walk.
pub fn walk(data: &Bytes, mut visit: impl FnMut(WireSpan) -> Result<()>) -> Result<()> {
    for resource_spans in contents(data, 1) {
        walk_resource(data, resource_spans?, &mut visit)?;
    }
    Ok(())
}

/// Returns the spans of an encoded `TracesData` message, in order. The spans share its memory.
///
/// # Errors
/// The errors of [`walk`].
#[allow(clippy::needless_pass_by_value, reason = "the spans take over the data")]
pub fn split(data: Bytes) -> Result<Vec<WireSpan>> {
    let mut spans = Vec::new();
    walk(&data, |span| {
        spans.push(span);
        Ok(())
    })?;
    Ok(spans)
}

/// A span in an encoded `TracesData` message.
#[derive(Debug, Clone, Copy)]
pub struct SpanSlice<'a> {
    /// The encoded `Span` message.
    pub bytes: &'a [u8],
    /// The encoded `InstrumentationScope` message; empty if it is missing.
    pub scope: &'a [u8],
}

/// Returns the spans of an encoded `TracesData` message, in order, without copying.
///
/// # Errors
/// The errors of [`walk`].
pub fn span_slices(data: &[u8]) -> Result<Vec<SpanSlice<'_>>> {
    let mut slices = Vec::new();
    for resource_spans in contents(data, 1) {
        for scope_spans in contents(resource_spans?, 2) {
            let scope_spans = scope_spans?;
            let scope = last_content(scope_spans, 1)?;
            for bytes in contents(scope_spans, 2) {
                slices.push(SpanSlice { bytes: bytes?, scope });
            }
        }
    }
    Ok(slices)
}

fn walk_resource(data: &Bytes, message: &[u8], visit: &mut impl FnMut(WireSpan) -> Result<()>) -> Result<()> {
    let resource = data.slice_ref(last_content(message, 1)?);
    let resource_schema_url = text(last_content(message, 3)?)?;
    for scope_spans in contents(message, 2) {
        let scope_spans = scope_spans?;
        let scope_schema_url = text(last_content(scope_spans, 3)?)?;
        let scope = data.slice_ref(last_content(scope_spans, 1)?);
        // Created with the first span, because a scope without spans costs its sender only two bytes.
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

/// Calls `visit` with each record of an encoded `LogsData` or `MetricsData` message, in order. Both have the
/// layout of `TracesData`.
///
/// # Errors
/// The errors of [`walk`].
pub(super) fn walk_records(data: &[u8], mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    for of_resource in contents(data, 1) {
        for of_scope in contents(of_resource?, 2) {
            for record in contents(of_scope?, 2) {
                visit(record?)?;
            }
        }
    }
    Ok(())
}

/// Returns the content of every field of `message` with this number.
pub(super) fn contents(message: &[u8], wanted: u32) -> impl Iterator<Item = Result<&[u8]>> {
    WireFields::of(message).filter_map(move |field| match field {
        Ok(WireField { number, .. }) if number != wanted => None,
        Ok(WireField { wire_type: WireType::LengthDelimited, content, .. }) => Some(Ok(content)),
        Ok(WireField { number, .. }) => {
            Some(Err(malformed(format!("field {number} that is not length-delimited"))))
        }
        Err(error) => Some(Err(malformed(describe_error(&error)))),
    })
}

/// Returns the content of the last field with this number, which is the valid one; empty if it is missing.
pub(super) fn last_content(message: &[u8], wanted: u32) -> Result<&[u8]> {
    contents(message, wanted).try_fold([].as_slice(), |_, content| content)
}

fn text(content: &[u8]) -> Result<&str> {
    std::str::from_utf8(content).map_err(|error| malformed(format!("text that is not UTF-8: {error}")))
}

pub(super) fn describe_error(error: &DecodeError) -> String {
    error.to_string().replacen("failed to decode Protobuf message", "malformed protobuf", 1)
}

pub(super) fn malformed(found: impl std::fmt::Display) -> Error {
    Error::Decode(format!("expected OTLP data as protobuf, got {found}"))
}

/// Copies each of `spans` into its own memory, so that the original message can be freed.
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

/// Returns an encoded `TracesData` message of `spans`, grouped by resource and then by scope. Both are in
/// order of first appearance, so that each is encoded once.
pub fn join<'a>(spans: impl IntoIterator<Item = &'a WireSpan>) -> Vec<u8> {
    let mut groups = OriginGroups::default();
    for span in spans {
        groups.spans_of(&span.origin).push(&span.bytes);
    }
    let sizes: Vec<Vec<usize>> = groups.message.iter().map(ResourceGroup::scope_sizes).collect();
    let bodies: Vec<usize> =
        groups.message.iter().zip(&sizes).map(|(resource, scopes)| resource.size(scopes)).collect();
    let mut message = Vec::with_capacity(bodies.iter().map(|body| field_size(*body)).sum());
    for ((resource, scopes), body) in groups.message.iter().zip(sizes).zip(bodies) {
        open_field(&mut message, 1, body);
        put_present(&mut message, 1, resource.message);
        for (scope, size) in resource.scopes.iter().zip(scopes) {
            open_field(&mut message, 2, size);
            put_present(&mut message, 1, scope.message);
            for span in &scope.spans {
                open_field(&mut message, 2, span.len());
                message.extend_from_slice(span);
            }
            put_present(&mut message, 3, scope.schema_url.as_bytes());
        }
        put_present(&mut message, 3, resource.schema_url.as_bytes());
    }
    message
}

/// The spans of one resource, grouped by scope.
struct ResourceGroup<'a> {
    /// The encoded `Resource`.
    message: &'a [u8],
    schema_url: &'a str,
    scopes: Vec<ScopeGroup<'a>>,
}

/// The spans of one scope.
struct ScopeGroup<'a> {
    /// The encoded `InstrumentationScope`.
    message: &'a [u8],
    schema_url: &'a str,
    spans: Vec<&'a [u8]>,
}

impl ResourceGroup<'_> {
    /// Returns the size of each `ScopeSpans` message, in bytes.
    fn scope_sizes(&self) -> Vec<usize> {
        let size = |scope: &ScopeGroup<'_>| {
            let spans: usize = scope.spans.iter().map(|span| field_size(span.len())).sum();
            present_size(scope.message) + spans + present_size(scope.schema_url.as_bytes())
        };
        self.scopes.iter().map(size).collect()
    }

    /// Returns the size of the `ResourceSpans` message, in bytes.
    fn size(&self, scopes: &[usize]) -> usize {
        let scopes: usize = scopes.iter().map(|size| field_size(*size)).sum();
        present_size(self.message) + scopes + present_size(self.schema_url.as_bytes())
    }
}

/// Returns the encoded size of a length-delimited field with a number below 16.
pub(crate) fn field_size(content: usize) -> usize {
    1 + encoded_len_varint(content as u64) + content
}

fn present_size(content: &[u8]) -> usize {
    if content.is_empty() { 0 } else { field_size(content.len()) }
}

/// Writes the header of a length-delimited field with `content` bytes of content.
pub(crate) fn open_field(message: &mut Vec<u8>, number: u32, content: usize) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(content as u64, message);
}

/// Writes a field unless it is empty, which is equivalent.
fn put_present(message: &mut Vec<u8>, number: u32, content: &[u8]) {
    if !content.is_empty() {
        open_field(message, number, content.len());
        message.extend_from_slice(content);
    }
}

/// A message being built, with the group of each of its origins.
#[derive(Default)]
struct OriginGroups<'a> {
    message: Vec<ResourceGroup<'a>>,
    resources: HashMap<(&'a [u8], &'a str), usize>,
    scopes: HashMap<(usize, &'a [u8], &'a str), usize>,
    /// Avoids hashing whole resources, because most spans share their origin with others.
    known: HashMap<*const Origin, (usize, usize)>,
    /// Avoids this lookup as well, because most spans share their origin with the previous span.
    last: Option<(*const Origin, (usize, usize))>,
}

impl<'a> OriginGroups<'a> {
    fn spans_of(&mut self, origin: &'a Arc<Origin>) -> &mut Vec<&'a [u8]> {
        let group = match self.last {
            Some((last, group)) if last == Arc::as_ptr(origin) => group,
            _ => match self.known.get(&Arc::as_ptr(origin)) {
                Some(group) => *group,
                None => self.group(origin),
            },
        };
        self.last = Some((Arc::as_ptr(origin), group));
        &mut self.message[group.0].scopes[group.1].spans
    }

    fn group(&mut self, origin: &'a Arc<Origin>) -> (usize, usize) {
        let (resource, schema_url) = (origin.resource.as_ref(), origin.resource_schema_url.as_str());
        let group = *self.resources.entry((resource, schema_url)).or_insert_with(|| {
            self.message.push(ResourceGroup { message: resource, schema_url, scopes: Vec::new() });
            self.message.len() - 1
        });
        let scopes = &mut self.message[group].scopes;
        let (scope, schema_url) = (origin.scope.as_ref(), origin.scope_schema_url.as_str());
        let in_resource = *self.scopes.entry((group, scope, schema_url)).or_insert_with(|| {
            scopes.push(ScopeGroup { message: scope, schema_url, spans: Vec::new() });
            scopes.len() - 1
        });
        self.known.insert(Arc::as_ptr(origin), (group, in_resource));
        (group, in_resource)
    }
}
