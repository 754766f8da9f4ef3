//! The trace columns and their JSON output.

use std::borrow::Cow;

use ahash::HashMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::super::cost::{CallCost, format_dollars};
use super::super::json::preview;
use crate::otlp::SpanId;

/// The code for NULL: no parent, no text.
const NONE: i64 = -1;

/// The spans of a trace, with one entry per span in each column.
#[derive(Default, Serialize)]
pub(super) struct SpanColumns<'a> {
    #[serde(serialize_with = "write_ids")]
    pub(super) span_id: Vec<SpanId>,
    #[serde(serialize_with = "write_positions")]
    pub(super) parent: Vec<Option<usize>>,
    /// The start in microseconds after the start of the trace.
    pub(super) start_us: Vec<i64>,
    /// The duration in microseconds; `None` for a span without an end.
    pub(super) duration_us: Vec<Option<i64>>,
    pub(super) r#type: CodedColumn<'a>,
    pub(super) name: CodedColumn<'a>,
    pub(super) model: CodedColumn<'a>,
    pub(super) tool: CodedColumn<'a>,
    pub(super) agent: CodedColumn<'a>,
    pub(super) error: CodedColumn<'a>,
    pub(super) input_tokens: Vec<u64>,
    pub(super) output_tokens: Vec<u64>,
    pub(super) cached_tokens: Vec<u64>,
    pub(super) reasoning_tokens: Vec<u64>,
    #[serde(serialize_with = "write_costs")]
    pub(super) cost: Vec<CallCost>,
    pub(super) input_bytes: Vec<usize>,
    pub(super) output_bytes: Vec<usize>,
    pub(super) events: Vec<u32>,
    pub(super) links: Vec<u32>,
}

impl SpanColumns<'_> {
    /// Returns empty columns with memory for `spans` spans in the widest columns.
    pub(super) fn with_capacity(spans: usize) -> Self {
        Self {
            span_id: Vec::with_capacity(spans),
            parent: Vec::with_capacity(spans),
            start_us: Vec::with_capacity(spans),
            duration_us: Vec::with_capacity(spans),
            ..Self::default()
        }
    }
}

/// A dictionary-encoded text column: each distinct text once, and its code for each span.
#[derive(Default, Serialize)]
pub(super) struct CodedColumn<'a> {
    values: Vec<Cow<'a, str>>,
    codes: Vec<i64>,
    #[serde(skip)]
    known: HashMap<Cow<'a, str>, i64>,
}

impl<'a> CodedColumn<'a> {
    /// Appends the start of a text.
    pub(super) fn push(&mut self, text: Option<Cow<'a, str>>) {
        let code = text.map_or(NONE, |text| self.code(text));
        self.codes.push(code);
    }

    fn code(&mut self, text: Cow<'a, str>) -> i64 {
        let text = match text {
            Cow::Borrowed(text) => preview(text),
            Cow::Owned(text) => Cow::Owned(preview(&text).into_owned()),
        };
        if let Some(code) = self.known.get(&text) {
            return *code;
        }
        let code = number(self.values.len());
        self.values.push(text.clone());
        self.known.insert(text, code);
        code
    }
}

fn number(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn write_ids<S: Serializer>(ids: &[SpanId], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().map(ToString::to_string))
}

fn write_positions<S: Serializer>(positions: &[Option<usize>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(positions.iter().map(|position| position.map_or(NONE, number)))
}

fn write_costs<S: Serializer>(costs: &[CallCost], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(costs.iter().map(|cost| Dollars(*cost)))
}

/// A cost that serializes as dollars, or as null if it is unknown.
struct Dollars(CallCost);

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            CallCost::Unknown => serializer.serialize_none(),
            // Most spans cost nothing, so this does not format a text.
            CallCost::Known(0) => serializer.serialize_u64(0),
            CallCost::Known(amount) => {
                RawValue::from_string(format_dollars(amount.into())).ok().serialize(serializer)
            }
        }
    }
}
