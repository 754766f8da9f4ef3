//! Decodes requests with log records into fragments of spans.
//!
//! Instrumentations of the `GenAI` conventions 1.28 to 1.36 send one log record per message of a model call.
//! Its event name starts with `gen_ai.`. Later versions send one record with all messages. Such records are
//! stored as events of the span that they name. All other records are dropped. See
//! `docs/reference/traces.md#log-records`.

use bytes::Bytes;
use prost::Message as _;

use super::check::{MAX_AHEAD_NANOS, Validated, clip, too_far_ahead};
use super::limits::{MAX_ATTRIBUTES, MAX_DECODED_BYTES, MessageShape, survey};
use super::proto::any_value::Value;
use super::span_ref::{ValueRef, bytes, read_attribute};
use super::wire::{self, WireFields};
use super::{Encoding, Fragment, SpanId, TraceId, inflate, json, proto};
use crate::error::{Error, Result};

/// The prefixes of event names whose records are stored: the prefix of the conventions, and the answers of
/// Claude Code.
const STORED_PREFIXES: [&str; 2] = ["gen_ai.", "assistant_response"];

/// The attribute with the event name, from before log records had a field for it.
const EVENT_NAME: &str = "event.name";

/// The event attribute for the body of a record, if the body has no members.
const BODY: &str = "body";

/// The decoded content of one request with log records.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DecodedLogs {
    /// The stored records, in order of arrival.
    pub fragments: Vec<Fragment>,
    /// The number of records without content for a span.
    pub dropped: u64,
    /// The number of invalid or oversized records with content for a span.
    pub rejected: u64,
    /// The reason for the first rejection; empty if there was no rejection.
    pub reason: String,
}

/// Decodes the body of a request with log records. `content_type` and `content_encoding` are the request's
/// headers, `now_nanos` is the current time since 1970.
///
/// # Errors
/// The errors of [`super::decode`].
pub fn decode_logs(
    body: Bytes,
    content_type: &str,
    content_encoding: Option<&str>,
    now_nanos: u64,
) -> Result<DecodedLogs> {
    let encoding = Encoding::of(content_type)?;
    let body = inflate::inflate(body, content_encoding)?;
    let mut checker = LogChecker { now_nanos, logs: DecodedLogs::default(), received: 0, decoded_bytes: 0 };
    match encoding {
        Encoding::Protobuf => wire::walk_records(&body, |record| checker.add(Ok(record)))?,
        Encoding::Json => json::walk_logs(&body, |record| match record {
            Ok(record) => checker.add(Ok(&record)),
            Err(reason) => checker.add(Err(reason)),
        })?,
    }
    Ok(checker.finish())
}

/// Collects the log records of one request.
struct LogChecker {
    now_nanos: u64,
    logs: DecodedLogs,
    received: u64,
    decoded_bytes: usize,
}

impl LogChecker {
    fn add(&mut self, record: Validated<&[u8]>) -> Result<()> {
        self.received += 1;
        match record.and_then(|record| Ok((record, measure(record)?))) {
            Ok((_, None)) => self.logs.dropped += 1,
            Ok((record, Some((ids, decoded_bytes)))) => {
                self.reserve(decoded_bytes)?;
                let position = u32::try_from(self.logs.fragments.len()).unwrap_or(u32::MAX);
                match fragment_of(ids, record, position, self.now_nanos) {
                    Ok(fragment) => self.logs.fragments.push(fragment),
                    Err(reason) => self.reject(&reason),
                }
            }
            Err(reason) => self.reject(&reason),
        }
        Ok(())
    }

    fn reject(&mut self, reason: &str) {
        self.logs.rejected += 1;
        if self.logs.rejected == 1 {
            self.logs.reason = format!("log record {} of the request: {}", self.received, clip(reason));
        }
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.decoded_bytes = self.decoded_bytes.saturating_add(bytes);
        if self.decoded_bytes > MAX_DECODED_BYTES {
            return Err(Error::TooLarge(format!(
                "the request takes over {MAX_DECODED_BYTES} bytes once decoded, send fewer log records in one"
            )));
        }
        Ok(())
    }

