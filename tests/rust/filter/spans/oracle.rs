//! The naive evaluator of conditions on spans: evaluates the filter's JSON on every pair of spans and every
//! text.

mod calls;
mod matches;

pub(crate) use self::calls::{SeenCall, dollars};
pub(crate) use self::matches::{SeenMatches, is_pattern};

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;
use regex::{Captures, Regex, RegexBuilder};
use serde_json::Value;
use spanwise::otlp::proto::{self, any_value};
use spanwise::trace::detail::write_trace;
use spanwise::trace::{Trace, TraceRow};

use crate::filter::indexed::plain;
use crate::filter::oracle::{Cell, Row, truth};

/// A span as it was sent, with its position in the tree.
pub(crate) struct Seen {
    id: String,
    parent: Option<usize>,
    start: u64,
    end: u64,
    is_failed: bool,
    cells: BTreeMap<&'static str, Cell>,
    texts: [Vec<String>; 3],
    /// The attributes of the span and of its resource.
    attributes: [Vec<proto::KeyValue>; 2],
    /// `LLM` or `EMBEDDING` for a model call.
    call: Option<String>,
    model: Option<String>,
    input_tokens: u64,
    /// Nanodollars.
    report: Option<u64>,
}

/// A trace: its row and its spans in tree order, starting with the run root.
pub(crate) struct SeenTrace {
    row: TraceRow,
    spans: Vec<Seen>,
    run_root: usize,
}

impl Row for Seen {
    fn cell(&self, key: &str) -> Option<&Cell> {
        self.cells.get(key)
    }
}

