//! What a workflow says of its steps: their names, and what each one is.
//!
//! Names and types are words. What is longer than a word may be, or a list longer than a list of
//! steps may be, is shown as it was sent but gives no step a type: each of them would be repeated
//! at every child of the workflow.

use std::collections::HashMap;

use crate::otlp::proto::any_value::Value;

/// The most steps that are looked at.
const MAX_STEPS: usize = 1_024;
/// The most bytes of a step's name or type.
const MAX_WORD_BYTES: usize = 256;

/// The types of a workflow's steps by name.
#[derive(Debug, Clone, Default)]
pub(super) struct StepTypes {
    by_name: HashMap<String, String>,
    /// By the name as it is spelled in the names of spans.
    by_spelling: HashMap<String, String>,
}

impl StepTypes {
    /// Pairs `agno.workflow.steps` with `agno.workflow.step_types`; `None` if they cannot be paired.
    ///
    /// A bare function has a type, `function`, but no name, so it stands in the second list only.
    pub(super) fn of(names: &Value, types: &Value) -> Option<Self> {
        let names = words(names)?;
        let mut types = words(types)?;
        if names.len() != types.len() {
            types.retain(|step_type| *step_type != "function");
        }
        if names.len() != types.len() {
            return None;
        }
        let mut step_types = Self::default();
        for (name, step_type) in names.into_iter().zip(types) {
            let spelling = name.replace(|letter: char| !letter.is_alphanumeric(), "_");
            step_types.by_spelling.entry(spelling).or_insert_with(|| step_type.to_owned());
            step_types.by_name.entry(name.to_owned()).or_insert_with(|| step_type.to_owned());
        }
        Some(step_types)
    }

    /// Returns the type of the step with this name; a span that does not tell it has it in its own
    /// name, `<step>.<method>`, with `_` for what is no letter or digit.
    pub(super) fn step_type(&self, name: Option<&str>, span_name: &str) -> Option<&str> {
        let step_type = match name {
            Some(name) => self.by_name.get(name),
            None => self.by_spelling.get(span_name.rsplit_once('.').map_or(span_name, |(step, _)| step)),
        };
        step_type.map(String::as_str)
    }
}

fn words(list: &Value) -> Option<Vec<&str>> {
    let Value::ArrayValue(array) = list else { return None };
    if array.values.len() > MAX_STEPS {
        return None;
    }
    let words = array.values.iter().map(|item| match &item.value {
        Some(Value::StringValue(word)) if word.len() <= MAX_WORD_BYTES => Some(word.as_str()),
        _ => None,
    });
    words.collect()
}
