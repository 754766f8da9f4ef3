//! One span as a node of the tree (`docs/reference/api-search.md#trace-node`). It is written in two parts:
//! the members before its children and the members after them. The span's message is dropped in between.

use std::cell::OnceCell;
use std::sync::Arc;

use super::conventions::{Attribute, AttributePositions};
use serde_json::Value as Json;

use super::cost::CostShare;
use super::json::{JsonWriter, present, value_text};
use super::messages::json_of;
use super::node_type::NodeType;
use super::row::micros;
use super::steps::StepTypes;
use super::{Span, TraceRow};
use crate::error::Result;
use crate::otlp::SpanRef;
use crate::otlp::proto::{self, KeyValue, any_value::Value};
use crate::schema::STATUSES;
use crate::time::format_duration;

/// The displayed error of a failed span without a message.
pub(super) const UNKNOWN_ERROR: &str = "the span failed and did not say why";

/// The maximum size in bytes of a tool input that is also shown as arguments.
const MAX_ARGUMENTS: usize = 64 << 10;

/// The surrounding tree of a node.
pub(super) struct TreeContext<'a> {
    /// The row of the trace; a root shows its token totals.
    pub row: &'a TraceRow,
    /// True if the node is a root of the tree.
    pub is_root: bool,
    /// The step types declared by the parent.
    pub step_types: Option<&'a StepTypes>,
    /// The contribution of the span to the cost of the trace.
    pub cost: CostShare,
}

/// A span with its decoded message. It records which attributes have been shown.
pub(super) struct Node<'a> {
    pub(super) span: &'a Span,
    pub(super) message: proto::Span,
    pub(super) index: AttributePositions,
    /// By attribute: true if the node has shown its value. Shown values are not repeated.
    is_shown: Vec<bool>,
    /// By attribute: the JSON in its text, after it was parsed as messages.
    json: Vec<OnceCell<Option<Json>>>,
}

impl<'a> Node<'a> {
    /// Returns the node of `span`.
    pub(super) fn of(span: &'a Span) -> Result<Self> {
        let message = span.message()?;
        let index = AttributePositions::of(&message.attributes);
        let is_shown = vec![false; message.attributes.len()];
        let json = vec![OnceCell::new(); message.attributes.len()];
        Ok(Self { span, message, index, is_shown, json })
    }

    /// Returns the JSON of the attribute at `position`, if it may be messages.
    pub(super) fn json_at(&self, position: usize) -> Option<&Json> {
        let json = || json_of(&value_text(value_of(&self.message.attributes[position])?));
        self.json[position].get_or_init(json).as_ref()
    }

    /// Returns `true` if the span declares itself a chain, in any convention.
    pub(super) fn is_chain(&self) -> bool {
        self.index.text(&self.message.attributes, Attribute::Kind).as_deref() == Some("CHAIN")
    }

    /// Returns the error; `None` if the span did not fail.
    pub(super) fn error(&mut self) -> Option<String> {
        if !self.span.is_error {
            return None;
        }
        self.error_message()
            .or_else(|| self.take_text(Attribute::ErrorType))
            .or_else(|| Some(UNKNOWN_ERROR.to_owned()))
    }

    /// Returns the message of the error, which is more specific than its type.
    pub(super) fn error_message(&mut self) -> Option<String> {
        let status = self.message.status.as_ref().map(|status| status.message.clone());
        status
            .filter(|message| !message.is_empty())
            .map(|message| before_traceback(&message).to_owned())
            .or_else(|| self.take_text(Attribute::ErrorMessage))
            .or_else(|| self.exception())
    }

    /// Writes the members before the children.
    pub(super) fn write_head(&mut self, json: &mut JsonWriter<'_>) {
        let span = self.span;
        let start = micros(span.start);
        let end = micros(span.effective_end());
        json.text_member("id", &span.span_id.to_string());
        json.text_member("name", &span.summary.name);
        json.text_member("type", span.summary.node_type.word());
        json.text_member("duration", &format_duration((end - start).max(0) / 1_000));
        json.instant_member("start_time", start);
        json.instant_member("end_time", end);
        json.text_member("status", STATUSES[usize::from(span.is_error)]);
        json.optional_member("input", self.input().as_deref());
        json.optional_member("output", self.output().as_deref());
        json.optional_member("error", self.error().as_deref());
    }

    /// Writes the members after the children, except `extra_data`.
    pub(super) fn write_tail(&mut self, json: &mut JsonWriter<'_>, context: &TreeContext<'_>) {
        json.optional_member("step_type", self.step_type(context.step_types).as_deref());
        self.write_metadata(json, context);
        json.cost_share_members(context.cost);
        self.mark_kind();
    }

    /// Returns the attributes whose values the node has not shown.
    pub(super) fn unshown_attributes(&self) -> impl Iterator<Item = &KeyValue> {
        let attributes = self.message.attributes.iter().zip(&self.is_shown);
        attributes.filter(|(_, is_shown)| !**is_shown).map(|(attribute, _)| attribute)
    }

