//! Faults of a filter; the path to a fault is gathered while unwinding.

use std::fmt::Write as _;

use super::json::Json;
use crate::error::FilterError;

/// One step down from an enclosing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// To a member of an object.
    Member(&'static str),
    /// To an element of an array.
    Index(usize),
}

/// A fault and the way to it, innermost step first.
#[derive(Debug)]
pub(super) struct LocatedError {
    message: String,
    steps: Vec<Step>,
}

impl LocatedError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), steps: Vec::new() }
    }

    /// Returns this fault as seen from the object whose member `name` it stands in.
    pub(super) fn in_member(mut self, name: &'static str) -> Self {
        self.steps.push(Step::Member(name));
        self
    }

    /// Returns this fault as seen from the array whose element it stands in.
    pub(super) fn in_element(mut self, place: usize) -> Self {
        self.steps.push(Step::Index(place));
        self
    }

    /// Returns the error for the caller, the path spelled as `source` spells it.
    ///
    /// An expression knows one spelling of each shape, a source may use the other: `conditions` with
    /// one element for `condition`, `value` for `values`.
    pub(super) fn spelled_as(self, source: &Json) -> FilterError {
        let mut path = "$".to_owned();
        let mut here = Some(source);
        for step in self.steps.iter().rev() {
            let lacks = |name: &str| here.is_some_and(|json| json.member(name).is_none());
            here = match *step {
                Step::Member("condition") if lacks("condition") => {
                    path.push_str(".conditions[0]");
                    here.and_then(|json| element(json.member("conditions")?, 0))
                }
                Step::Member(name) => {
                    let spelled = if name == "values" && lacks(name) { "value" } else { name };
                    path.push('.');
                    path.push_str(spelled);
                    here.and_then(|json| json.member(spelled))
                }
                Step::Index(place) => {
                    let written = write!(path, "[{place}]");
                    debug_assert!(written.is_ok(), "writing to a string does not fail");
                    here.and_then(|json| element(json, place))
                }
            };
        }
        FilterError { message: self.message, path }
    }
}

fn element(json: &Json, place: usize) -> Option<&Json> {
    let Json::Array(items) = json else { return None };
    items.get(place)
}
