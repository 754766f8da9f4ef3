//! What rows and trees need of one span.

use std::borrow::Cow;

use super::super::node_type::NodeType;
use super::index::{AttributeIndex, Part};
use super::member::JsonObject;
use super::table::Attribute;
use super::types::NAMED_BY_SPAN;
use crate::otlp::SpanRef;
use crate::otlp::span_ref::{AttributeRef, ValueRef};

/// The instrumentation scope of agno's instrumentor. Its spans of functions have no attribute of agno.
const AGNO_SCOPE: &[u8] = b"openinference.instrumentation.agno";

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
    /// Whether an attribute says that it failed.
    pub is_failed: bool,
    /// Whether its instrumentor is agno's.
    pub is_agno: bool,
    /// The name that it gives the trace.
    pub trace_name: Option<Box<str>>,
    /// The agent that its name is, if the trace has no other.
    pub agent_by_name: Option<Box<str>>,
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
        let mut reader = Reader::of(&span.attributes);
        let team_id = reader.id(Attribute::TeamId);
        let is_agno = reader.index.has_agno() || scope == AGNO_SCOPE;
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
            team_id,
            ..Self::default()
        };
        if node_type.is_model() {
            summary.input_tokens = reader.count(Attribute::InputTokens);
            summary.output_tokens = reader.count(Attribute::OutputTokens);
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

/// Reads the attributes of a span.
struct Reader<'a> {
    attributes: &'a [AttributeRef<'a>],
    index: AttributeIndex,
    /// The JSON objects that were read, by position; `None` for what is no object.
    objects: Vec<(usize, Option<JsonObject<'a>>)>,
}

impl<'a> Reader<'a> {
    fn of(attributes: &'a [AttributeRef<'a>]) -> Self {
        let presence = attributes.iter().map(|attribute| (attribute.key, has_value(attribute.value)));
        Self { attributes, index: AttributeIndex::from_presence(presence), objects: Vec::new() }
    }

    /// Returns the type of the span, and the name of the line that says it.
    fn node_type(&self, has_team: bool, is_agno: bool) -> (NodeType, &'static str) {
        // A team id is also that of a member's team, except beside a kind of `OpenInference`.
        let has_team = has_team && self.index.position(Attribute::Kind).is_some();
        let word = self.index.type_word(|position| text_of(self.attributes[position].value));
        word.map_or((NodeType::Unknown, ""), |(word, line)| {
            (NodeType::of_word(&word, has_team, is_agno), line)
        })
    }

    /// Returns the name that is shown: the title, of a span without a type or whose name is its template, else of one
    /// with a type its name without uuids, which make every run another.
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

    /// Returns the value of `attribute` as text: numbers and booleans are formatted; other values have no text.
    fn text(&mut self, attribute: Attribute) -> Option<Cow<'a, str>> {
        let Self { attributes, index, objects } = self;
        index.sources(attribute).find_map(|source| {
            let text = text_of(attributes[source.position].value);
            match source.part {
                Part::Whole => text,
                Part::Member(path) => object_at(objects, source.position, &text?)?.text(path).map(Cow::Owned),
                Part::Sum(names) => {
                    let is_named = |key: &[u8]| names.iter().any(|name| name.as_bytes() == key);
                    let others = attributes.iter().filter(|other| is_named(other.key));
                    let others = others.filter_map(|other| text_of(other.value)).map(|text| count_of(&text));
                    Some(Cow::Owned(others.fold(count_of(&text?), u64::saturating_add).to_string()))
                }
            }
        })
    }

    /// Returns the value of `attribute` as an id. What Logfire sends instead of a value that may be a secret is none.
    fn id(&mut self, attribute: Attribute) -> Option<Box<str>> {
        let text = self.text(attribute).filter(|text| !text.starts_with("[Scrubbed due to "));
        text.map(|text| text.as_ref().into())
    }

    /// Returns the agent's id, else its name. Teams and workflows also carry an agent name: their own.
    fn agent_id(&mut self, node_type: &NodeType) -> Option<Box<str>> {
        let id = self.id(Attribute::AgentId);
        let name = self.id(Attribute::AgentName);
        // An id with a uuid is another one for each run.
        let is_of_run = |id: &str| !self.index.has_agno() && matches!(without_uuids(id), Cow::Owned(_));
        if name.is_some() && id.as_deref().is_some_and(is_of_run) {
            return name;
        }
        if id.is_some() || matches!(node_type, NodeType::Team | NodeType::Workflow) {
            return id;
        }
        if name.is_none() && *node_type == NodeType::Agent { self.id(Attribute::EntityName) } else { name }
    }

    /// Returns the value of `attribute` as a count: a non-negative number, truncated; else zero.
    fn count(&mut self, attribute: Attribute) -> u64 {
        self.text(attribute).map_or(0, |text| count_of(&text))
    }
}

/// Returns the JSON object in `text`, the value at `position`; each is read once.
fn object_at<'a, 'o>(
    objects: &'o mut Vec<(usize, Option<JsonObject<'a>>)>,
    position: usize,
    text: &Cow<'a, str>,
) -> Option<&'o JsonObject<'a>> {
    let Cow::Borrowed(text) = *text else { return None };
    let known = objects.iter().position(|(of, _)| *of == position);
    let known = known.unwrap_or_else(|| {
        objects.push((position, JsonObject::of(text)));
        objects.len() - 1
    });
    objects[known].1.as_ref()
}

/// Length of the text of a uuid.
const UUID_LENGTH: usize = 36;

/// Returns a name without the uuids that follow a `_` in it.
fn without_uuids(name: &str) -> Cow<'_, str> {
    let Some(start) =
        name.match_indices('_').map(|(start, _)| start).find(|start| has_uuid(&name[start + 1..]))
    else {
        return Cow::Borrowed(name);
    };
    let after = without_uuids(&name[start + 1 + UUID_LENGTH..]);
    Cow::Owned([&name[..start], after.as_ref()].concat())
}

/// Whether a text begins with a uuid.
fn has_uuid(text: &str) -> bool {
    let is_digit = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.as_bytes().get(..UUID_LENGTH).is_some_and(|uuid| uuid.iter().enumerate().all(is_digit))
}

/// Whether there is a value; an empty text counts as none.
fn has_value(value: ValueRef<'_>) -> bool {
    !matches!(value, ValueRef::Missing | ValueRef::Text(b""))
}

/// Returns a value as text: numbers and booleans are formatted; other values have no text.
fn text_of(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Text(text) => simdutf8::basic::from_utf8(text).ok().map(Cow::Borrowed),
        ValueRef::Int(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Double(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Bool(truth) => Some(Cow::Owned(truth.to_string())),
        ValueRef::Other | ValueRef::Missing => None,
    }
}

/// Reads a count: a non-negative number, truncated; else zero.
fn count_of(text: &str) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let truncated = || text.parse::<f64>().map_or(0, |number| number as u64);
    text.parse().unwrap_or_else(|_| truncated())
}
