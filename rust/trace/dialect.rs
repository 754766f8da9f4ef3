//! The attribute names that instrumented programs use, and what is read from them.
//!
//! Four dialects are supported: `OpenInference`, agno's own attributes, OpenTelemetry's `GenAI` conventions (old
//! and new names), and plain spans. [`TABLE`] holds all knowledge of their names: for each attribute its names, of
//! which the first present one wins. An empty text counts as absent. Attributes that no line of the table names are
//! shown as they were sent.

use std::borrow::Cow;
use std::sync::LazyLock;

use ahash::HashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::node_type::NodeType;
use crate::otlp::SpanRef;
use crate::otlp::proto::{AnyValue, KeyValue, any_value::Value};
use crate::otlp::span_ref::ValueRef;

/// An attribute of a span, whatever name a dialect has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are explained by their lines in the table")]
pub enum Attribute {
    Kind,
    Operation,
    RunId,
    SessionId,
    UserId,
    AgentId,
    AgentName,
    TeamId,
    WorkflowId,
    Metadata,
    Model,
    InputTokens,
    OutputTokens,
    Input,
    Output,
    ToolName,
    ToolParameters,
    Description,
    StepsCount,
    Steps,
    StepTypes,
    StepName,
    StepType,
    ErrorMessage,
    ErrorType,
}

/// The table: each attribute with its names, in order of precedence.
pub const TABLE: [(Attribute, &[&str]); 25] = [
    (Attribute::Kind, &["openinference.span.kind"]),
    (Attribute::Operation, &["gen_ai.operation.name"]),
    (Attribute::RunId, &["agno.run.id"]),
    (Attribute::SessionId, &["gen_ai.conversation.id", "session.id", "agno.session.id"]),
    (Attribute::UserId, &["user.id", "enduser.id", "agno.user.id"]),
    (Attribute::AgentId, &["agno.agent.id", "gen_ai.agent.id"]),
    (Attribute::AgentName, &["gen_ai.agent.name", "agent.name"]),
    (Attribute::TeamId, &["agno.team.id", "team.id"]),
    (Attribute::WorkflowId, &["agno.workflow.id", "gen_ai.workflow.name"]),
    (Attribute::Metadata, &["metadata"]),
    (Attribute::Model, &["llm.model_name", "gen_ai.response.model", "gen_ai.request.model"]),
    (
        Attribute::InputTokens,
        &["llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"],
    ),
    (
        Attribute::OutputTokens,
        &["llm.token_count.completion", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"],
    ),
    (
        Attribute::Input,
        &[
            "input.value",
            "gen_ai.input.messages",
            "gen_ai.tool.call.arguments",
            "tool_arguments",
            "tool.parameters",
            "pydantic_ai.all_messages",
            "all_messages_events",
            "gen_ai.prompt",
        ],
    ),
    (
        Attribute::Output,
        &[
            "output.value",
            "gen_ai.output.messages",
            "gen_ai.tool.call.result",
            "tool_response",
            "final_result",
            "gen_ai.completion",
        ],
    ),
    (Attribute::ToolName, &["tool.name", "gen_ai.tool.name"]),
    (Attribute::ToolParameters, &["tool.parameters", "gen_ai.tool.call.arguments", "tool_arguments"]),
    (Attribute::Description, &["agno.workflow.description"]),
    (Attribute::StepsCount, &["agno.workflow.steps_count"]),
    (Attribute::Steps, &["agno.workflow.steps"]),
    (Attribute::StepTypes, &["agno.workflow.step_types"]),
    (Attribute::StepName, &["graph.node.name"]),
    (Attribute::StepType, &["agno.step.type"]),
    (Attribute::ErrorMessage, &["exception.message"]),
    (Attribute::ErrorType, &["error.type"]),
];

/// The instrumentation scope of agno's instrumentor. Its spans of functions have no attribute of agno.
const AGNO_SCOPE: &[u8] = b"openinference.instrumentation.agno";

/// The attributes that a name stands for, each with the rank of the name in the attribute's line.
type RankedAttributes = Vec<(Attribute, usize)>;

/// The entries of the table by name.
static BY_NAME: LazyLock<HashMap<&'static [u8], RankedAttributes>> = LazyLock::new(|| {
    let mut by_name: HashMap<_, RankedAttributes> = HashMap::default();
    for (attribute, names) in TABLE {
        for (rank, name) in names.iter().enumerate() {
            by_name.entry(name.as_bytes()).or_default().push((attribute, rank));
        }
    }
    by_name
});

