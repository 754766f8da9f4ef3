//! The costs of model calls, computed from every pair of spans.

use std::iter::successors;

use spanwise::trace::TraceRow;

use super::SeenTrace;
use crate::filter::oracle::{Cell, Row};

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small amount")]
pub(super) fn nanodollars(dollars: f64) -> u64 {
    (dollars * 1e9).round() as u64
}

#[allow(clippy::cast_precision_loss, reason = "a small amount")]
pub(crate) fn dollars(nanodollars: u64) -> f64 {
    nanodollars as f64 / 1e9
}

/// The cost fields of a trace.
pub(super) struct Costs {
    is_whole: bool,
    cost: Cell,
}

impl Costs {
    pub(super) fn of(trace: &SeenTrace) -> Self {
        let (known, is_whole) = trace.cost();
        Self { is_whole, cost: Cell::Floating(dollars(known)) }
    }
}

impl Row for Costs {
    fn cell(&self, key: &str) -> Option<&Cell> {
        Some(&self.cost).filter(|_| self.is_whole == (key == "cost"))
    }
}

/// A model call of a trace, as it is counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenCall {
    pub(crate) model: Option<String>,
    /// True if no call of its type is nested in it.
    pub(crate) is_innermost: bool,
    /// Its tokens, unless a nested call has tokens.
    pub(crate) tokens: u64,
    /// Nanodollars; `None` if unknown.
    pub(crate) cost: Option<u64>,
}

impl SeenTrace {
    /// Returns every model call. `gpt-4o` has a built-in price.
    pub(crate) fn calls(&self) -> Vec<SeenCall> {
        let of_type = |place: usize, other: usize| self.spans[other].call == self.spans[place].call;
        let is_above = |one: usize, other: usize| {
            successors(self.spans[other].parent, |at| self.spans[*at].parent).any(|above| above == one)
        };
        let calls = (0..self.spans.len()).filter(|place| self.spans[*place].call.is_some());
        let call = |place: usize| {
            let span = &self.spans[place];
            let all = || (0..self.spans.len()).filter(move |other| of_type(place, *other));
            let inside = || all().filter(move |other| is_above(place, *other));
            let has_report = |other: usize| self.spans[other].report.is_some();
            let is_counted = !inside().any(|other| self.spans[other].input_tokens > 0);
            let tokens = if is_counted { span.input_tokens } else { 0 };
            let is_covered = all().any(|other| is_above(other, place) && has_report(other));
            let cost = match span.report {
                _ if is_covered => Some(0),
                Some(report) => Some(report),
                None if tokens == 0 || inside().any(has_report) => Some(0),
                None => (span.model.as_deref() == Some("gpt-4o")).then_some(tokens * 2_500),
            };
            SeenCall { model: span.model.clone(), is_innermost: inside().next().is_none(), tokens, cost }
        };
        calls.map(call).collect()
    }

    /// Returns the known cost of the trace in nanodollars, and `true` if it is complete.
    pub(crate) fn cost(&self) -> (u64, bool) {
        let calls = self.calls();
        (calls.iter().filter_map(|call| call.cost).sum(), calls.iter().all(|call| call.cost.is_some()))
    }

    pub(crate) fn row(&self) -> &TraceRow {
        &self.row
    }
}