impl SeenTrace {
    /// Reads a trace whose spans have plain texts instead of messages.
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut detail = Vec::new();
        write_trace(&mut detail, trace).expect("a readable trace");
        let detail: Value = serde_json::from_slice(&detail).expect("JSON");
        let mut spans = Vec::new();
        for root in detail["tree"].as_array().expect("a tree") {
            add(trace, root, None, &mut spans);
        }
        let row = TraceRow::of(trace);
        // The spans of these tests are runs if they have a run type.
        let depth = |place: usize| std::iter::successors(Some(place), |at| spans[*at].parent).count();
        let is_run = |place: &usize| matches!(spans[*place].cells.get("type"), Some(Cell::Text(kind)) if kind == "AGENT");
        let runs = (0..spans.len()).filter(is_run);
        // Runs that are not siblings may also start at the same time. Then the one with the lower id is
        // first.
        let run_root =
            runs.min_by_key(|place| (depth(*place), spans[*place].start, &spans[*place].id)).unwrap_or(0);
        Self { row, spans, run_root }
    }

    /// Returns the truth of `filter` for the trace; `None` is unknown.
    pub(crate) fn truth(&self, filter: &Value) -> Option<bool> {
        kleene(filter, &|leaf| self.leaf(leaf))
    }

    /// Returns the ids of the spans for which a condition is true, in tree order; `null` is true for all.
    pub(crate) fn span_ids(&self, condition: &Value) -> Vec<String> {
        let is_true = |place: &usize| condition.is_null() || self.span_truth(condition, *place) == Some(true);
        (0..self.spans.len()).filter(is_true).map(|place| self.spans[place].id.clone()).collect()
    }

    /// Returns the names of the attributes with a value on any span or resource, in filter syntax.
    pub(crate) fn attribute_names(&self) -> BTreeSet<String> {
        let has_value =
            |own: &&proto::KeyValue| own.value.as_ref().is_some_and(|value| value.value.is_some());
        let of_spans =
            self.spans.iter().flat_map(|span| ["attributes.", "resource."].into_iter().zip(&span.attributes));
        let names = of_spans.flat_map(|(prefix, own)| {
            own.iter().filter(has_value).map(move |own| format!("{prefix}{}", own.key))
        });
        names.collect()
    }

    fn leaf(&self, leaf: &Value) -> Option<bool> {
        if leaf["op"] == "SPAN" {
            let all = 0..self.spans.len();
            let count =
                all.filter(|place| self.span_truth(&leaf["where"], *place) == Some(true)).count() as u64;
            let at_most = leaf["at_most"].as_u64().unwrap_or(u64::MAX);
            let at_least = leaf["at_least"].as_u64().unwrap_or(u64::from(at_most > 0));
            return Some((at_least..=at_most).contains(&count));
        }
        let key = leaf["key"].as_str().expect("a key");
        if let Some((scope, key)) = scoped(key) {
            return attribute(leaf, key, &self.spans[self.run_root].attributes[scope]);
        }
        if let "cost" | "cost_partial" = key {
            return truth(leaf, &calls::Costs::of(self));
        }
        match channel(key) {
            Some(channel) => said(leaf, self.spans.iter().flat_map(|span| span.said(channel))),
            None => truth(leaf, &plain(&self.row)),
        }
    }

    fn span_truth(&self, filter: &Value, place: usize) -> Option<bool> {
        kleene(filter, &|leaf| {
            let span = &self.spans[place];
            let Some(key) = leaf["key"].as_str() else {
                let mut others = (0..self.spans.len()).filter(|other| self.is_on(leaf, place, *other));
                return Some(others.any(|other| self.span_truth(&leaf["where"], other) == Some(true)));
            };
            if let Some((scope, key)) = scoped(key) {
                return attribute(leaf, key, &span.attributes[scope]);
            }
            if key == "is_root" {
                return Some(match leaf["op"].as_str().expect("op") {
                    "EXISTS" => true,
                    "EQ" => span.parent.is_none() == leaf["value"].as_bool().expect("a boolean"),
                    _ => span.parent.is_none() != leaf["value"].as_bool().expect("a boolean"),
                });
            }
            match channel(key) {
                Some(channel) => said(leaf, span.said(channel)),
                None => truth(leaf, span),
            }
        })
    }

    /// Returns `true` if `other` is on the axis of a leaf with options, as seen from `place`.
    fn is_on(&self, leaf: &Value, place: usize, other: usize) -> bool {
        let axis = leaf["op"].as_str().expect("an axis");
        let (earlier, later) = if axis == "FOLLOWED_BY" { (place, other) } else { (other, place) };
        let above =
            |place: usize| std::iter::successors(self.spans[place].parent, |at| self.spans[*at].parent);
        let is_above = |one: usize, other: usize| above(other).any(|above| above == one);
        let (span, target) = (&self.spans[place], &self.spans[other]);
        let is_elsewhere = place != other && !is_above(place, other) && !is_above(other, place);
        match axis {
            "PARENT" => span.parent == Some(other),
            "CHILD" => target.parent == Some(place),
            "ANCESTOR" => is_above(other, place),
            "DESCENDANT" => is_above(place, other),
            "SIBLING" => self.are_siblings(place, other) && self.are_same(&leaf["same"], place, other),
            "FOLLOWED_BY" | "PRECEDED_BY" => {
                is_elsewhere
                    && (leaf["scope"] != "siblings" || self.are_siblings(place, other))
                    && self.are_same(&leaf["same"], place, other)
                    && self.begins_after(leaf, earlier, later)
                    && (leaf["without"].is_null() || !self.has_between(leaf, earlier, later))
            }
            other => panic!("no axis {other}"),
        }
    }

    fn are_siblings(&self, one: usize, other: usize) -> bool {
        one != other && self.spans[one].parent.is_some() && self.spans[one].parent == self.spans[other].parent
    }

    /// Returns `true` if a span starts after the end or the start of another one, depending on `from`.
    fn begins_after(&self, leaf: &Value, earlier: usize, later: usize) -> bool {
        let (one, next) = (&self.spans[earlier], &self.spans[later]);
        if leaf["from"] == "start" {
            (next.start, later) > (one.start, earlier)
        } else {
            one.end != 0 && next.start >= one.end
        }
    }

    fn has_between(&self, leaf: &Value, earlier: usize, later: usize) -> bool {
        (0..self.spans.len()).filter(|place| *place != earlier && *place != later).any(|place| {
            self.begins_after(leaf, earlier, place)
                && (self.spans[place].start, place) < (self.spans[later].start, later)
                && self.span_truth(&leaf["without"], place) == Some(true)
        })
    }

    /// Returns `true` if two spans have equal values in each of these fields.
    fn are_same(&self, fields: &Value, one: usize, other: usize) -> bool {
        let value = |key: &str, place: usize| {
            let span = &self.spans[place];
            if key == "is_root" {
                return Some(span.parent.is_none().to_string());
            }
            match channel(key) {
                Some(channel) => Some(span.said(channel))
                    .filter(|texts| !texts.is_empty())
                    .map(|texts| format!("{texts:?}")),
                None => span.cells.get(key).map(|cell| format!("{cell:?}")),
            }
        };
        fields.as_array().into_iter().flatten().all(|field| {
            let key = field.as_str().expect("a field");
            value(key, one).is_some_and(|own| value(key, other) == Some(own))
        })
    }
}

