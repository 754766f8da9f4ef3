//! Spans as bytes: taking a `TracesData` message apart and putting one together.
//!
//! An export request, a document and a write-ahead entry are all the same message on the wire
//! (`TracesData` and `ExportTraceServiceRequest` have one layout), so this is the only code that
//! knows it.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;

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

/// Returns the spans of an encoded `TracesData` message, in order, sharing its memory.
///
/// # Errors
/// [`Error::Decode`] if the message's frame is malformed. The spans themselves are not looked into.
pub fn split(data: Bytes) -> Result<Vec<WireSpan>> {
    let data = proto::TracesData::decode(data)
        .map_err(|fault| Error::Decode(format!("expected OTLP trace data as protobuf: {fault}")))?;
    let mut spans = Vec::new();
    for resource_spans in data.resource_spans {
        for scope_spans in resource_spans.scope_spans {
            let origin = Arc::new(Origin {
                resource: resource_spans.resource.clone(),
                resource_schema_url: resource_spans.schema_url.clone(),
                scope: scope_spans.scope,
                scope_schema_url: scope_spans.schema_url,
            });
            let origins = scope_spans.spans.into_iter();
            spans.extend(origins.map(|bytes| WireSpan { bytes, origin: origin.clone() }));
        }
    }
    Ok(spans)
}

/// Returns an encoded `TracesData` message of `spans`, grouped by origin in order of appearance.
pub fn join<'a>(spans: impl IntoIterator<Item = &'a WireSpan>) -> Vec<u8> {
    let mut order: Vec<proto::ResourceSpans> = Vec::new();
    let mut places: HashMap<&Origin, usize> = HashMap::new();
    for span in spans {
        let origin = span.origin.as_ref();
        let place = *places.entry(origin).or_insert_with(|| {
            order.push(empty_group(origin));
            order.len() - 1
        });
        order[place].scope_spans[0].spans.push(span.bytes.clone());
    }
    proto::TracesData { resource_spans: order }.encode_to_vec()
}

fn empty_group(origin: &Origin) -> proto::ResourceSpans {
    let scope_spans = proto::ScopeSpans {
        scope: origin.scope.clone(),
        spans: Vec::new(),
        schema_url: origin.scope_schema_url.clone(),
    };
    proto::ResourceSpans {
        resource: origin.resource.clone(),
        scope_spans: vec![scope_spans],
        schema_url: origin.resource_schema_url.clone(),
    }
}
