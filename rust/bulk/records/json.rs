//! JSON as records: documents, lists of records, and lines.

use std::fmt;

use rayon::prelude::*;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::batch::{EncodedSpans, batch_of};
use super::generic::PropertyValues;
use super::langfuse::{self, Observation};
use super::properties::Record as _;
use super::value::{Object, Value, member, take_list};
use super::{Checked, EncodedSpan, RecordSpans, jaeger};
use crate::error::{Error, Result};

/// The members of an OTLP message of traces, by the names of JSON and of protobuf.
const OTLP: [&str; 2] = ["resourceSpans", "resource_spans"];

/// Whether `text`, a JSON object, is OTLP: it has no other member before the one that OTLP has.
pub fn is_otlp_json(text: &[u8]) -> bool {
    let mut first = None;
    let mut object = serde_json::Deserializer::from_slice(text);
    // A text that is cut short behind its first name has one nevertheless.
    let _cut_short = object.deserialize_map(FirstName(&mut first));
    first.is_none_or(|name| OTLP.contains(&name.as_str()))
}

/// Returns the spans of one JSON document: a list of records, an object with such a list as `data`, or one record. A
/// record is a span, an observation of Langfuse, or a trace of Jaeger or Langfuse with its spans.
///
/// # Errors
/// [`Error::Decode`] if it is not JSON; [`Error::Batch`] if there are more bytes than a batch can hold.
pub fn spans_of_json(text: &[u8]) -> Result<RecordSpans> {
    let text = utf8(text)?;
    let records = if text.trim_start().starts_with('[') { list(text)? } else { members_of_document(text)? };
    spans_of(&records)
}

/// Returns the spans of records, or of documents, that stand on one line each; empty lines are none.
///
/// # Errors
/// As [`spans_of_json`]. Of several lines, one that is not JSON is rejected like a record.
pub fn spans_of_json_lines(lines: &[u8]) -> Result<RecordSpans> {
    let lines: Vec<&str> = utf8(lines)?.split('\n').filter(|line| !line.trim().is_empty()).collect();
    match lines[..] {
        // A document without line breaks, perhaps a long one: its records are read on all cores.
        [document] => spans_of_json(document.as_bytes()),
        _ => spans_of(&lines),
    }
}

fn utf8(text: &[u8]) -> Result<&str> {
    simdutf8::basic::from_utf8(text).map_err(|_| Error::Decode("expected JSON in UTF-8".to_owned()))
}

fn list(text: &str) -> Result<Vec<&str>> {
    let records: Vec<&RawValue> = serde_json::from_str(text)
        .map_err(|error| Error::Decode(format!("expected a list of spans as JSON: {error}")))?;
    Ok(records.into_iter().map(RawValue::get).collect())
}

fn members_of_document(text: &str) -> Result<Vec<&str>> {
    #[derive(serde::Deserialize)]
    struct Document<'a> {
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    let document: Document<'_> = serde_json::from_str(text)
        .map_err(|error| Error::Decode(format!("expected spans as JSON: {error}")))?;
    match document.data.map(RawValue::get) {
        Some(data) if data.starts_with('[') => list(data),
        _ => Ok(vec![text]),
    }
}

fn spans_of(records: &[&str]) -> Result<RecordSpans> {
    /// Records that one thread reads at once.
    const RECORDS_AT_ONCE: usize = 64;
    let parts = records.par_chunks(RECORDS_AT_ONCE);
    let encoded = parts.map(|records| records.iter().flat_map(|record| spans_of_record(record)).collect());
    batch_of(encoded.collect::<Vec<EncodedSpans>>())
}

fn spans_of_record(text: &str) -> Vec<Checked<EncodedSpan>> {
    match serde_json::from_str(text) {
        Ok(record) => spans_of_value(record),
        Err(error) => vec![Err(error.to_string())],
    }
}

fn spans_of_value(record: Value<'_>) -> Vec<Checked<EncodedSpan>> {
    let mut object = match record {
        Value::Object(object) => object,
        Value::List(records) => return records.into_iter().flat_map(spans_of_value).collect(),
        other => return vec![Err(format!("expected a span as an object, got `{other}`"))],
    };
    if let Some(spans) = jaeger::spans_of_trace(&object).or_else(|| langfuse::spans_of_trace(&mut object)) {
        return spans;
    }
    match take_list(&mut object, "data") {
        Some(records) => records.into_iter().flat_map(spans_of_value).collect(),
        None => vec![span_of(object)],
    }
}

fn span_of(object: Object<'_>) -> Checked<EncodedSpan> {
    let is_observation = langfuse::is_observation(object.iter().map(|(key, _)| key.as_ref()));
    // A root may be written without the member that would name its parent.
    if is_observation || (member(&object, "traceId").is_some() && member(&object, "startTime").is_some()) {
        return Observation::of(object).into_span();
    }
    PropertyValues::of(object)?.into_span()
}

/// Reads the name of the first member of an object.
struct FirstName<'f>(&'f mut Option<String>);

impl<'de> Visitor<'de> for FirstName<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> std::result::Result<(), M::Error> {
        *self.0 = members.next_key()?;
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
