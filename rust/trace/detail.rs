//! Writes traces and spans as JSON (`docs/reference/api-search.md#trace-detail`,
//! `docs/reference/api-search.md#trace-node`).
//!
//! Missing fields are omitted; `tree` is always present. Members have the order of the reference tables. The
//! tree is written with an explicit stack. Each span is decoded once, written, and dropped before its
//! children are written.

use std::sync::Arc;

use serde::Deserialize;

use super::cost::{
    CostShare, SpanShare, TraceCost, cost_of_trace, model_of, prices, shares_of_subtree, shares_of_trace,
};
use super::extra::write_extra_data;
use super::json::{JsonWriter, preview};
use super::messages::{self, Reading, Side};
use super::node::{Node, TreeContext};
use super::node_type::NodeType;
use super::origins::OriginWriter;
use super::row::{causes, run_root};
use super::steps::StepTypes;
use super::tree::Forest;
use super::{Span, Trace, TraceRow};
use crate::error::{Error, Result};
use crate::otlp::SpanId;
use crate::schema::STATUSES;
use crate::time::format_duration;

/// The level of detail of a trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Detail {
    /// `TraceDetail`: with input, output, error and the tree.
    #[default]
    Full,
    /// `TraceSummary`: with the input.
    Summary,
    /// `TracePreview`: with the start of input, output and error.
    Preview,
    /// `TraceSkeleton`: a preview with the columns of all spans.
    Skeleton,
}

impl TryFrom<String> for Detail {
    type Error = Error;

    fn try_from(word: String) -> Result<Self> {
        Self::from_word(&word)
    }
}

impl Detail {
    /// Returns the name of this level.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Summary => "summary",
            Self::Preview => "preview",
            Self::Skeleton => "skeleton",
        }
    }

    /// Returns the level named `word`.
    ///
    /// # Errors
    /// [`Error::Options`] with the supported levels if there is no such level.
    pub fn from_word(word: &str) -> Result<Self> {
        match word {
            "full" => Ok(Self::Full),
            "summary" => Ok(Self::Summary),
            "preview" => Ok(Self::Preview),
            "skeleton" => Ok(Self::Skeleton),
            _ => Err(Error::Options(format!(
                "expected `full`, `summary`, `preview` or `skeleton`, got `{word}`"
            ))),
        }
    }
}

/// Appends `trace` as a `TraceDetail` object.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a stored span cannot be decoded; `out` is then unchanged.
pub fn write_trace(out: &mut Vec<u8>, trace: &Trace) -> Result<()> {
    let trace = &*trace.assembled();
    all_or_nothing(out, |out| {
        let forest = Forest::of(trace.spans());
        let row = TraceRow::in_forest(trace, &forest);
        let summary = RunContent::of(trace.spans(), &forest)?;
        let mut json = JsonWriter::new(out);
        json.begin_object();
        write_row(&mut json, &row, &summary);
        let shares = shares_of_trace(trace.spans(), &forest)?;
        json.cost_member(SpanShare::sum(&shares).1);
        json.key("tree");
        json.begin_array();
        TreeWriter {
            spans: trace.spans(),
            forest: &forest,
            row: &row,
            shares: &shares,
            origins: OriginWriter::default(),
        }
        .write(out)?;
        out.extend_from_slice(b"]}");
        Ok(())
    })
}

/// Appends `trace` as a `TraceSummary` object: a `TraceDetail` without output, error and tree.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a stored span cannot be decoded; `out` is then unchanged.
pub fn write_summary(out: &mut Vec<u8>, trace: &Trace) -> Result<()> {
    let trace = &*trace.assembled();
    all_or_nothing(out, |out| {
        let forest = Forest::of(trace.spans());
        let row = TraceRow::in_forest(trace, &forest);
        let input = RunContent::of(trace.spans(), &forest)?.input;
        let mut json = JsonWriter::new(out);
        json.begin_object();
        write_row(&mut json, &row, &RunContent { input, ..RunContent::default() });
        json.end_object();
        Ok(())
    })
}