/// Finds the attributes of a span by what they mean.
#[derive(Debug, Clone)]
pub struct AttributeIndex {
    /// By attribute: the rank of its name in the table, and its position in the list.
    positions: [Option<(usize, usize)>; TABLE.len()],
}

impl AttributeIndex {
    /// Indexes `attributes`.
    pub fn of(attributes: &[KeyValue]) -> Self {
        Self::from_presence(
            attributes.iter().map(|attribute| (attribute.key.as_bytes(), is_present(attribute))),
        )
    }

    /// Indexes attributes given as their keys and whether each has a value.
    fn from_presence<'a>(attributes: impl Iterator<Item = (&'a [u8], bool)>) -> Self {
        let mut positions = [None; TABLE.len()];
        for (position, (key, is_present)) in attributes.enumerate() {
            let Some(named) = BY_NAME.get(key) else { continue };
            if !is_present {
                continue;
            }
            for (attribute, rank) in named {
                let best: &mut Option<(usize, usize)> = &mut positions[*attribute as usize];
                if best.is_none_or(|(present, _)| *rank < present) {
                    *best = Some((*rank, position));
                }
            }
        }
        Self { positions }
    }

    /// Returns the position of the value of `attribute` in the list.
    pub fn position(&self, attribute: Attribute) -> Option<usize> {
        self.positions[attribute as usize].map(|(_, position)| position)
    }

    /// Returns the value of `attribute`; `attributes` must be the indexed list.
    pub fn value<'a>(&self, attributes: &'a [KeyValue], attribute: Attribute) -> Option<&'a Value> {
        attributes[self.position(attribute)?].value.as_ref()?.value.as_ref()
    }

    /// Returns the value of `attribute` as text: numbers and booleans are formatted; other values have no text.
    pub fn text<'a>(&self, attributes: &'a [KeyValue], attribute: Attribute) -> Option<Cow<'a, str>> {
        match self.value(attributes, attribute)? {
            Value::StringValue(text) => Some(Cow::Borrowed(text)),
            Value::IntValue(number) => Some(Cow::Owned(number.to_string())),
            Value::DoubleValue(number) => Some(Cow::Owned(number.to_string())),
            Value::BoolValue(truth) => Some(Cow::Owned(truth.to_string())),
            _ => None,
        }
    }
}

/// Whether an attribute has a value; an empty text counts as none.
fn is_present(attribute: &KeyValue) -> bool {
    match &attribute.value {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => !text.is_empty(),
        Some(AnyValue { value }) => value.is_some(),
        None => false,
    }
}

/// Whether there is a value; an empty text counts as none.
fn has_value(value: ValueRef<'_>) -> bool {
    !matches!(value, ValueRef::Missing | ValueRef::Text(b""))
}

/// Returns a value as text, like [`AttributeIndex::text`].
fn text_of(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Text(text) => simdutf8::basic::from_utf8(text).ok().map(Cow::Borrowed),
        ValueRef::Int(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Double(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Bool(truth) => Some(Cow::Owned(truth.to_string())),
        ValueRef::Other | ValueRef::Missing => None,
    }
}

/// Returns a value as a count: a non-negative number, truncated; else zero.
fn count_of(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Int(number) => u64::try_from(number).unwrap_or(0),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
        ValueRef::Double(number) => number as u64,
        ValueRef::Text(text) => {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
        }
        _ => 0,
    }
}

/// What rows and trees need of one span. It is held in memory for every span of the head, so large texts are not
/// part of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SpanSummary {
    /// The span's name.
    pub name: Box<str>,
    /// What kind of operation it is.
    pub node_type: NodeType,
    /// Whether it can be the run root: an agent, team, workflow or chain that runs.
    pub is_run: bool,
    /// Whether it has attributes of any dialect.
    pub has_dialect: bool,
    /// The run's id.
    pub run_id: Option<Box<str>>,
    /// The session's id.
    pub session_id: Option<Box<str>>,
    /// The user's id.
    pub user_id: Option<Box<str>>,
    /// The agent's id, or its name if it has none.
    pub agent_id: Option<Box<str>>,
    /// The team's id.
    pub team_id: Option<Box<str>>,
    /// The workflow's id, or its name if it has none.
    pub workflow_id: Option<Box<str>>,
    /// Input tokens; zero unless the span is a model call.
    pub input_tokens: u64,
    /// Output tokens; zero unless the span is a model call.
    pub output_tokens: u64,
}

