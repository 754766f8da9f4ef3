//! Errors of a filter expression; the path to an error is collected while the parser unwinds.

use std::fmt::Write as _;

use super::json::Json;
use crate::error::FilterError;

/// One step from a value into one of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStep {
    /// To a member of an object.
    Member(&'static str),
    /// To an element of an array.
    Index(usize),
}

/// An error and the path to it, innermost step first.
#[derive(Debug)]
pub(super) struct LocatedError {
    message: String,
    steps: Vec<PathStep>,
}

impl LocatedError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), steps: Vec::new() }
    }

    /// Returns this error as seen from the object in whose member `name` it occurred.
    pub(super) fn in_member(mut self, name: &'static str) -> Self {
        self.steps.push(PathStep::Member(name));
        self
    }

    /// Returns this error as seen from the array in whose element `index` it occurred.
    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.steps.push(PathStep::Index(index));
        self
    }

    /// Returns the error for the caller, with the path spelled as in `source`.
    ///
    /// An expression has one spelling of each shape where a source may use another: `conditions` with one element
    /// for `condition`, `value` for `values`.
    pub(super) fn spelled_as(self, source: &Json) -> FilterError {
        let mut path = "$".to_owned();
        let mut here = Some(source);
        for step in self.steps.iter().rev() {
            let lacks = |name: &str| here.is_some_and(|json| json.member(name).is_none());
            here = match *step {
                PathStep::Member("condition") if lacks("condition") => {
                    path.push_str(".conditions[0]");
                    here.and_then(|json| element(json.member("conditions")?, 0))
                }
                PathStep::Member(name) => {
                    let spelled = if name == "values" && lacks(name) { "value" } else { name };
                    path.push('.');
                    path.push_str(spelled);
                    here.and_then(|json| json.member(spelled))
                }
                PathStep::Index(index) => {
                    let written = write!(path, "[{index}]");
                    debug_assert!(written.is_ok(), "writing to a string does not fail");
                    here.and_then(|json| element(json, index))
                }
            };
        }
        FilterError { message: self.message, path }
    }
}

fn element(json: &Json, index: usize) -> Option<&Json> {
    let Json::Array(items) = json else { return None };
    items.get(index)
}