/// Appends `trace` as a `TracePreview` object: its row, and the start of its input, output and error.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a stored span cannot be decoded; `out` is then unchanged.
pub fn write_preview(out: &mut Vec<u8>, trace: &Trace) -> Result<()> {
    let trace = &*trace.assembled();
    all_or_nothing(out, |out| {
        let forest = Forest::of(trace.spans());
        let row = TraceRow::in_forest(trace, &forest);
        let content = RunContent::of(trace.spans(), &forest)?;
        let mut json = JsonWriter::new(out);
        json.begin_object();
        write_preview_members(&mut json, (&row, cost_of_trace(trace.spans(), &forest)?), &content);
        json.end_object();
        Ok(())
    })
}

/// Writes the members of a `TracePreview`.
pub(super) fn write_preview_members(
    json: &mut JsonWriter<'_>,
    (row, cost): (&TraceRow, TraceCost),
    content: &RunContent,
) {
    write_row(json, row, &RunContent::default());
    write_beyond_summary(json, row);
    json.cost_member(cost);
    for (key, text) in [
        ("input_preview", &content.input),
        ("output_preview", &content.output),
        ("error_preview", &content.error),
    ] {
        json.optional_member(key, text.as_deref().map(preview).as_deref());
    }
}

/// Appends one span as a `SpanDetail` object, which is a `TraceNode` without children but with the messages
/// of its content, its price and the sums of its subtree. Returns `false` if the trace does not have the span.
///
/// # Errors
/// [`crate::error::Error::Decode`] if the stored span cannot be decoded; `out` is then unchanged.
pub fn write_span(out: &mut Vec<u8>, trace: &Trace, span_id: SpanId) -> Result<bool> {
    let trace = &*trace.assembled();
    let spans = trace.spans();
    let Ok(index) = spans.binary_search_by(|span| span.span_id.cmp(&span_id)) else { return Ok(false) };
    all_or_nothing(out, |out| {
        let forest = Forest::of(spans);
        let parent = forest.parent(index);
        let parent_node = parent.map(|parent| Node::of(&spans[parent])).transpose()?;
        let step_types =
            parent_node.zip(parent).and_then(|(node, parent)| node.steps(spans, forest.children(parent)));
        let row = TraceRow::in_forest(trace, &forest);
        let shares = shares_of_subtree(spans, &forest, index)?;
        let context = TreeContext {
            row: &row,
            is_root: parent.is_none(),
            step_types: step_types.as_ref(),
            cost: shares[0].cost,
        };
        let mut node = Node::of(&spans[index])?;
        let mut json = JsonWriter::new(out);
        json.begin_object();
        node.write_head(&mut json);
        write_tail(&mut json, &mut node, &context, &mut OriginWriter::default());
        if let Some(conversation) = node.conversation() {
            json.key("messages");
            json.serialized(&conversation);
        }
        write_usage(&mut json, &spans[index], &shares)?;
        json.end_object();
        Ok(true)
    })
}

/// Writes the price that the cost of `span` was computed from, and the sums of the span with all spans below
/// it. `shares` has the contributions of these spans, with that of `span` first.
fn write_usage(json: &mut JsonWriter<'_>, span: &Span, shares: &[SpanShare]) -> Result<()> {
    let is_computed = matches!(shares, [SpanShare { cost: CostShare::Computed(_), .. }, ..]);
    let model = if is_computed { model_of(span)? } else { None };
    if let Some(price) = model.and_then(|model| prices().model_price(&model)) {
        json.key("price");
        json.serialized(&price);
    }
    if shares.len() > 1 {
        let (tokens, cost) = SpanShare::sum(shares);
        json.key("subtree");
        json.begin_object();
        json.whole_member("input_tokens", tokens.input);
        json.whole_member("output_tokens", tokens.output);
        json.whole_member("cached_tokens", tokens.cached);
        json.whole_member("reasoning_tokens", tokens.reasoning);
        json.cost_member(cost);
        json.end_object();
    }
    Ok(())
}

/// Calls `write`, and removes its output if it fails.
pub(super) fn all_or_nothing<T>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<T>,
) -> Result<T> {
    let length = out.len();
    write(out).inspect_err(|_| out.truncate(length))
}

/// Writes the members of a node after its children. `extra_data` comes last, because it has the data that the
/// other members have not shown.
fn write_tail<'a>(
    json: &mut JsonWriter<'_>,
    node: &mut Node<'a>,
    context: &TreeContext<'_>,
    origins: &mut OriginWriter<'a>,
) {
    node.write_tail(json, context);
    write_extra_data(json, node, context.is_root, origins);
}