    /// Returns the step types for the spans below this one, with its children in `spans`; `None` if it is not
    /// a workflow.
    pub(super) fn steps(&self, spans: &[Arc<Span>], children: &[usize]) -> Option<StepTypes> {
        if self.span.summary.node_type != NodeType::Workflow {
            return None;
        }
        let attributes = &self.message.attributes;
        let names = self.index.value(attributes, Attribute::Steps);
        let types = self.index.value(attributes, Attribute::StepTypes);
        let mut steps =
            names.zip(types).and_then(|(names, types)| StepTypes::of(&names, &types)).unwrap_or_default();
        let below = children.iter().map(|child| &spans[*child].summary);
        steps.assign(below.filter(|child| child.node_type == NodeType::Workflow).map(|child| &*child.name));
        Some(steps)
    }

    /// Returns the type of a step: from the span, otherwise from the parent workflow, otherwise `Step`.
    fn step_type(&mut self, of_parent: Option<&StepTypes>) -> Option<String> {
        let text = |attribute| self.index.text(&self.message.attributes, attribute);
        let own = text(Attribute::StepType);
        let is_step = own.is_some() || (of_parent.is_some() && self.is_workflow_part());
        // The instrumentor of agno reports the executor of a step instead of its type.
        if own.is_some_and(|own| !matches!(&*own, "agent" | "team")) {
            return self.take_text(Attribute::StepType);
        }
        let name = text(Attribute::StepName);
        let declared = of_parent.and_then(|steps| steps.step_type(name.as_deref(), &self.message.name));
        declared.or(is_step.then_some("Step")).map(str::to_owned)
    }

    /// Returns `true` if the span is part of a workflow, but not a workflow run.
    fn is_workflow_part(&self) -> bool {
        let of_runs = [Attribute::WorkflowId, Attribute::RunId, Attribute::StepsCount];
        self.span.summary.node_type == NodeType::Workflow
            && of_runs.iter().all(|attribute| self.index.position(*attribute).is_none())
    }

    /// Writes the `metadata` of this type of node. Zero and empty values are omitted.
    fn write_metadata(&mut self, json: &mut JsonWriter<'_>, context: &TreeContext<'_>) {
        let named: &[(&str, Attribute)] = match self.span.summary.node_type {
            NodeType::Agent | NodeType::Team => &[("run_id", Attribute::RunId)],
            NodeType::Llm | NodeType::Embedding => &[
                ("model", Attribute::Model),
                ("provider", Attribute::Provider),
                ("input_tokens", Attribute::InputTokens),
                ("output_tokens", Attribute::OutputTokens),
                ("cached_tokens", Attribute::CachedTokens),
                ("reasoning_tokens", Attribute::ReasoningTokens),
            ],
            NodeType::Tool => &[("tool_name", Attribute::ToolName)],
            NodeType::Workflow | NodeType::Chain => &[
                ("description", Attribute::Description),
                ("steps_count", Attribute::StepsCount),
                ("steps", Attribute::Steps),
                ("step_types", Attribute::StepTypes),
            ],
            NodeType::Other(_) | NodeType::Unknown => &[],
        };
        let summary = &self.span.summary;
        let ids = [("session_id", &summary.session_id), ("user_id", &summary.user_id)];
        let row = context.row;
        let totals = [("total_input_tokens", row.input_tokens), ("total_output_tokens", row.output_tokens)];

        let mut inside = Vec::new();
        let mut members = JsonWriter::new(&mut inside);
        for (key, attribute) in named {
            self.write_named(&mut members, key, *attribute);
        }
        if self.span.summary.node_type == NodeType::Tool {
            self.write_tool(&mut members);
        }
        if let Some(cost) = summary.cost {
            members.dollars_member("cost", cost);
        }
        for (key, id) in ids {
            members.optional_member(key, id.as_deref());
        }
        for (key, total) in totals {
            if context.is_root && total > 0 {
                members.whole_member(key, total);
            }
        }
        self.mark_ids();
        if !inside.is_empty() {
            json.key("metadata");
            json.begin_object();
            json.raw(&inside);
            json.end_object();
        }
    }

    fn write_named(&mut self, members: &mut JsonWriter<'_>, key: &str, attribute: Attribute) {
        let found = self.index.find(&self.message.attributes, attribute);
        let Some((position, value)) = found.filter(|(_, value)| !is_falsy(value)) else { return };
        members.key(key);
        members.value(&value);
        self.mark(position);
    }