impl Seen {
    fn said(&self, channel: usize) -> Vec<&str> {
        let error = &self.texts[2];
        let texts = match channel {
            0 | 1 => self.texts[channel].iter().collect(),
            2 => error.iter().filter(|_| self.is_failed).collect(),
            _ => self.texts[..2]
                .iter()
                .flatten()
                .chain(error.iter().filter(|_| self.is_failed))
                .collect::<Vec<_>>(),
        };
        texts.into_iter().map(String::as_str).collect()
    }
}

fn add(trace: &Trace, node: &Value, parent: Option<usize>, spans: &mut Vec<Seen>) {
    let id = node["id"].as_str().expect("an id");
    let sent = trace.spans().iter().find(|span| span.span_id.to_string() == id).expect("a span");
    let message = sent.message().expect("a message");
    let resource = proto::Resource::decode(sent.wire.origin.resource.clone()).expect("a resource");
    let text = |key: &str| {
        let own = message.attributes.iter().find(|attribute| attribute.key == key)?;
        let Some(any_value::Value::StringValue(text)) = &own.value.as_ref()?.value else { return None };
        Some(text.clone()).filter(|text| !text.is_empty())
    };
    let kind = text("openinference.span.kind").unwrap_or_else(|| "UNKNOWN".into());
    let is_failed = message.status.as_ref().is_some_and(|status| status.code == 2);
    let mut cells = BTreeMap::from([
        ("name", Cell::Text(message.name.clone())),
        ("status", Cell::Text(if is_failed { "ERROR" } else { "OK" }.into())),
        ("start_time", Cell::Instant(i128::from(message.start_time_unix_nano / 1_000 * 1_000))),
        ("child_count", Cell::Whole(node["spans"].as_array().map_or(0, Vec::len) as i128)),
    ]);
    let depth = std::iter::successors(parent, |at| spans[*at].parent).count();
    cells.insert("depth", Cell::Whole(depth as i128));
    if message.end_time_unix_nano != 0 {
        let lasted =
            (message.end_time_unix_nano / 1_000).saturating_sub(message.start_time_unix_nano / 1_000);
        cells.insert("duration_ms", Cell::Whole(i128::from(lasted / 1_000)));
    }
    let call = Some(kind.clone()).filter(|kind| kind == "LLM" || kind == "EMBEDDING");
    if call.is_some() {
        let count = |key: &str| text(key).map_or(0, |count| count.parse().expect("a count"));
        cells.insert("input_tokens", Cell::Whole(count("llm.token_count.prompt")));
        text("llm.model_name").map(|model| cells.insert("model", Cell::Text(model)));
    }
    let report = text("llm.cost.total").map(|cost| cost.parse::<f64>().expect("an amount"));
    report.map(|cost| cells.insert("cost", Cell::Floating(cost)));
    if kind == "TOOL" {
        let named = text("tool.name").unwrap_or_else(|| message.name.clone());
        cells.insert("tool_name", Cell::Text(named));
    }
    cells.insert("type", Cell::Text(kind));
    let error = message.status.as_ref().map(|status| status.message.clone()).filter(|text| !text.is_empty());
    let error = error.unwrap_or_else(|| "the span failed and did not say why".into());
    let place = spans.len();
    spans.push(Seen {
        id: id.to_owned(),
        parent,
        start: message.start_time_unix_nano,
        end: message.end_time_unix_nano,
        is_failed,
        cells,
        texts: [Vec::from_iter(text("input.value")), Vec::from_iter(text("output.value")), vec![error]],
        call,
        model: text("llm.model_name"),
        input_tokens: text("llm.token_count.prompt").map_or(0, |count| count.parse().expect("a count")),
        report: report.map(calls::nanodollars),
        attributes: [message.attributes, resource.attributes],
    });
    for child in node["spans"].as_array().into_iter().flatten() {
        add(trace, child, Some(place), spans);
    }
}