/// The input, output and error of a trace (`docs/reference/traces.md#run-root`).
#[derive(Default)]
pub(super) struct RunContent {
    input: Option<String>,
    output: Option<String>,
    error: Option<String>,
}

impl RunContent {
    pub(super) fn of(spans: &[Arc<Span>], forest: &Forest) -> Result<Self> {
        let Some(index) = run_root(spans, forest) else { return Ok(Self::default()) };
        let mut run = Node::of(&spans[index])?;
        let models = || model_spans(spans, forest, index);
        let is_chain = run.is_chain();
        let input = match run.input().filter(|input| !(is_chain && is_internal(input))) {
            None => first_content(models().into_iter(), Side::Input)?,
            input => input,
        };
        let error = error_of(spans, forest, index)?;
        if run.span.is_error {
            return Ok(Self { input, output: None, error });
        }
        let mut output = run.output().filter(|output| !(is_chain && is_internal(output)));
        if output.is_none() && is_chain {
            let children = forest.children(index).iter().map(|child| &spans[*child]);
            if let Some(last) = children.max_by_key(|span| span.effective_end()) {
                output = Node::of(last)?.output().filter(|output| !is_internal(output));
            }
        }
        if output.is_none() {
            let mut answered: Vec<_> = models()
                .into_iter()
                .filter(|span| !span.is_error && span.summary.node_type == NodeType::Llm)
                .collect();
            answered.sort_by_key(|span| std::cmp::Reverse(span.effective_end()));
            output = first_content(answered.into_iter(), Side::Output)?;
        }
        Ok(Self { input, output, error })
    }
}

/// Returns `true` if the content of a chain is meaningless to people: Python's `None`, or the initial state
/// and the final event of a `LlamaIndex` workflow.
fn is_internal(content: &str) -> bool {
    content == "None" || ["StopEvent(", "{\"init_state\""].iter().any(|begin| content.starts_with(begin))
}

/// The maximum number of model spans that are searched for the input or the output of a run without content.
const MAX_SEARCHED: usize = 16;

/// Returns the model calls below the run root, including itself, in time order.
fn model_spans<'a>(spans: &'a [Arc<Span>], forest: &Forest, run: usize) -> Vec<&'a Span> {
    let mut below = vec![run];
    let mut next = 0;
    while let Some(index) = below.get(next) {
        below.extend_from_slice(forest.children(*index));
        next += 1;
    }
    let of_models = below.into_iter().map(|index| &*spans[index]);
    let mut models: Vec<&Span> = of_models.filter(|span| span.summary.node_type.is_model()).collect();
    models.sort_by(|one, other| one.sibling_order(other));
    models
}

/// Returns the content of the first of `spans` that has any. JSON input is a request of unknown shape, so
/// readable text takes precedence over it.
fn first_content<'a>(spans: impl Iterator<Item = &'a Span>, side: Side) -> Result<Option<String>> {
    let mut request = None;
    for span in spans.take(MAX_SEARCHED) {
        let content = Node::of(span)?.content(side);
        // Messages without content are sent if content capture is switched off.
        let is_empty = |content: &str| {
            messages::json_of(content).is_some_and(|json| messages::read(&json, side) == Reading::Nothing)
        };
        match content.filter(|content| !is_empty(content)) {
            Some(content) if side == Side::Input && content.starts_with(['{', '[']) => {
                request.get_or_insert(content);
            }
            Some(content) => return Ok(Some(content)),
            None => {}
        }
    }
    Ok(request)
}

/// Returns the error of a trace: the message of the first cause, or otherwise of the nearest span above it
/// with a message, or otherwise the type of the first cause.
fn error_of(spans: &[Arc<Span>], forest: &Forest, run: usize) -> Result<Option<String>> {
    let mut causes = causes(spans, forest, run);
    if causes.is_empty() {
        let failed = (0..spans.len()).filter(|index| spans[*index].is_error);
        causes.extend(failed.min_by(|one, other| spans[*one].sibling_order(&spans[*other])));
    }
    for cause in causes.iter().rev().take(MAX_SEARCHED) {
        if let message @ Some(_) = Node::of(&spans[*cause])?.error_message() {
            return Ok(message);
        }
    }
    causes.last().map_or(Ok(None), |cause| Ok(Node::of(&spans[*cause])?.error()))
}

