//! The summary of one span, for rows and trees.

use std::borrow::Cow;

use super::super::node_type::NodeType;
use super::reader::{AttributeReader, text_of};
use super::table::Attribute;
use super::types::NAMED_BY_SPAN;
use crate::otlp::SpanRef;
use crate::trace::cost::{Tokens, nanodollars_of};

/// The data of one span that rows and trees need. It is in memory for every span of the head, so it excludes
/// large texts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SpanSummary {
    /// The span's name.
    pub name: Box<str>,
    /// The type of operation.
    pub node_type: NodeType,
    /// True if the span can be the run root: an agent, team, workflow or chain that runs.
    pub is_run: bool,
    /// True if an attribute reports a failure.
    pub is_failed: bool,
    /// True if the span is from agno's instrumentor.
    pub is_agno: bool,
    /// The trace name that the span sets.
    pub trace_name: Option<Box<str>>,
    /// The agent that the span's name denotes, used if the trace has no other agent.
    pub agent_by_name: Option<Box<str>>,
    /// The run's id.
    pub run_id: Option<Box<str>>,
    /// The session's id.
    pub session_id: Option<Box<str>>,
    /// The user's id.
    pub user_id: Option<Box<str>>,
    /// The agent's id; its name if it has no id.
    pub agent_id: Option<Box<str>>,
    /// The team's id.
    pub team_id: Option<Box<str>>,
    /// The workflow's id; its name if it has no id.
    pub workflow_id: Option<Box<str>>,
    /// Input tokens; zero unless the span is a model call.
    pub input_tokens: u64,
    /// Output tokens; zero unless the span is a model call.
    pub output_tokens: u64,
    /// Input tokens that were read from a cache; zero unless the span is a model call.
    pub cached_tokens: u64,
    /// Output tokens for reasoning; zero unless the span is a model call.
    pub reasoning_tokens: u64,
    /// The reported cost in nanodollars, for any type of span.
    pub cost: Option<u64>,
}

impl SpanSummary {
    /// Returns the summary of a span.
    ///
    /// `scope` is the name of its instrumentation scope.
    pub fn of(span: &SpanRef<'_>, scope: &[u8]) -> Self {
        let mut reader = AttributeReader::of(&span.attributes);
        let team_id = reader.id(Attribute::TeamId);
        let is_agno = reader.is_agno(scope);
        let (node_type, line) = reader.node_type(team_id.is_some(), is_agno);
        let is_execution = reader.text(Attribute::Operation).as_deref() != Some("create_agent");
        let is_run = is_execution
            && matches!(node_type, NodeType::Agent | NodeType::Team | NodeType::Workflow | NodeType::Chain);
        let mut summary = Self {
            name: reader.name(span.name, &node_type, is_agno),
            is_run,
            is_agno,
            is_failed: reader.text(Attribute::Level).as_deref() == Some("ERROR"),
            trace_name: reader.id(Attribute::TraceName),
            run_id: reader.id(Attribute::RunId),
            session_id: reader.id(Attribute::SessionId),
            user_id: reader.id(Attribute::UserId),
            agent_id: reader.agent_id(&node_type),
            workflow_id: reader.id(Attribute::WorkflowId),
            cost: reader.text(Attribute::Cost).and_then(|text| nanodollars_of(&text)),
            team_id,
            ..Self::default()
        };
        if node_type.is_model() {
            summary.input_tokens = reader.count(Attribute::InputTokens);
            summary.output_tokens = reader.count(Attribute::OutputTokens);
            summary.cached_tokens = reader.count(Attribute::CachedTokens);
            summary.reasoning_tokens = reader.count(Attribute::ReasoningTokens);
        }
        if node_type == NodeType::Agent && summary.agent_id.is_none() {
            let is_source = |source: &str| source == line || source.as_bytes() == scope;
            let source = NAMED_BY_SPAN.iter().find(|(source, _)| is_source(source));
            summary.agent_id =
                source.map(|(_, end)| summary.name.strip_suffix(end).unwrap_or(&summary.name).into());
        }
        let is_by_name = node_type == NodeType::Agent && line == "openinference.span.kind" && !is_agno;
        summary.agent_by_name = is_by_name.then(|| summary.name.clone());
        summary.node_type = node_type;
        summary
    }
}

impl SpanSummary {
    /// Returns the reported tokens.
    pub fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input_tokens,
            output: self.output_tokens,
            cached: self.cached_tokens,
            reasoning: self.reasoning_tokens,
        }
    }
}

impl AttributeReader<'_, '_> {
    /// Returns the type of the span, and the name of the line that determines it.
    fn node_type(&self, has_team: bool, is_agno: bool) -> (NodeType, &'static str) {
        // A team id is also present on members of a team, except next to a kind of `OpenInference`.
        let has_team = has_team && self.index.position(Attribute::Kind).is_some();
        let word = self.index.type_word(|position| text_of(self.attributes[position].value));
        word.map_or((NodeType::Unknown, ""), |(word, line)| {
            (NodeType::of_word(&word, has_team, is_agno), line)
        })
    }

    /// Returns the displayed name. The title is used for a span without a type, or whose name is its
    /// template. For other spans with a type it is the name without uuids, which differ in every run.
    fn name(&mut self, sent: &[u8], node_type: &NodeType, is_agno: bool) -> Box<str> {
        let sent = String::from_utf8_lossy(sent);
        let mut is_template = || self.text(Attribute::TitleTemplate).is_some_and(|template| template == sent);
        if (*node_type == NodeType::Unknown || is_template())
            && let Some(title) = self.id(Attribute::Title)
        {
            return title;
        }
        if is_agno || *node_type == NodeType::Unknown { sent.into() } else { without_uuids(&sent).into() }
    }

    /// Returns the agent's id, or otherwise its name. Teams and workflows also have an agent name, which is
    /// their own.
    fn agent_id(&mut self, node_type: &NodeType) -> Option<Box<str>> {
        let id = self.id(Attribute::AgentId);
        let name = self.id(Attribute::AgentName);
        // An id with a uuid differs in every run.
        let is_of_run = |id: &str| !self.index.has_agno() && matches!(without_uuids(id), Cow::Owned(_));
        if name.is_some() && id.as_deref().is_some_and(is_of_run) {
            return name;
        }
        if id.is_some() || matches!(node_type, NodeType::Team | NodeType::Workflow) {
            return id;
        }
        if name.is_none() && *node_type == NodeType::Agent { self.id(Attribute::EntityName) } else { name }
    }
}

/// The length of a uuid as text.
const UUID_LENGTH: usize = 36;

/// Returns a name without the uuids that follow a `_`.
fn without_uuids(name: &str) -> Cow<'_, str> {
    let Some(start) =
        name.match_indices('_').map(|(start, _)| start).find(|start| has_uuid(&name[start + 1..]))
    else {
        return Cow::Borrowed(name);
    };
    let after = without_uuids(&name[start + 1 + UUID_LENGTH..]);
    Cow::Owned([&name[..start], after.as_ref()].concat())
}

/// Returns `true` if a text starts with a uuid.
fn has_uuid(text: &str) -> bool {
    let is_digit = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.as_bytes().get(..UUID_LENGTH).is_some_and(|uuid| uuid.iter().enumerate().all(is_digit))
}
