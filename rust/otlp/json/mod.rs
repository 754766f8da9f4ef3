//! OTLP/JSON -> spans as protobuf.
//!
//! The mapping is that of <https://opentelemetry.io/docs/specs/otlp/>, "JSON Protobuf Encoding": names
//! in camel case, ids in hexadecimal, enum values as numbers, 64-bit integers as numbers or decimal
//! text, unknown members ignored, null the same as absent. The frame is walked in place; each resource,
//! scope and span is encoded once, and from then on nothing knows that it came as JSON.

mod message;
mod value;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::check::{Verdict, clip};
use super::limits::MAX_DECODED_BYTES;
use super::{Origin, WireSpan, proto};
use crate::error::{Error, Result};
use message::IntoProtobuf;
use value::Object;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TracesData<'a> {
    #[serde(borrow)]
    resource_spans: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    #[serde(borrow)]
    scope_spans: Option<&'a RawValue>,
    schema_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeSpans<'a> {
    #[serde(borrow)]
    scope: Option<&'a RawValue>,
    #[serde(borrow)]
    spans: Option<&'a RawValue>,
    schema_url: Option<String>,
}

/// Calls `visit` with each span of a JSON `TracesData`, in order: as protobuf, or why it cannot be.
///
/// # Errors
/// [`Error::Decode`] if the body is not JSON or its frame malformed, or what `visit` returns; either
/// ends the walk.
pub(super) fn walk(body: &[u8], mut visit: impl FnMut(Verdict<WireSpan>) -> Result<()>) -> Result<()> {
    let text = std::str::from_utf8(body).map_err(|fault| malformed(&fault.to_string()))?;
    let source = Source { text };
    let data: TracesData<'_> = source.read(text).map_err(|fault| malformed(&fault))?;
    source.each(data.resource_spans, |Object(group)| source.walk_resource(&group, &mut visit))
}

fn malformed(fault: &str) -> Error {
    Error::Decode(format!("expected OTLP trace data as JSON: {}", clip(fault)))
}

/// The body, of which everything that is read here is a part.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
}

impl<'a> Source<'a> {
    fn walk_resource(
        self,
        group: &ResourceSpans<'a>,
        visit: &mut impl FnMut(Verdict<WireSpan>) -> Result<()>,
    ) -> Result<()> {
        let resource = self.shared::<message::Resource<'a>>(group.resource, "resource");
        let resource_schema_url = group.schema_url.as_deref().unwrap_or_default();
        self.each(group.scope_spans, |Object(spans): Object<ScopeSpans<'a>>| {
            let scope = self.shared::<message::Scope<'a>>(spans.scope, "scope");
            let scope_schema_url = spans.schema_url.as_deref().unwrap_or_default();
            // Made for the first span only: a scope without spans costs three bytes to send.
            let mut origin: Option<Verdict<Arc<Origin>>> = None;
            self.each(spans.spans, |span: &'a RawValue| {
                let origin = origin.get_or_insert_with(|| {
                    Ok(Arc::new(Origin {
                        resource: resource.clone()?,
                        resource_schema_url: resource_schema_url.to_owned(),
                        scope: scope.clone()?,
                        scope_schema_url: scope_schema_url.to_owned(),
                    }))
                });
                visit(origin.clone().and_then(|origin| {
                    Ok(WireSpan { bytes: self.encode::<message::Span<'a>>(span.get())?, origin })
                }))
            })
        })
    }

    /// Returns what spans share as protobuf; nothing if they share nothing.
    fn shared<M>(self, part: Option<&'a RawValue>, name: &str) -> Verdict<Bytes>
    where
        M: Deserialize<'a> + IntoProtobuf<'a>,
    {
        let Some(part) = part else { return Ok(Bytes::new()) };
        self.encode::<M>(part.get()).map_err(|fault| format!("its {name}: {fault}"))
    }

    /// Returns a message as protobuf.
    fn encode<M>(self, part: &'a str) -> Verdict<Bytes>
    where
        M: Deserialize<'a> + IntoProtobuf<'a>,
    {
        if decoded_bytes(part) > MAX_DECODED_BYTES {
            return Err(format!("takes over {MAX_DECODED_BYTES} bytes once decoded"));
        }
        let message = self.read::<M>(part)?.into_protobuf(self)?;
        Ok(message.encode_to_vec().into())
    }

    fn read<T: Deserialize<'a>>(self, part: &'a str) -> Verdict<T> {
        let object = serde_json::from_str(part).map_err(|fault| self.locate(part, &fault));
        object.map(|Object(read)| read)
    }

    /// Calls `visit` with each element of `list`; with nothing if there is none.
    fn each<T: Deserialize<'a>>(
        self,
        list: Option<&'a RawValue>,
        visit: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let Some(list) = list else { return Ok(()) };
        let mut stopped = None;
        let elements = Elements { visit, stopped: &mut stopped, element: PhantomData };
        let outcome = serde_json::Deserializer::from_str(list.get()).deserialize_seq(elements);
        match stopped {
            Some(fault) => Err(fault),
            None => outcome.map_err(|fault| malformed(&self.locate(list.get(), &fault))),
        }
    }

    /// Returns `fault`, met in `part`, with its place in the whole body. That is a byte and not a line:
    /// a line would have to be counted from the start for every bad span.
    fn locate(self, part: &str, fault: &serde_json::Error) -> String {
        let told = fault.to_string();
        let place = format!(" at line {} column {}", fault.line(), fault.column());
        let message = told.strip_suffix(&place).unwrap_or(&told);
        let lines_before = part.split_inclusive('\n').take(fault.line().saturating_sub(1));
        let within = lines_before.map(str::len).sum::<usize>() + fault.column();
        let byte = part.as_ptr().addr() - self.text.as_ptr().addr() + within;
        format!("{} - at byte {byte}", clip(message))
    }
}

/// Returns about how many bytes `text`, which is valid JSON, takes once decoded, besides its texts: an
/// object becomes a value, and an element may be a text, however short they are.
fn decoded_bytes(text: &str) -> usize {
    let (mut bytes, mut quoted, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => bytes += size_of::<proto::AnyValue>(),
            b',' if !quoted => bytes += size_of::<String>(),
            _ => {}
        }
    }
    bytes
}

/// Hands over the elements of a list one by one, so that the list itself need not be held.
struct Elements<'s, T, F> {
    visit: F,
    stopped: &'s mut Option<Error>,
    element: PhantomData<T>,
}

impl<'a, T: Deserialize<'a>, F: FnMut(T) -> Result<()>> Visitor<'a> for Elements<'_, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'a>>(mut self, mut list: S) -> std::result::Result<(), S::Error> {
        while let Some(element) = list.next_element()? {
            if let Err(fault) = (self.visit)(element) {
                *self.stopped = Some(fault);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
