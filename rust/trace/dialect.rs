//! What instrumented programs say, and under which names.
//!
//! Four dialects are understood: `OpenInference`, agno's own attributes, OpenTelemetry's `GenAI`
//! conventions (old names and new), and plain spans. [`TABLE`] is all there is to know about their
//! names: for each fact the attributes that may tell it, of which the first present wins. An empty
//! text is not present. What no line of the table names is shown as it was sent.

use std::borrow::Cow;
use std::sync::LazyLock;

use ahash::HashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::node_type::NodeType;
use crate::otlp::SpanRef;
use crate::otlp::proto::{AnyValue, KeyValue, any_value::Value};
use crate::otlp::span_ref::ValueRef;

/// One thing a span can tell, whatever its dialect calls it.
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

/// The mapping: each fact with the attributes that tell it, in order of precedence.
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

/// The summary that an attribute tells, and how early it stands in each fact's line.
type Told = Vec<(Attribute, usize)>;

/// What the attribute of each name tells.
static PRECEDENCE: LazyLock<HashMap<&'static [u8], Told>> = LazyLock::new(|| {
    let mut told: HashMap<_, Told> = HashMap::default();
    for (fact, names) in TABLE {
        for (rank, name) in names.iter().enumerate() {
            told.entry(name.as_bytes()).or_default().push((fact, rank));
        }
    }
    told
});

/// Which attribute of a list tells which fact.
#[derive(Debug, Clone)]
pub struct AttributeIndex {
    /// By fact: the rank of the attribute's name in the table, and its place in the list.
    places: [Option<(usize, usize)>; TABLE.len()],
}

impl AttributeIndex {
    /// Returns what `attributes` tell.
    pub fn of(attributes: &[KeyValue]) -> Self {
        Self::among(attributes.iter().map(|attribute| (attribute.key.as_bytes(), is_present(attribute))))
    }

    /// Returns what attributes tell of which the name is known, and whether each says anything.
    fn among<'a>(attributes: impl Iterator<Item = (&'a [u8], bool)>) -> Self {
        let mut places = [None; TABLE.len()];
        for (place, (key, is_present)) in attributes.enumerate() {
            let Some(told) = PRECEDENCE.get(key) else { continue };
            if !is_present {
                continue;
            }
            for (fact, rank) in told {
                let seat: &mut Option<(usize, usize)> = &mut places[*fact as usize];
                if seat.is_none_or(|(present, _)| *rank < present) {
                    *seat = Some((*rank, place));
                }
            }
        }
        Self { places }
    }

    /// Returns the place of the attribute that tells `fact`.
    pub fn place(&self, fact: Attribute) -> Option<usize> {
        self.places[fact as usize].map(|(_, place)| place)
    }

    /// Returns the value, among the same `attributes`, that tells `fact`.
    pub fn value<'a>(&self, attributes: &'a [KeyValue], fact: Attribute) -> Option<&'a Value> {
        attributes[self.place(fact)?].value.as_ref()?.value.as_ref()
    }

    /// Returns the text that tells `fact`; numbers and truth values are spelled out, and anything
    /// larger is no text.
    pub fn text<'a>(&self, attributes: &'a [KeyValue], fact: Attribute) -> Option<Cow<'a, str>> {
        match self.value(attributes, fact)? {
            Value::StringValue(text) => Some(Cow::Borrowed(text)),
            Value::IntValue(number) => Some(Cow::Owned(number.to_string())),
            Value::DoubleValue(number) => Some(Cow::Owned(number.to_string())),
            Value::BoolValue(truth) => Some(Cow::Owned(truth.to_string())),
            _ => None,
        }
    }
}

/// Whether an attribute says anything: an empty text does not.
fn is_present(attribute: &KeyValue) -> bool {
    match &attribute.value {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => !text.is_empty(),
        Some(AnyValue { value }) => value.is_some(),
        None => false,
    }
}