    fn finish(mut self) -> DecodedLogs {
        let first = &self.logs.reason;
        self.logs.reason = match self.logs.rejected {
            0 => String::new(),
            1 => format!("1 log record rejected: {first}"),
            count => format!("{count} log records rejected; the first: {first}"),
        };
        self.logs
    }
}

/// Returns the trace id and span id that a log record names, and its decoded size in bytes; `None` if the
/// record has no content for a span.
fn measure(record: &[u8]) -> Validated<Option<((TraceId, SpanId), usize)>> {
    let Some(ids) = LogRef::of(record)?.content_ids() else { return Ok(None) };
    survey(MessageShape::LogRecord, record).map(|survey| Some((ids, survey.bytes)))
}

/// The fields that decide if a log record is stored.
#[derive(Default)]
struct LogRef<'a> {
    trace_id: &'a [u8],
    span_id: &'a [u8],
    /// The field `event_name`.
    event_name: &'a [u8],
    /// The attribute `event.name`.
    named_by_attribute: &'a [u8],
}

impl<'a> LogRef<'a> {
    fn of(record: &'a [u8]) -> Validated<Self> {
        let mut read = Self::default();
        for field in WireFields::of(record) {
            let field = field.map_err(|error| wire::describe_error(&error))?;
            match field.number {
                6 => {
                    let attribute = read_attribute(bytes(&field)?)?;
                    if let (true, ValueRef::Text(name)) =
                        (attribute.key == EVENT_NAME.as_bytes(), attribute.value)
                    {
                        read.named_by_attribute = name;
                    }
                }
                9 => read.trace_id = bytes(&field)?,
                10 => read.span_id = bytes(&field)?,
                12 => read.event_name = bytes(&field)?,
                _ => {}
            }
        }
        Ok(read)
    }

    /// Returns the trace id and span id that the record names, if it has content for a span.
    fn content_ids(&self) -> Option<(TraceId, SpanId)> {
        let names = [self.event_name, self.named_by_attribute];
        let is_content =
            names.iter().any(|name| STORED_PREFIXES.iter().any(|prefix| name.starts_with(prefix.as_bytes())));
        let ids = TraceId::from_bytes(self.trace_id).zip(SpanId::from_bytes(self.span_id));
        ids.filter(|_| is_content)
    }
}

/// Converts a log record to a fragment.
fn fragment_of(
    (trace_id, span_id): (TraceId, SpanId),
    record: &[u8],
    position: u32,
    now_nanos: u64,
) -> Validated<Fragment> {
    let record = proto::LogRecord::decode(record).map_err(|error| wire::describe_error(&error))?;
    let event = event_of(record);
    if event.attributes.len() > MAX_ATTRIBUTES {
        return Err(format!("its attributes and the members of its body are more than {MAX_ATTRIBUTES}"));
    }
    if event.time_unix_nano > now_nanos.saturating_add(MAX_AHEAD_NANOS) {
        return Err(too_far_ahead("event", event.time_unix_nano));
    }
    Ok(Fragment::new(trace_id, span_id, &event, position))
}

/// Converts a log record to the equivalent span event, with its attributes followed by the members of its
/// body.
fn event_of(record: proto::LogRecord) -> proto::span::Event {
    let mut attributes = record.attributes;
    let named_by_attribute = attributes.iter().position(|attribute| {
        attribute.key == EVENT_NAME
            && text_of(attribute)
                .is_some_and(|name| record.event_name.is_empty() || record.event_name == name)
    });
    let name = match named_by_attribute.map(|position| attributes.remove(position)) {
        Some(attribute) => text_of(&attribute).unwrap_or_default().to_owned(),
        None => record.event_name,
    };
    match record.body.and_then(|body| body.value) {
        None => {}
        Some(Value::KvlistValue(members)) => attributes.extend(members.values),
        Some(value) => {
            let value = Some(proto::AnyValue { value: Some(value) });
            attributes.push(proto::KeyValue { key: BODY.to_owned(), value, key_strindex: 0 });
        }
    }
    let times = [record.time_unix_nano, record.observed_time_unix_nano];
    proto::span::Event {
        time_unix_nano: times.into_iter().find(|time| *time > 0).unwrap_or(0),
        name,
        attributes,
        dropped_attributes_count: record.dropped_attributes_count,
    }
}

fn text_of(attribute: &proto::KeyValue) -> Option<&str> {
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}