/// Combines the truths of leaves like in SQL.
fn kleene(filter: &Value, leaf: &dyn Fn(&Value) -> Option<bool>) -> Option<bool> {
    let parts = || filter["conditions"].as_array().expect("conditions").iter().map(|part| kleene(part, leaf));
    match filter["op"].as_str().expect("op") {
        "AND" if parts().any(|part| part == Some(false)) => Some(false),
        "OR" if parts().any(|part| part == Some(true)) => Some(true),
        "AND" => parts().collect::<Option<Vec<_>>>().map(|_| true),
        "OR" => parts().collect::<Option<Vec<_>>>().map(|_| false),
        "NOT" => kleene(&filter["condition"], leaf).map(|part| !part),
        _ => leaf(filter),
    }
}

fn channel(key: &str) -> Option<usize> {
    ["input", "output", "error", "text"].iter().position(|channel| *channel == key)
}

fn said<'a>(leaf: &Value, texts: impl IntoIterator<Item = &'a str>) -> Option<bool> {
    let texts: Vec<&str> = texts.into_iter().collect();
    if leaf["op"] == "EXISTS" {
        return Some(!texts.is_empty());
    }
    let wanted = pattern(leaf, "");
    let is_in = |text: &&str| {
        let once = resolved(text);
        [*text, &once, &resolved(&once)].into_iter().any(|text| wanted.is_match(text))
    };
    (!texts.is_empty()).then(|| texts.iter().any(is_in))
}

/// Returns the regular expression for the pattern of a leaf; with `$` for texts that end with it.
fn pattern(leaf: &Value, end: &str) -> Regex {
    let pattern = regex::escape(leaf["value"].as_str().expect("a pattern"));
    let ignore_case = leaf["ignore_case"].as_bool().unwrap_or(true);
    let wanted = RegexBuilder::new(&format!("{pattern}{end}")).case_insensitive(ignore_case).build();
    wanted.expect("an escaped pattern")
}

/// Returns a text with all JSON escapes resolved.
fn resolved(text: &str) -> String {
    let escapes = Regex::new(r#"(?:\\(?:u[0-9a-fA-F]{4}|["\\/nrtbf]))+"#).expect("a pattern");
    let run =
        |run: &Captures<'_>| serde_json::from_str(&format!("\"{}\"", &run[0])).unwrap_or(run[0].to_owned());
    escapes.replace_all(text, run).into_owned()
}

/// Returns the owner and the key of an attribute; `None` for a field.
fn scoped(key: &str) -> Option<(usize, &str)> {
    let own = key.strip_prefix("attributes.").map(|key| (0, key));
    own.or_else(|| key.strip_prefix("resource.").map(|key| (1, key)))
}

fn attribute(leaf: &Value, key: &str, attributes: &[proto::KeyValue]) -> Option<bool> {
    let own = attributes
        .iter()
        .filter(|attribute| attribute.key == key)
        .find_map(|own| own.value.as_ref()?.value.as_ref());
    let operator = leaf["op"].as_str().expect("op");
    if operator == "EXISTS" {
        return Some(own.is_some());
    }
    let cell = match own? {
        any_value::Value::StringValue(text) => Cell::Text(text.clone()),
        any_value::Value::IntValue(number) => Cell::Whole(i128::from(*number)),
        any_value::Value::DoubleValue(number) => Cell::Floating(*number),
        any_value::Value::BoolValue(own) => {
            let wanted = leaf["value"].as_bool()?;
            return Some((*own == wanted) == (operator == "EQ"));
        }
        _ => return None,
    };
    let fits = |value: &Value| match cell {
        Cell::Text(_) => value.is_string(),
        _ => value.is_number(),
    };
    let mut own_leaf = leaf.clone();
    if let Some(values) = leaf["values"].as_array() {
        let fitting: Vec<Value> = values.iter().filter(|value| fits(value)).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        own_leaf["values"] = fitting.into();
        if !matches!(cell, Cell::Text(_)) {
            own_leaf.as_object_mut().expect("an object").remove("ignore_case");
        }
    } else if !fits(&leaf["value"]) {
        return None;
    }
    let row = One(leaf["key"].as_str().expect("a key").to_owned(), cell);
    truth(&own_leaf, &row)
}

/// A row with one value.
struct One(String, Cell);

impl Row for One {
    fn cell(&self, key: &str) -> Option<&Cell> {
        (key == self.0).then_some(&self.1)
    }
}