/// Whether a value says anything: an empty text does not.
fn says_anything(value: ValueRef<'_>) -> bool {
    !matches!(value, ValueRef::Missing | ValueRef::Text(b""))
}

/// Returns a value as text, as [`AttributeIndex::text`] does.
fn text_of(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Text(text) => simdutf8::basic::from_utf8(text).ok().map(Cow::Borrowed),
        ValueRef::Int(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Double(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Bool(truth) => Some(Cow::Owned(truth.to_string())),
        ValueRef::Other | ValueRef::Missing => None,
    }
}

/// Returns a value as a count: whole and not negative, else zero.
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

/// What the dialects read from one span's attributes; held in memory for every span of the head,
/// so large texts are not among them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SpanSummary {
    /// The span's name.
    pub name: Box<str>,
    /// What kind of work it stands for.
    pub node_type: NodeType,
    /// Whether it may be a run root: an agent, team, workflow or chain at work.
    pub is_run: bool,
    /// Whether it uses any dialect's attributes at all.
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
    /// Tokens a model read; zero unless the span is a model's.
    pub input_tokens: u64,
    /// Tokens a model wrote; zero unless the span is a model's.
    pub output_tokens: u64,
}

impl SpanSummary {
    /// Returns the summary of one span.
    pub fn read(span: &SpanRef<'_>) -> Self {
        let attributes = &span.attributes;
        let told = attributes.iter().map(|attribute| (attribute.key, says_anything(attribute.value)));
        let findings = AttributeIndex::among(told);
        let value = |fact| findings.place(fact).map_or(ValueRef::Missing, |place| attributes[place].value);
        let text = |fact| text_of(value(fact));
        let id = |fact| text(fact).map(|text| Box::from(text.as_ref()));
        let speaks =
            |prefix: &str| attributes.iter().any(|attribute| attribute.key.starts_with(prefix.as_bytes()));

        let team_id: Option<Box<str>> = id(Attribute::TeamId);
        let is_agno = speaks("agno.");
        let operation = text(Attribute::Operation);
        let node_type = match text(Attribute::Kind) {
            Some(kind) => NodeType::of_kind(&kind, team_id.is_some(), is_agno),
            None => operation.as_deref().map_or(NodeType::Unknown, NodeType::of_operation),
        };
        let is_at_work = operation.as_deref() != Some("create_agent");
        let is_run = is_at_work
            && matches!(node_type, NodeType::Agent | NodeType::Team | NodeType::Workflow | NodeType::Chain);
        // A team and a workflow bear an agent's name too, their own.
        let name_of_agent = || {
            let is_own_name = matches!(node_type, NodeType::Team | NodeType::Workflow);
            if is_own_name { None } else { id(Attribute::AgentName) }
        };
        let mut summary = Self {
            name: String::from_utf8_lossy(span.name).into(),
            is_run,
            has_dialect: is_agno || speaks("openinference.") || speaks("gen_ai."),
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

    /// Takes session and user, if still unknown, from the JSON text of the attribute `metadata`.
    fn read_metadata(&mut self, metadata: &str) {
        if self.session_id.is_some() && self.user_id.is_some() {
            return;
        }
        // The members would also be read off a JSON array, by position.
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

/// The members of `metadata` that name a session or a user; whatever else is in it is passed over.
#[derive(Deserialize)]
struct MetadataIdentity<'a> {
    #[serde(rename = "session_id", borrow)]
    session: Option<&'a RawValue>,
    #[serde(rename = "thread_id", borrow)]
    thread: Option<&'a RawValue>,
    #[serde(rename = "user_id", borrow)]
    user: Option<&'a RawValue>,
}

/// Returns the id that a JSON text or number spells.
fn id_of_json(json: &RawValue) -> Option<Box<str>> {
    let json = json.get();
    if json.starts_with('"') {
        let text: String = serde_json::from_str(json).ok()?;
        return (!text.is_empty()).then(|| text.into());
    }
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then(|| json.into())
}
