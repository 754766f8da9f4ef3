//! JSON as records: documents, lists of records, and lines.

use rayon::prelude::*;
use serde_json::value::RawValue;

use super::batch::{EncodedSpans, batch_of};
use super::generic::PropertyValues;
use super::langfuse::{self, Observation};
use super::properties::Record as _;
use super::value::{Object, Value, member, take_list};
use super::{Checked, EncodedSpan, RecordSpans, jaeger};
use crate::error::{Error, Result};

/// Returns the spans of one JSON document: a list of records, an object with such a list in `data`, or one
/// record. A record is a span, an observation of Langfuse, or a trace of Jaeger or Langfuse with its spans.
///
/// # Errors
/// [`Error::Decode`] if it is not JSON; [`Error::Batch`] if the bytes exceed the limit of a batch.
pub fn spans_of_json(text: &[u8]) -> Result<RecordSpans> {
    let text = utf8(text)?;
    let records = if text.trim_start().starts_with('[') { list(text)? } else { members_of_document(text)? };
    spans_of(&records)
}

/// Returns the spans of records or documents with one line each. Empty lines are skipped.
///
/// # Errors
/// The errors of [`spans_of_json`]. If there are several lines, a line that is not JSON is rejected like a
/// record.
pub fn spans_of_json_lines(text: &[u8]) -> Result<RecordSpans> {
    let lines = utf8(text)?.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (numbers, lines): (Vec<usize>, Vec<&str>) = lines.unzip();
    if let [document] = lines[..] {
        // A document without line breaks may be long, so its records are read on all cores.
        let mut spans = spans_of_json(document.as_bytes())?;
        spans.rejected.iter_mut().for_each(|(position, _)| *position = numbers[0]);
        return Ok(spans);
    }
    let (mut spans, counts) = spans_of_each(&lines)?;
    let (mut record, mut end) = (0, counts[0]);
    for (position, _) in &mut spans.rejected {
        while *position >= end {
            record += 1;
            end += counts[record];
        }
        *position = numbers[record];
    }
    Ok(spans)
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
    Ok(spans_of_each(records)?.0)
}

/// Returns the spans of records, and the number of spans per record.
fn spans_of_each(records: &[&str]) -> Result<(RecordSpans, Vec<usize>)> {
    /// The number of records that one thread reads at a time.
    const RECORDS_AT_ONCE: usize = 64;
    let parts = records.par_chunks(RECORDS_AT_ONCE).map(|records| {
        let mut counts = Vec::with_capacity(records.len());
        let spans = records.iter().flat_map(|record| {
            let spans = spans_of_record(record);
            counts.push(spans.len());
            spans
        });
        let spans: EncodedSpans = spans.collect();
        (spans, counts)
    });
    let (encoded, counts): (Vec<EncodedSpans>, Vec<Vec<usize>>) = parts.unzip();
    Ok((batch_of(encoded)?, counts.concat()))
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
    // A root may lack the member for its parent.
    if is_observation || (member(&object, "traceId").is_some() && member(&object, "startTime").is_some()) {
        return Observation::of(object).into_span();
    }
    PropertyValues::of(object)?.into_span()
}
