//! Observations that Langfuse exported, as the spans that its own SDK sends.
//!
//! Source: the fields of its exports to blob storage (`snake_case`) and of its API (`camelCase`), Langfuse 3.

use std::borrow::Cow;

use prost::Message as _;

use super::attributes::Attributes;
use super::ids::derived;
use super::value::{Object, Value, member};
use super::{Checked, EncodedSpan};
use crate::otlp::proto;
use crate::time::NANOS_PER_MICRO;

/// What a member becomes as an attribute.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// The value as it is.
    Plain,
    /// Text in lower case.
    Lowercase,
    /// Text, or JSON as text.
    Text,
    /// An attribute for each member of an object, named below this one.
    Members,
}

const SCOPE: &str = "langfuse-sdk";
const ENVIRONMENT: &str = "langfuse.environment";
const RELEASE: &str = "langfuse.release";
const OBSERVATION_ID: &str = "langfuse.observation.id";
const TRACE_ID: &str = "langfuse.trace.id";
const COST: &str = "langfuse.observation.cost_details";

/// The attributes of a span, with the names of the members that say them, in order of precedence.
const ATTRIBUTES: [(&str, Form, &[&str]); 18] = [
    ("langfuse.observation.type", Form::Lowercase, &["type"]),
    ("langfuse.observation.level", Form::Plain, &["level"]),
    ("langfuse.observation.status_message", Form::Plain, &["status_message", "statusMessage"]),
    ("langfuse.observation.input", Form::Text, &["input"]),
    ("langfuse.observation.output", Form::Text, &["output"]),
    ("langfuse.observation.metadata", Form::Members, &["metadata"]),
    ("langfuse.observation.model.name", Form::Plain, &["provided_model_name", "providedModelName", "model"]),
    ("langfuse.observation.model.parameters", Form::Text, &["model_parameters", "modelParameters"]),
    ("langfuse.observation.usage_details", Form::Text, &["usage_details", "usageDetails", "usage"]),
    (COST, Form::Text, &["cost_details", "costDetails"]),
    (
        "langfuse.observation.completion_start_time",
        Form::Plain,
        &["completion_start_time", "completionStartTime"],
    ),
    ("langfuse.observation.prompt.name", Form::Plain, &["prompt_name", "promptName"]),
    ("langfuse.observation.prompt.version", Form::Plain, &["prompt_version", "promptVersion"]),
    ("langfuse.version", Form::Plain, &["version"]),
    ("user.id", Form::Plain, &["user_id", "userId"]),
    ("session.id", Form::Plain, &["session_id", "sessionId"]),
    ("langfuse.trace.name", Form::Plain, &["trace_name", "traceName"]),
    ("langfuse.trace.tags", Form::Plain, &["tags"]),
];
const TOTAL_COST: [&str; 3] = ["total_cost", "totalCost", "calculatedTotalCost"];

/// Whether a record with members of these names is an observation.
pub(super) fn is_observation<'n>(names: impl IntoIterator<Item = &'n str>) -> bool {
    names.into_iter().any(|name| matches!(name, "parent_observation_id" | "parentObservationId"))
}

/// Returns the observations of a trace that was exported with them; none if `object` is no such trace.
pub(super) fn spans_of_trace(object: &Object<'_>) -> Option<Vec<Checked<EncodedSpan>>> {
    let Some(Value::List(observations)) = member(object, "observations") else { return None };
    // What is said of the trace alone, in the names that an observation has for it.
    let of_trace =
        [("traceName", "name"), ("userId", "userId"), ("sessionId", "sessionId"), ("tags", "tags")];
    let of_trace = of_trace.into_iter().chain([("release", "release"), ("environment", "environment")]);
    let inherited: Vec<_> = of_trace
        .filter_map(|(name, found)| Some((Cow::from(name), member(object, found)?.clone())))
        .collect();
    let spans = observations.iter().map(|observation| match observation {
        Value::Object(members) => span_of(members, &inherited),
        other => Err(format!("expected an observation as an object, got `{other}`")),
    });
    Some(spans.collect())
}

