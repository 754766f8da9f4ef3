//! Observations that Langfuse exported, as the spans that its own SDK sends.
//!
//! Source: the fields of its exports to blob storage (`snake_case`) and of its API (`camelCase`), Langfuse 3.

use std::borrow::Cow;

use prost::Message as _;

use super::attributes::Attributes;
use super::ids::derived;
use super::properties::{Named, Names, Properties, Record, property_of};
use super::value::{Object, Value, member, take_list};
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
const OBSERVATION_ID: &str = "langfuse.observation.id";
const TRACE_ID: &str = "langfuse.trace.id";
const COST: &str = "langfuse.observation.cost_details";

/// A property of an observation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Property {
    Id,
    TraceId,
    ParentId,
    StartTime,
    EndTime,
    CreatedAt,
    Name,
    Type,
    Level,
    StatusMessage,
    Input,
    Output,
    Metadata,
    Model,
    ModelParameters,
    Usage,
    Cost,
    TotalCost,
    CompletionStart,
    PromptName,
    PromptVersion,
    Version,
    UserId,
    SessionId,
    TraceName,
    Tags,
    Environment,
    Release,
}

/// Every property, at its position.
const NAMES: Names<Property, 28> = [
    (Property::Id, &["id"]),
    (Property::TraceId, &["trace_id", "traceId"]),
    (Property::ParentId, &["parent_observation_id", "parentObservationId"]),
    (Property::StartTime, &["start_time", "startTime"]),
    (Property::EndTime, &["end_time", "endTime"]),
    (Property::CreatedAt, &["created_at", "createdAt"]),
    (Property::Name, &["name"]),
    (Property::Type, &["type"]),
    (Property::Level, &["level"]),
    (Property::StatusMessage, &["status_message", "statusMessage"]),
    (Property::Input, &["input"]),
    (Property::Output, &["output"]),
    (Property::Metadata, &["metadata"]),
    (Property::Model, &["provided_model_name", "providedModelName", "model"]),
    (Property::ModelParameters, &["model_parameters", "modelParameters"]),
    (Property::Usage, &["usage_details", "usageDetails", "usage"]),
    (Property::Cost, &["cost_details", "costDetails"]),
    (Property::TotalCost, &["total_cost", "totalCost", "calculatedTotalCost"]),
    (Property::CompletionStart, &["completion_start_time", "completionStartTime"]),
    (Property::PromptName, &["prompt_name", "promptName"]),
    (Property::PromptVersion, &["prompt_version", "promptVersion"]),
    (Property::Version, &["version"]),
    (Property::UserId, &["user_id", "userId"]),
    (Property::SessionId, &["session_id", "sessionId"]),
    (Property::TraceName, &["trace_name", "traceName"]),
    (Property::Tags, &["tags"]),
    (Property::Environment, &["environment"]),
    (Property::Release, &["release"]),
];

/// The attributes of a span.
const ATTRIBUTES: [(&str, Form, Property); 18] = [
    ("langfuse.observation.type", Form::Lowercase, Property::Type),
    ("langfuse.observation.level", Form::Plain, Property::Level),
    ("langfuse.observation.status_message", Form::Plain, Property::StatusMessage),
    ("langfuse.observation.input", Form::Text, Property::Input),
    ("langfuse.observation.output", Form::Text, Property::Output),
    ("langfuse.observation.metadata", Form::Members, Property::Metadata),
    ("langfuse.observation.model.name", Form::Plain, Property::Model),
    ("langfuse.observation.model.parameters", Form::Text, Property::ModelParameters),
    ("langfuse.observation.usage_details", Form::Text, Property::Usage),
    (COST, Form::Text, Property::Cost),
    ("langfuse.observation.completion_start_time", Form::Plain, Property::CompletionStart),
    ("langfuse.observation.prompt.name", Form::Plain, Property::PromptName),
    ("langfuse.observation.prompt.version", Form::Plain, Property::PromptVersion),
    ("langfuse.version", Form::Plain, Property::Version),
    ("user.id", Form::Plain, Property::UserId),
    ("session.id", Form::Plain, Property::SessionId),
    ("langfuse.trace.name", Form::Plain, Property::TraceName),
    ("langfuse.trace.tags", Form::Plain, Property::Tags),
];

/// The attributes of its resource.
const OF_RESOURCE: [(&str, Property); 2] =
    [("langfuse.environment", Property::Environment), ("langfuse.release", Property::Release)];

/// What is said of a trace alone, in the names that it has there.
const OF_TRACE: [(Property, &str); 6] = [
    (Property::TraceName, "name"),
    (Property::UserId, "userId"),
    (Property::SessionId, "sessionId"),
    (Property::Tags, "tags"),
    (Property::Release, "release"),
    (Property::Environment, "environment"),
];

/// Whether a record with members of these names is an observation.
pub(super) fn is_observation<'n>(names: impl IntoIterator<Item = &'n str>) -> bool {
    names.into_iter().any(|name| matches!(name, "parent_observation_id" | "parentObservationId"))
}