impl SpanSummary {
    /// Returns the summary of a span.
    ///
    /// `scope` is the name of its instrumentation scope.
    pub fn of(span: &SpanRef<'_>, scope: &[u8]) -> Self {
        let attributes = &span.attributes;
        let presence = attributes.iter().map(|attribute| (attribute.key, has_value(attribute.value)));
        let index = AttributeIndex::from_presence(presence);
        let value = |attribute| {
            index.position(attribute).map_or(ValueRef::Missing, |position| attributes[position].value)
        };
        let text = |attribute| text_of(value(attribute));
        let id = |attribute| text(attribute).map(|text| Box::from(text.as_ref()));
        let uses_prefix =
            |prefix: &str| attributes.iter().any(|attribute| attribute.key.starts_with(prefix.as_bytes()));

        let team_id: Option<Box<str>> = id(Attribute::TeamId);
        let is_agno = uses_prefix("agno.") || scope == AGNO_SCOPE;
        let operation = text(Attribute::Operation);
        let node_type = match text(Attribute::Kind) {
            Some(kind) => NodeType::of_kind(&kind, team_id.is_some(), is_agno),
            None => operation.as_deref().map_or(NodeType::Unknown, NodeType::of_operation),
        };
        let is_execution = operation.as_deref() != Some("create_agent");
        let is_run = is_execution
            && matches!(node_type, NodeType::Agent | NodeType::Team | NodeType::Workflow | NodeType::Chain);
        // Teams and workflows also carry an agent name: their own.
        let name_of_agent = || {
            let is_own_name = matches!(node_type, NodeType::Team | NodeType::Workflow);
            if is_own_name { None } else { id(Attribute::AgentName) }
        };
        let mut summary = Self {
            name: String::from_utf8_lossy(span.name).into(),
            is_run,
            has_dialect: is_agno || uses_prefix("openinference.") || uses_prefix("gen_ai."),
            run_id: id(Attribute::RunId),
            session_id: id(Attribute::SessionId),
            user_id: id(Attribute::UserId),
            agent_id: id(Attribute::AgentId).or_else(name_of_agent),
            workflow_id: id(Attribute::WorkflowId),
            team_id,
            ..Self::default()
        };
        if node_type.is_model() {
            summary.input_tokens = count_of(value(Attribute::InputTokens));
            summary.output_tokens = count_of(value(Attribute::OutputTokens));
        }
        summary.node_type = node_type;
        if let Some(metadata) = text(Attribute::Metadata) {
            summary.read_metadata(&metadata);
        }
        summary
    }

    /// Reads session and user, if still unknown, from the JSON text of the attribute `metadata`.
    fn read_metadata(&mut self, metadata: &str) {
        if self.session_id.is_some() && self.user_id.is_some() {
            return;
        }
        // Serde would also read the members from a JSON array, by position.
        if !metadata.trim_start().starts_with('{') {
            return;
        }
        let Ok(identity) = serde_json::from_str::<MetadataIdentity>(metadata) else { return };
        let session_id = || identity.session.and_then(id_of_json);
        let thread_id = || identity.thread.and_then(id_of_json);
        self.session_id = self.session_id.take().or_else(session_id).or_else(thread_id);
        self.user_id = self.user_id.take().or_else(|| identity.user.and_then(id_of_json));
    }
}

/// The members of `metadata` that identify a session or a user; other members are ignored.
#[derive(Deserialize)]
struct MetadataIdentity<'a> {
    #[serde(rename = "session_id", borrow)]
    session: Option<&'a RawValue>,
    #[serde(rename = "thread_id", borrow)]
    thread: Option<&'a RawValue>,
    #[serde(rename = "user_id", borrow)]
    user: Option<&'a RawValue>,
}

/// Returns the id in a JSON string or number.
fn id_of_json(json: &RawValue) -> Option<Box<str>> {
    let json = json.get();
    if json.starts_with('"') {
        let text: String = serde_json::from_str(json).ok()?;
        return (!text.is_empty()).then(|| text.into());
    }
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then(|| json.into())
}