/// Returns an observation as a span; it has what is `inherited` unless it says something else.
///
/// # Errors
/// Why it is none.
pub(super) fn span_of(
    observation: &Object<'_>,
    inherited: &[(Cow<'_, str>, Value<'_>)],
) -> Checked<EncodedSpan> {
    let find = |names: &[&str]| {
        let own = names.iter().find_map(|name| member(observation, name).filter(|value| is_present(value)));
        own.or_else(|| {
            let said = inherited.iter().find(|(name, _)| names.contains(&name.as_ref()));
            said.map(|(_, value)| value)
        })
    };
    let text = |names: &[&str]| find(names).map(Value::to_plain_text).unwrap_or_default();
    let required =
        |names: &[&str]| find(names).ok_or_else(|| format!("expected a `{}`, found none", names[0]));
    let own_id = required(&["id"])?.to_plain_text();
    let own_trace = required(&["trace_id", "traceId"])?.to_plain_text();
    let ((span_id, is_id), (trace_id, is_trace)) = (derived::<8>(&own_id), derived::<16>(&own_trace));
    let parent = text(&["parent_observation_id", "parentObservationId"]);
    let start = required(&["start_time", "startTime"])?.nanos("start_time")?;
    let end = find(&["end_time", "endTime"]).map(|end| end.nanos("end_time")).transpose()?;
    let is_event = text(&["type"]).eq_ignore_ascii_case("EVENT");
    let mut attributes = attributes(find);
    let ids = [(OBSERVATION_ID, own_id, is_id), (TRACE_ID, own_trace, is_trace)];
    for (key, id, _) in ids.into_iter().filter(|(_, _, is_same)| !is_same) {
        attributes.push(key, &Value::Text(id.into()));
    }
    let failed = text(&["level"]) == "ERROR";
    let head = proto::Span {
        trace_id,
        span_id,
        parent_span_id: if parent.is_empty() { bytes::Bytes::new() } else { derived::<8>(&parent).0 },
        name: text(&["name"]),
        kind: proto::span::SpanKind::Internal as i32,
        start_time_unix_nano: start,
        end_time_unix_nano: end.unwrap_or(if is_event { start } else { 0 }),
        ..Default::default()
    };
    let tail = proto::Span {
        status: failed.then(|| proto::Status {
            code: proto::status::StatusCode::Error as i32,
            message: text(&["status_message", "statusMessage"]),
        }),
        ..Default::default()
    };
    let mut resource = Attributes::of_resource();
    for (key, name) in [(ENVIRONMENT, "environment"), (RELEASE, "release")] {
        if let Some(value) = find(&[name]).filter(|value| is_present(value)) {
            resource.push(key, value);
        }
    }
    let scope = proto::InstrumentationScope { name: SCOPE.to_owned(), ..Default::default() };
    let received = find(&["created_at", "createdAt"]).map(|at| at.nanos("created_at")).transpose()?;
    Ok(EncodedSpan {
        span: attributes.into_span(&head, &tail),
        resource: resource.into_resource(),
        scope: scope.encode_to_vec(),
        created_at: received.and_then(|nanos| i64::try_from(nanos / NANOS_PER_MICRO).ok()),
    })
}

fn attributes<'o, 'a: 'o>(find: impl Fn(&[&str]) -> Option<&'o Value<'a>>) -> Attributes {
    let mut attributes = Attributes::of_span();
    for (key, form, names) in ATTRIBUTES {
        let Some(value) = find(names) else { continue };
        match (form, value) {
            (Form::Members, Value::Object(members)) => {
                for (name, value) in members.iter().filter(|(_, value)| is_present(value)) {
                    attributes.push(&format!("{key}.{name}"), &value.clone().into_text());
                }
            }
            (Form::Plain, value) => attributes.push(key, value),
            (Form::Lowercase, value) => {
                attributes.push(key, &Value::Text(value.to_plain_text().to_lowercase().into()));
            }
            (_, value) => attributes.push(key, &value.clone().into_text()),
        }
    }
    if !attributes.has(COST)
        && let Some(total) =
            find(&TOTAL_COST).filter(|total| !matches!(total, Value::Int(0)) && **total != Value::Double(0.0))
    {
        attributes.push(COST, &Value::Object(vec![("total".into(), total.clone())]).into_text());
    }
    attributes
}

/// Whether an exported value is one: what is not set is empty there.
fn is_present(value: &Value<'_>) -> bool {
    match value {
        Value::Null => false,
        Value::Text(text) => !text.is_empty(),
        Value::List(values) => !values.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}
