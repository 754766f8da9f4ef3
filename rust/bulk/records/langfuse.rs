//! Observations that Langfuse exported, as the spans that its own SDK sends.
//!
//! Source: the fields of its exports to blob storage (`snake_case`) and of its API (`camelCase`), Langfuse 3.

use std::borrow::Cow;

use prost::Message as _;

use super::attributes::Attributes;
use super::ids::derived;
use super::properties::{Named, Properties, Record, property_of};
use super::value::{Object, Value, member, take_list};
use super::{Checked, EncodedSpan};
use crate::otlp::proto;
use crate::time::NANOS_PER_MICRO;

/// What a property becomes in a span, and the name of the attribute.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// A field of the span, or what only the code below knows.
    Field,
    /// An attribute with the value as it is.
    Plain(&'static str),
    /// An attribute with the text in lower case.
    Lowercase(&'static str),
    /// An attribute with the text, or with JSON as text.
    Text(&'static str),
    /// An attribute for each member of an object, named below this one; with any other value one as for `Text`.
    Members(&'static str),
    /// An attribute of the resource.
    Resource(&'static str),
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

/// Every property, at its position: its names, and what it becomes.
const PROPERTIES: [(Property, &[&str], Use); 28] = [
    (Property::Id, &["id"], Use::Field),
    (Property::TraceId, &["trace_id", "traceId"], Use::Field),
    (Property::ParentId, &["parent_observation_id", "parentObservationId"], Use::Field),
    (Property::StartTime, &["start_time", "startTime"], Use::Field),
    (Property::EndTime, &["end_time", "endTime"], Use::Field),
    (Property::CreatedAt, &["created_at", "createdAt"], Use::Field),
    (Property::Name, &["name"], Use::Field),
    (Property::Type, &["type"], Use::Lowercase("langfuse.observation.type")),
    (Property::Level, &["level"], Use::Plain("langfuse.observation.level")),
    (
        Property::StatusMessage,
        &["status_message", "statusMessage"],
        Use::Plain("langfuse.observation.status_message"),
    ),
    (Property::Input, &["input"], Use::Text("langfuse.observation.input")),
    (Property::Output, &["output"], Use::Text("langfuse.observation.output")),
    (Property::Metadata, &["metadata"], Use::Members("langfuse.observation.metadata")),
    (
        Property::Model,
        &["provided_model_name", "providedModelName", "model"],
        Use::Plain("langfuse.observation.model.name"),
    ),
    (
        Property::ModelParameters,
        &["model_parameters", "modelParameters"],
        Use::Text("langfuse.observation.model.parameters"),
    ),
    (
        Property::Usage,
        &["usage_details", "usageDetails", "usage"],
        Use::Text("langfuse.observation.usage_details"),
    ),
    (Property::Cost, &["cost_details", "costDetails"], Use::Text(COST)),
    (Property::TotalCost, &["total_cost", "totalCost", "calculatedTotalCost"], Use::Field),
    (
        Property::CompletionStart,
        &["completion_start_time", "completionStartTime"],
        Use::Plain("langfuse.observation.completion_start_time"),
    ),
    (Property::PromptName, &["prompt_name", "promptName"], Use::Plain("langfuse.observation.prompt.name")),
    (
        Property::PromptVersion,
        &["prompt_version", "promptVersion"],
        Use::Plain("langfuse.observation.prompt.version"),
    ),
    (Property::Version, &["version"], Use::Plain("langfuse.version")),
    (Property::UserId, &["user_id", "userId"], Use::Plain("user.id")),
    (Property::SessionId, &["session_id", "sessionId"], Use::Plain("session.id")),
    (Property::TraceName, &["trace_name", "traceName"], Use::Plain("langfuse.trace.name")),
    (Property::Tags, &["tags"], Use::Plain("langfuse.trace.tags")),
    (Property::Environment, &["environment"], Use::Resource("langfuse.environment")),
    (Property::Release, &["release"], Use::Resource("langfuse.release")),
];

const _: () = {
    let mut position = 0;
    while position < PROPERTIES.len() {
        assert!(PROPERTIES[position].0 as usize == position, "a property is not at its position");
        position += 1;
    }
};

/// What is said of a trace alone, in the names that it has there.
const OF_TRACE: [(Property, &str); 6] = [
    (Property::TraceName, "name"),
    (Property::UserId, "userId"),
    (Property::SessionId, "sessionId"),
    (Property::Tags, "tags"),
    (Property::Release, "release"),
    (Property::Environment, "environment"),
];

/// Returns the property that `name` says; none if it says none.
fn property_named(name: &str) -> Option<Named<Property>> {
    property_of(PROPERTIES.iter().map(|(property, names, _)| (*property, *names)), name)
}

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
pub(super) struct Observation<'a>(Properties<'a, { PROPERTIES.len() }>);

impl<'a> Observation<'a> {
    /// Returns the values of a JSON object.
    pub(super) fn of(object: Object<'a>) -> Self {
        let mut observation = Self::default();
        for (key, value) in object {
            if let Some(name) = property_named(&key) {
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
            let (_, names, _) = PROPERTIES[property as usize];
            format!("expected a `{}`, found none", names[0])
        })
    }

    fn nanos(&self, property: Property) -> Checked<Option<u64>> {
        let (_, names, _) = PROPERTIES[property as usize];
        self.get(property).map(|at| at.nanos(names[0])).transpose()
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::of_span();
        for (property, _, used) in PROPERTIES {
            let Some(value) = self.get(property) else { continue };
            match (used, value) {
                (Use::Field | Use::Resource(_), _) => {}
                (Use::Plain(key), value) => attributes.push(key, value),
                (Use::Lowercase(key), value) => {
                    attributes.push(key, &Value::Text(value.plain_text().to_lowercase().into()));
                }
                (Use::Members(key), Value::Object(members)) => {
                    for (name, value) in members.iter().filter(|(_, value)| is_present(value)) {
                        attributes.push(&format!("{key}.{name}"), &Value::Text(value.plain_text()));
                    }
                }
                (Use::Text(key) | Use::Members(key), value) => {
                    attributes.push(key, &Value::Text(value.plain_text()));
                }
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
        property_named(name)
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
        for (property, _, used) in PROPERTIES {
            if let (Use::Resource(key), Some(value)) = (used, self.get(property)) {
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
