//! A trace and its spans as finished JSON (specification, "`TraceDetail`", "`TraceNode`").
//!
//! Fields that have no value are left out; `tree` is always there. Members stand in the order of
//! the specification's tables. The tree is written with an explicit stack: each span is decoded
//! once, written, and dropped before its children are.

use std::sync::Arc;

use super::extra::write_extra_data;
use super::json::Json;
use super::node::{Node, Surroundings};
use super::origins::Origins;
use super::row::run_root;
use super::steps::StepTypes;
use super::tree::Forest;
use super::{Span, Trace, TraceRow};
use crate::error::Result;
use crate::otlp::SpanId;
use crate::schema::STATUSES;
use crate::time::format_duration;

/// Appends `trace` as a `TraceDetail` object.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a kept span cannot be read; `out` is then as it was.
pub fn write_trace(out: &mut Vec<u8>, trace: &Trace) -> Result<()> {
    all_or_nothing(out, |out| {
        let forest = Forest::of(trace.spans());
        let row = TraceRow::within(trace, &forest);
        let summary = Summary::of(trace.spans(), &forest)?;
        let mut json = Json::new(out);
        json.begin_object();
        write_row(&mut json, &row, &summary);
        json.key("tree");
        json.begin_array();
        Tree { spans: trace.spans(), forest: &forest, row: &row, origins: Origins::default() }.write(out)?;
        out.extend_from_slice(b"]}");
        Ok(())
    })
}

/// Appends `trace` as a `TraceSummary` object: a `TraceDetail` without output, error and tree.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a kept span cannot be read; `out` is then as it was.
pub fn write_summary(out: &mut Vec<u8>, trace: &Trace) -> Result<()> {
    all_or_nothing(out, |out| {
        let forest = Forest::of(trace.spans());
        let row = TraceRow::within(trace, &forest);
        let input = Summary::of(trace.spans(), &forest)?.input;
        let mut json = Json::new(out);
        json.begin_object();
        write_row(&mut json, &row, &Summary { input, ..Summary::default() });
        json.end_object();
        Ok(())
    })
}

/// Appends one span as a `TraceNode` object without children; returns whether the trace has it.
///
/// # Errors
/// [`crate::error::Error::Decode`] if the kept span cannot be read; `out` is then as it was.
pub fn write_span(out: &mut Vec<u8>, trace: &Trace, span_id: SpanId) -> Result<bool> {
    let spans = trace.spans();
    let Ok(place) = spans.binary_search_by(|span| span.span_id.cmp(&span_id)) else { return Ok(false) };
    all_or_nothing(out, |out| {
        let forest = Forest::of(spans);
        let parent = forest.parent(place);
        let step_types =
            parent.map(|parent| Node::of(&spans[parent])).transpose()?.and_then(|node| node.steps());
        let row = TraceRow::within(trace, &forest);
        let around = Surroundings { row: &row, is_root: parent.is_none(), step_types: step_types.as_ref() };
        let mut node = Node::of(&spans[place])?;
        let mut json = Json::new(out);
        json.begin_object();
        node.write_head(&mut json);
        write_tail(&mut json, &mut node, &around, &mut Origins::default());
        json.end_object();
        Ok(true)
    })
}

fn all_or_nothing<T>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<T>) -> Result<T> {
    let length = out.len();
    write(out).inspect_err(|_| out.truncate(length))
}

/// Writes the members of a node that stand after its children; `extra_data` comes last, because it holds what
/// the others have not shown.
fn write_tail<'a>(
    json: &mut Json<'_>,
    node: &mut Node<'a>,
    around: &Surroundings<'_>,
    origins: &mut Origins<'a>,
) {
    node.write_tail(json, around);
    write_extra_data(json, node, around.is_root, origins);
}

/// What a trace shows of its spans' content (design, section 5).
#[derive(Default)]
struct Summary {
    input: Option<String>,
    output: Option<String>,
    error: Option<String>,
}

impl Summary {
    fn of(spans: &[Arc<Span>], forest: &Forest) -> Result<Self> {
        let Some(place) = run_root(spans, forest) else { return Ok(Self::default()) };
        let mut run = Node::of(&spans[place])?;
        let input = run.input();
        let failed = spans.iter().filter(|span| span.is_error);
        let earliest_failed = failed.min_by(|one, other| one.sibling_order(other));
        let error = match earliest_failed {
            _ if run.span.is_error => run.error(),
            Some(span) => Node::of(span)?.error(),
            None => None,
        };
        if run.span.is_error {
            return Ok(Self { input, output: None, error });
        }
        let is_chain = run.is_chain();
        // A chain whose output is Python's `None` has none.
        let mut output = run.output().filter(|output| !(is_chain && output == "None"));
        if output.is_none() && is_chain {
            let children = forest.children(place).iter().map(|child| &spans[*child]);
            if let Some(last) = children.max_by_key(|span| span.effective_end()) {
                output = Node::of(last)?.output();
            }
        }
        Ok(Self { input, output, error })
    }
}

fn write_row(json: &mut Json<'_>, row: &TraceRow, summary: &Summary) {
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

/// The tree on its way into a buffer.
struct Tree<'a> {
    spans: &'a [Arc<Span>],
    forest: &'a Forest,
    row: &'a TraceRow,
    origins: Origins<'a>,
}

/// A family being written: the siblings still to come, and what closes their parent.
struct Family<'a> {
    coming: std::slice::Iter<'a, usize>,
    /// Where, in the bytes kept back, the parent's tail begins.
    tail: usize,
    step_types: Option<StepTypes>,
    is_first: bool,
}

impl<'a> Family<'a> {
    fn of(members: &'a [usize], tail: usize, step_types: Option<StepTypes>) -> Self {
        Self { coming: members.iter(), tail, step_types, is_first: true }
    }
}

impl Tree<'_> {
    /// Appends the roots with all that stands below them, with commas between.
    fn write(mut self, out: &mut Vec<u8>) -> Result<()> {
        // A node's tail stands after its children, but is written with the node and kept back here.
        let mut tails: Vec<u8> = Vec::new();
        let mut open = vec![Family::of(self.forest.roots(), 0, None)];
        while let Some(family) = open.last_mut() {
            let Some(place) = family.coming.next() else {
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
            let mut node = Node::of(&self.spans[*place])?;
            let mut json = Json::new(out);
            json.begin_object();
            node.write_head(&mut json);
            let is_root = self.forest.parent(*place).is_none();
            let around = Surroundings { row: self.row, is_root, step_types: family.step_types.as_ref() };
            let children = self.forest.children(*place);
            if children.is_empty() {
                write_tail(&mut json, &mut node, &around, &mut self.origins);
                json.end_object();
            } else {
                json.key("spans");
                json.begin_array();
                let tail = tails.len();
                write_tail(&mut Json::resumed(&mut tails), &mut node, &around, &mut self.origins);
                open.push(Family::of(children, tail, node.steps()));
            }
        }
        Ok(())
    }
}