    /// Writes the arguments of a tool, and its name if that is the span's own name.
    fn write_tool(&mut self, members: &mut JsonWriter<'_>) {
        let is_agno = self.span.summary.is_agno;
        let attributes = &self.message.attributes;
        if self.index.value(attributes, Attribute::ToolName).is_none() {
            members.optional_member("tool_name", tool_of_span(self.span));
        }
        let declared = self.index.find(attributes, Attribute::ToolParameters);
        // `tool.parameters` may be the schema of the arguments.
        let is_open = |at: usize| attributes[at].key == "tool.parameters" && !is_agno;
        let may_be_schema = declared.as_ref().is_some_and(|(position, _)| position.is_some_and(is_open));
        let is_schema = declared.as_ref().is_some_and(|(_, declared)| may_be_schema && is_schema(declared));
        let has_arguments = declared.is_some() && !may_be_schema;
        if !has_arguments && let Some(arguments) = self.input().and_then(arguments_of) {
            return members.text_member("parameters", &arguments);
        }
        if !is_schema {
            self.write_named(members, "parameters", Attribute::ToolParameters);
        }
    }

    /// Marks the session and user attributes as shown if their values were shown.
    fn mark_ids(&mut self) {
        let summary = &self.span.summary;
        for (attribute, id) in
            [(Attribute::SessionId, &summary.session_id), (Attribute::UserId, &summary.user_id)]
        {
            self.mark_if_equal(attribute, id.as_deref());
        }
    }

    /// Marks the kind as shown if it equals the node's type.
    fn mark_kind(&mut self) {
        self.mark_if_equal(Attribute::Kind, Some(self.span.summary.node_type.word()));
    }

    fn mark_if_equal(&mut self, attribute: Attribute, shown: Option<&str>) {
        let Some(position) = self.index.position(attribute) else { return };
        if let Some(Value::StringValue(text)) = value_of(&self.message.attributes[position]) {
            self.is_shown[position] |= Some(text.as_str()) == shown;
        }
    }

    /// Returns the text of an attribute and marks it as shown.
    fn take_text(&mut self, attribute: Attribute) -> Option<String> {
        let (position, value) = self.index.find(&self.message.attributes, attribute)?;
        let text = value_text(&value).into_owned();
        self.mark(position);
        Some(text)
    }

    /// Marks the attribute at `position` as shown.
    pub(super) fn mark(&mut self, position: Option<usize>) {
        if let Some(position) = position {
            self.is_shown[position] = true;
        }
    }

    /// Returns the message of the last exception. Earlier exceptions may have been handled.
    fn exception(&self) -> Option<String> {
        let exceptions = self.message.events.iter().rev().filter(|event| event.name == "exception");
        exceptions.flat_map(|event| ["exception.message", "exception.type"].map(|key| (event, key))).find_map(
            |(event, key)| {
                let attribute = event.attributes.iter().find(|attribute| attribute.key == key)?;
                Some(value_text(value_of(attribute)?).into_owned()).filter(|text| !text.is_empty())
            },
        )
    }
}

fn value_of(attribute: &KeyValue) -> Option<&Value> {
    attribute.value.as_ref()?.value.as_ref()
}

/// Returns the tool name from the name of a tool span; `None` for agno, whose spans are named differently.
pub(super) fn tool_of_span(span: &Span) -> Option<&str> {
    let name = &*span.summary.name;
    present(name.strip_suffix(".__call__").unwrap_or(name)).filter(|_| !span.summary.is_agno)
}

/// Returns the error of a span if its status alone determines it.
pub(super) fn sent_error<'a>(span: &SpanRef<'a>) -> Option<&'a str> {
    let is_error = span.status == proto::status::StatusCode::Error as i32;
    let message = simdutf8::basic::from_utf8(span.status_message).ok().and_then(present)?;
    is_error.then(|| before_traceback(message))
}

/// Returns a message without the traceback at its end.
pub(super) fn before_traceback(message: &str) -> &str {
    let before = message.split("Traceback (most recent call last)").next().unwrap_or_default().trim_end();
    if before.is_empty() { message } else { before }
}

/// Returns `true` if a value is zero, false or empty.
fn is_falsy(value: &Value) -> bool {
    match value {
        Value::StringValue(text) => text.is_empty(),
        Value::BoolValue(truth) => !truth,
        Value::IntValue(number) => *number == 0,
        Value::DoubleValue(number) => *number == 0.0,
        Value::ArrayValue(array) => array.values.is_empty(),
        Value::KvlistValue(map) => map.values.is_empty(),
        Value::BytesValue(bytes) => bytes.is_empty(),
        Value::StringValueStrindex(_) => false,
    }
}

/// Returns `true` if the parameters of a tool are the schema of its arguments instead of the arguments.
fn is_schema(parameters: &Value) -> bool {
    let json: Option<Json> = serde_json::from_str(&value_text(parameters)).ok();
    json.is_some_and(|json| json["properties"].is_object())
}

/// Returns the arguments in the input of a tool: a JSON object, or its member `kwargs` if that is the only
/// one.
fn arguments_of(text: String) -> Option<String> {
    let may_be_object = text.len() <= MAX_ARGUMENTS && text.starts_with('{');
    let json: Json = may_be_object.then(|| serde_json::from_str(&text).ok()).flatten()?;
    let has_positions = json["args"].as_array().is_some_and(|args| !args.is_empty());
    let is_call = json["kwargs"].is_object() && !has_positions;
    Some(if is_call { json["kwargs"].to_string() } else { text })
}
