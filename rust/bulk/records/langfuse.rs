//! Observations exported from Langfuse, converted to the spans that its own SDK sends.
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

/// The representation of a property in a span, with the attribute's name.
#[derive(Debug, Clone, Copy)]
enum PropertyUse {
    /// A field of the span, or a property with its own code below.
    Field,
    /// An attribute with the unchanged value.
    Plain(&'static str),
    /// An attribute with the text in lower case.
    Lowercase(&'static str),
    /// An attribute with the text; other values become JSON text.
    Text(&'static str),
    /// One attribute per member of an object, with this name as the prefix. Other values are treated like
    /// `Text`.
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
pub(super) enum ObservationProperty {
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

/// Every property at its own position, with its names and its representation.
const PROPERTIES: [(ObservationProperty, &[&str], PropertyUse); 28] = [
    (ObservationProperty::Id, &["id"], PropertyUse::Field),
    (ObservationProperty::TraceId, &["trace_id", "traceId"], PropertyUse::Field),
    (ObservationProperty::ParentId, &["parent_observation_id", "parentObservationId"], PropertyUse::Field),
    (ObservationProperty::StartTime, &["start_time", "startTime"], PropertyUse::Field),
    (ObservationProperty::EndTime, &["end_time", "endTime"], PropertyUse::Field),
    (ObservationProperty::CreatedAt, &["created_at", "createdAt"], PropertyUse::Field),
    (ObservationProperty::Name, &["name"], PropertyUse::Field),
    (ObservationProperty::Type, &["type"], PropertyUse::Lowercase("langfuse.observation.type")),
    (ObservationProperty::Level, &["level"], PropertyUse::Plain("langfuse.observation.level")),
    (
        ObservationProperty::StatusMessage,
        &["status_message", "statusMessage"],
        PropertyUse::Plain("langfuse.observation.status_message"),
    ),
    (ObservationProperty::Input, &["input"], PropertyUse::Text("langfuse.observation.input")),
    (ObservationProperty::Output, &["output"], PropertyUse::Text("langfuse.observation.output")),
    (ObservationProperty::Metadata, &["metadata"], PropertyUse::Members("langfuse.observation.metadata")),
    (
        ObservationProperty::Model,
        &["provided_model_name", "providedModelName", "model"],
        PropertyUse::Plain("langfuse.observation.model.name"),
    ),
    (
        ObservationProperty::ModelParameters,
        &["model_parameters", "modelParameters"],
        PropertyUse::Text("langfuse.observation.model.parameters"),
    ),
    (
        ObservationProperty::Usage,
        &["usage_details", "usageDetails", "usage"],
        PropertyUse::Text("langfuse.observation.usage_details"),
    ),
    (ObservationProperty::Cost, &["cost_details", "costDetails"], PropertyUse::Text(COST)),
    (ObservationProperty::TotalCost, &["total_cost", "totalCost", "calculatedTotalCost"], PropertyUse::Field),
    (
        ObservationProperty::CompletionStart,
        &["completion_start_time", "completionStartTime"],
        PropertyUse::Plain("langfuse.observation.completion_start_time"),
    ),
    (
        ObservationProperty::PromptName,
        &["prompt_name", "promptName"],
        PropertyUse::Plain("langfuse.observation.prompt.name"),
    ),
    (
        ObservationProperty::PromptVersion,
        &["prompt_version", "promptVersion"],
        PropertyUse::Plain("langfuse.observation.prompt.version"),
    ),
    (ObservationProperty::Version, &["version"], PropertyUse::Plain("langfuse.version")),
    (ObservationProperty::UserId, &["user_id", "userId"], PropertyUse::Plain("user.id")),
    (ObservationProperty::SessionId, &["session_id", "sessionId"], PropertyUse::Plain("session.id")),
    (ObservationProperty::TraceName, &["trace_name", "traceName"], PropertyUse::Plain("langfuse.trace.name")),
    (ObservationProperty::Tags, &["tags"], PropertyUse::Plain("langfuse.trace.tags")),
    (ObservationProperty::Environment, &["environment"], PropertyUse::Resource("langfuse.environment")),
    (ObservationProperty::Release, &["release"], PropertyUse::Resource("langfuse.release")),
];

const _: () = {
    let mut position = 0;
    while position < PROPERTIES.len() {
        assert!(PROPERTIES[position].0 as usize == position, "a property is not at its position");
        position += 1;
    }
};

/// Properties that belong to the trace, with their names in trace records.
const OF_TRACE: [(ObservationProperty, &str); 6] = [
    (ObservationProperty::TraceName, "name"),
    (ObservationProperty::UserId, "userId"),
    (ObservationProperty::SessionId, "sessionId"),
    (ObservationProperty::Tags, "tags"),
    (ObservationProperty::Release, "release"),
    (ObservationProperty::Environment, "environment"),
];

/// Returns the property with this name; `None` if the name is unknown.
fn property_named(name: &str) -> Option<Named<ObservationProperty>> {
    property_of(PROPERTIES.iter().map(|(property, names, _)| (*property, *names)), name)
}

/// Returns `true` if a record with these member names is an observation.
pub(super) fn is_observation<'n>(names: impl IntoIterator<Item = &'n str>) -> bool {
    names.into_iter().any(|name| matches!(name, "parent_observation_id" | "parentObservationId"))
}

/// Returns the observations of a trace that was exported with them; `None` if `object` is not such a trace.
pub(super) fn spans_of_trace(object: &mut Object<'_>) -> Option<Vec<Checked<EncodedSpan>>> {
    let observations = take_list(object, "observations")?;
    let inherited: Vec<_> =
        OF_TRACE.iter().filter_map(|(property, name)| Some((*property, member(object, name)?))).collect();
    let spans = observations.into_iter().map(|observation| match observation {
        Value::Object(members) => {
            let mut observation = Observation::of(members);
            for (property, value) in &inherited {
                // Values of the observation itself take precedence.
                observation.set(Named { property: *property, position: usize::MAX }, (*value).clone());
            }
            observation.into_span()
        }
        other => Err(format!("expected an observation as an object, got `{other}`")),
    });
    Some(spans.collect())
}

/// The values of an observation by property.
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

    fn get(&self, property: ObservationProperty) -> Option<&Value<'a>> {
        self.0.get(property as usize)
    }

    fn text(&self, property: ObservationProperty) -> Cow<'_, str> {
        self.get(property).map(Value::plain_text).unwrap_or_default()
    }

    fn required(&self, property: ObservationProperty) -> Checked<&Value<'a>> {
        self.get(property).ok_or_else(|| {
            let (_, names, _) = PROPERTIES[property as usize];
            format!("expected a `{}`, found none", names[0])
        })
    }