pub(super) fn write_row(json: &mut JsonWriter<'_>, row: &TraceRow, summary: &RunContent) {
    json.text_member("trace_id", &row.trace_id.to_string());
    json.text_member("name", &row.name);
    json.text_member("status", STATUSES[usize::from(row.is_error)]);
    json.text_member("duration", &format_duration(row.duration_ms));
    json.instant_member("start_time", row.start_time);
    json.instant_member("end_time", row.end_time);
    json.whole_member("total_spans", row.total_spans);
    json.whole_member("error_count", row.error_count);
    json.optional_member("input", summary.input.as_deref());
    json.optional_member("output", summary.output.as_deref());
    json.optional_member("error", summary.error.as_deref());
    json.optional_member("run_id", row.run_id.as_deref());
    json.optional_member("session_id", row.session_id.as_deref());
    json.optional_member("user_id", row.user_id.as_deref());
    json.optional_member("agent_id", row.agent_id.as_deref());
    json.optional_member("team_id", row.team_id.as_deref());
    json.optional_member("workflow_id", row.workflow_id.as_deref());
    json.instant_member("created_at", row.created_at);
}

/// Writes the members of a row that a summary does not have.
pub(super) fn write_beyond_summary(json: &mut JsonWriter<'_>, row: &TraceRow) {
    json.optional_member("service", row.service.as_deref());
    json.optional_member("environment", row.environment.as_deref());
    json.optional_member("release", row.release.as_deref());
    json.whole_member("input_tokens", row.input_tokens);
    json.whole_member("output_tokens", row.output_tokens);
    json.whole_member("total_tokens", row.total_tokens);
    json.whole_member("cached_tokens", row.cached_tokens);
    json.whole_member("reasoning_tokens", row.reasoning_tokens);
    json.whole_member("llm_calls", row.llm_calls);
    json.whole_member("tool_calls", row.tool_calls);
}

struct TreeWriter<'a> {
    spans: &'a [Arc<Span>],
    forest: &'a Forest,
    row: &'a TraceRow,
    shares: &'a [SpanShare],
    origins: OriginWriter<'a>,
}

/// The siblings being written, and their pending tail.
struct Siblings<'a> {
    remaining: std::slice::Iter<'a, usize>,
    /// The offset of the parent's tail in the tail buffer.
    tail: usize,
    step_types: Option<StepTypes>,
    is_first: bool,
}

impl<'a> Siblings<'a> {
    fn of(members: &'a [usize], tail: usize, step_types: Option<StepTypes>) -> Self {
        Self { remaining: members.iter(), tail, step_types, is_first: true }
    }
}

impl TreeWriter<'_> {
    /// Appends the roots and all spans below them, separated by commas.
    fn write(mut self, out: &mut Vec<u8>) -> Result<()> {
        // The members after a node's children are written together with the node, and buffered here until the
        // children are done.
        let mut tails: Vec<u8> = Vec::new();
        let mut open = vec![Siblings::of(self.forest.roots(), 0, None)];
        while let Some(family) = open.last_mut() {
            let Some(index) = family.remaining.next() else {
                let tail = family.tail;
                open.pop();
                if !open.is_empty() {
                    out.push(b']');
                    out.extend_from_slice(&tails[tail..]);
                    tails.truncate(tail);
                    out.push(b'}');
                }
                continue;
            };
            if !std::mem::take(&mut family.is_first) {
                out.push(b',');
            }
            let mut node = Node::of(&self.spans[*index])?;
            let mut json = JsonWriter::new(out);
            json.begin_object();
            node.write_head(&mut json);
            let is_root = self.forest.parent(*index).is_none();
            let context = TreeContext {
                row: self.row,
                is_root,
                step_types: family.step_types.as_ref(),
                cost: self.shares[*index].cost,
            };
            let children = self.forest.children(*index);
            if children.is_empty() {
                write_tail(&mut json, &mut node, &context, &mut self.origins);
                json.end_object();
            } else {
                json.key("spans");
                json.begin_array();
                let tail = tails.len();
                write_tail(&mut JsonWriter::in_object(&mut tails), &mut node, &context, &mut self.origins);
                open.push(Siblings::of(children, tail, node.steps(self.spans, children)));
            }
        }
        Ok(())
    }
}
