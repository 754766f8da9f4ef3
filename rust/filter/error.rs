//! Errors of a filter expression. The path to an error is collected while the parser unwinds.

use std::fmt::Write as _;

use super::json::Json;
use crate::error::FilterError;

/// One step from a value to one of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStep {
    /// Into a member of an object.
    Member(&'static str),
    /// Into an element of an array.
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

    /// Adds a step: the error is in member `name` of an object.
    pub(super) fn in_member(mut self, name: &'static str) -> Self {
        self.steps.push(PathStep::Member(name));
        self
    }

    /// Adds a step: the error is in element `index` of an array.
    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.steps.push(PathStep::Index(index));
        self
    }

    /// Returns the error for the caller, with the path as `source` spells it.
    ///
    /// An expression has one spelling for shapes that a source may spell differently: `condition` for
    /// `conditions` with one element, and `values` for `value`.
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