    fn nanos(&self, property: ObservationProperty) -> Checked<Option<u64>> {
        let (_, names, _) = PROPERTIES[property as usize];
        self.get(property).map(|at| at.nanos(names[0])).transpose()
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::of_span();
        for (property, _, used) in PROPERTIES {
            let Some(value) = self.get(property) else { continue };
            match (used, value) {
                (PropertyUse::Field | PropertyUse::Resource(_), _) => {}
                (PropertyUse::Plain(key), value) => attributes.push(key, value),
                (PropertyUse::Lowercase(key), value) => {
                    attributes.push(key, &Value::Text(value.plain_text().to_lowercase().into()));
                }
                (PropertyUse::Members(key), Value::Object(members)) => {
                    for (name, value) in members.iter().filter(|(_, value)| is_present(value)) {
                        attributes.push(&format!("{key}.{name}"), &Value::Text(value.plain_text()));
                    }
                }
                (PropertyUse::Text(key) | PropertyUse::Members(key), value) => {
                    attributes.push(key, &Value::Text(value.plain_text()));
                }
            }
        }
        if self.get(ObservationProperty::Cost).is_none()
            && let Some(total) = self.get(ObservationProperty::TotalCost)
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
    type Name = Named<ObservationProperty>;

    fn name_of(name: &'a str) -> Option<Self::Name> {
        property_named(name)
    }

    fn set(&mut self, name: Self::Name, value: Value<'a>) {
        if is_present(&value) {
            self.0.set(name.property as usize, name.position, value);
        }
    }

    fn into_span(self) -> Checked<EncodedSpan> {
        let own_id = self.required(ObservationProperty::Id)?.plain_text();
        let own_trace = self.required(ObservationProperty::TraceId)?.plain_text();
        let ((span_id, is_id), (trace_id, is_trace)) = (derived::<8>(&own_id), derived::<16>(&own_trace));
        let parent =
            self.get(ObservationProperty::ParentId).map(|parent| derived::<8>(&parent.plain_text()).0);
        let start = self.required(ObservationProperty::StartTime)?.nanos("start_time")?;
        let end = self.nanos(ObservationProperty::EndTime)?;
        let is_event = self.text(ObservationProperty::Type).eq_ignore_ascii_case("EVENT");
        let mut attributes = self.attributes();
        let ids = [(OBSERVATION_ID, &own_id, is_id), (TRACE_ID, &own_trace, is_trace)];
        for (key, id, _) in ids.into_iter().filter(|(_, _, is_same)| !is_same) {
            attributes.push(key, &Value::Text(id.clone()));
        }
        let failed = self.text(ObservationProperty::Level) == "ERROR";
        let head = proto::Span {
            trace_id,
            span_id,
            parent_span_id: parent.unwrap_or_default(),
            name: self.text(ObservationProperty::Name).into_owned(),
            kind: proto::span::SpanKind::Internal as i32,
            start_time_unix_nano: start,
            end_time_unix_nano: end.unwrap_or(if is_event { start } else { 0 }),
            ..Default::default()
        };
        let tail = proto::Span {
            status: failed.then(|| proto::Status {
                code: proto::status::StatusCode::Error as i32,
                message: self.text(ObservationProperty::StatusMessage).into_owned(),
            }),
            ..Default::default()
        };
        let mut resource = Attributes::of_resource();
        for (property, _, used) in PROPERTIES {
            if let (PropertyUse::Resource(key), Some(value)) = (used, self.get(property)) {
                resource.push(key, value);
            }
        }
        let scope = proto::InstrumentationScope { name: SCOPE.to_owned(), ..Default::default() };
        let received = self.nanos(ObservationProperty::CreatedAt)?;
        Ok(EncodedSpan {
            span: attributes.into_span(&head, &tail),
            resource: resource.into_resource(),
            scope: scope.encode_to_vec(),
            created_at: received.and_then(|nanos| i64::try_from(nanos / NANOS_PER_MICRO).ok()),
        })
    }
}

/// Returns `true` if an exported value is set. Unset values are exported as empty.
fn is_present(value: &Value<'_>) -> bool {
    match value {
        Value::Null => false,
        Value::Text(text) => !text.is_empty(),
        Value::List(values) => !values.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}