/// Returns the observations of a trace that was exported with them; none if `object` is no such trace.
pub(super) fn spans_of_trace(object: &mut Object<'_>) -> Option<Vec<Checked<EncodedSpan>>> {
    let observations = take_list(object, "observations")?;
    let inherited: Vec<_> =
        OF_TRACE.iter().filter_map(|(property, name)| Some((*property, member(object, name)?))).collect();
    let spans = observations.into_iter().map(|observation| match observation {
        Value::Object(members) => {
            let mut observation = Observation::of(members);
            for (property, value) in &inherited {
                // Whatever the observation says itself takes precedence.
                observation.set(Named { property: *property, position: usize::MAX }, (*value).clone());
            }
            observation.into_span()
        }
        other => Err(format!("expected an observation as an object, got `{other}`")),
    });
    Some(spans.collect())
}

/// The values of an observation by their properties.
#[derive(Debug, Default)]
pub(super) struct Observation<'a>(Properties<'a, { NAMES.len() }>);

impl<'a> Observation<'a> {
    /// Returns the values of a JSON object.
    pub(super) fn of(object: Object<'a>) -> Self {
        let mut observation = Self::default();
        for (key, value) in object {
            if let Some(name) = property_of(&NAMES, &key) {
                observation.set(name, value);
            }
        }
        observation
    }

    fn get(&self, property: Property) -> Option<&Value<'a>> {
        self.0.get(property as usize)
    }

    fn text(&self, property: Property) -> Cow<'_, str> {
        self.get(property).map(Value::plain_text).unwrap_or_default()
    }

    fn required(&self, property: Property) -> Checked<&Value<'a>> {
        self.get(property).ok_or_else(|| {
            let (_, names) = NAMES[property as usize];
            format!("expected a `{}`, found none", names[0])
        })
    }

    fn nanos(&self, property: Property) -> Checked<Option<u64>> {
        let (_, names) = NAMES[property as usize];
        self.get(property).map(|at| at.nanos(names[0])).transpose()
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::of_span();
        for (key, form, property) in ATTRIBUTES {
            let Some(value) = self.get(property) else { continue };
            match (form, value) {
                (Form::Members, Value::Object(members)) => {
                    for (name, value) in members.iter().filter(|(_, value)| is_present(value)) {
                        attributes.push(&format!("{key}.{name}"), &Value::Text(value.plain_text()));
                    }
                }
                (Form::Plain, value) => attributes.push(key, value),
                (Form::Lowercase, value) => {
                    attributes.push(key, &Value::Text(value.plain_text().to_lowercase().into()));
                }
                (_, value) => attributes.push(key, &Value::Text(value.plain_text())),
            }
        }
        if self.get(Property::Cost).is_none()
            && let Some(total) = self.get(Property::TotalCost)
            && !matches!(total, Value::Int(0))
            && *total != Value::Double(0.0)
        {
            let cost = Value::Object(vec![("total".into(), total.clone())]);
            attributes.push(COST, &Value::Text(cost.plain_text()));
        }
        attributes
    }
}

impl<'a> Record<'a> for Observation<'a> {
    type Name = Named<Property>;

    fn name_of(name: &'a str) -> Option<Self::Name> {
        property_of(&NAMES, name)
    }

    fn set(&mut self, name: Self::Name, value: Value<'a>) {
        if is_present(&value) {
            self.0.set(name.property as usize, name.position, value);
        }
    }

    fn into_span(self) -> Checked<EncodedSpan> {
        let own_id = self.required(Property::Id)?.plain_text();
        let own_trace = self.required(Property::TraceId)?.plain_text();
        let ((span_id, is_id), (trace_id, is_trace)) = (derived::<8>(&own_id), derived::<16>(&own_trace));
        let parent = self.get(Property::ParentId).map(|parent| derived::<8>(&parent.plain_text()).0);
        let start = self.required(Property::StartTime)?.nanos("start_time")?;
        let end = self.nanos(Property::EndTime)?;
        let is_event = self.text(Property::Type).eq_ignore_ascii_case("EVENT");
        let mut attributes = self.attributes();
        let ids = [(OBSERVATION_ID, &own_id, is_id), (TRACE_ID, &own_trace, is_trace)];
        for (key, id, _) in ids.into_iter().filter(|(_, _, is_same)| !is_same) {
            attributes.push(key, &Value::Text(id.clone()));
        }
        let failed = self.text(Property::Level) == "ERROR";
        let head = proto::Span {
            trace_id,
            span_id,
            parent_span_id: parent.unwrap_or_default(),
            name: self.text(Property::Name).into_owned(),
            kind: proto::span::SpanKind::Internal as i32,
            start_time_unix_nano: start,
            end_time_unix_nano: end.unwrap_or(if is_event { start } else { 0 }),
            ..Default::default()
        };
        let tail = proto::Span {
            status: failed.then(|| proto::Status {
                code: proto::status::StatusCode::Error as i32,
                message: self.text(Property::StatusMessage).into_owned(),
            }),
            ..Default::default()
        };
        let mut resource = Attributes::of_resource();
        for (key, property) in OF_RESOURCE {
            if let Some(value) = self.get(property) {
                resource.push(key, value);
            }
        }
        let scope = proto::InstrumentationScope { name: SCOPE.to_owned(), ..Default::default() };
        let received = self.nanos(Property::CreatedAt)?;
        Ok(EncodedSpan {
            span: attributes.into_span(&head, &tail),
            resource: resource.into_resource(),
            scope: scope.encode_to_vec(),
            created_at: received.and_then(|nanos| i64::try_from(nanos / NANOS_PER_MICRO).ok()),
        })
    }
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
