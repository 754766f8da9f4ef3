//! The names and types of a workflow's steps.
//!
//! Over-long names, types and lists are shown as they were sent but give no step a type, because each type is
//! repeated at every child of the workflow.

use std::collections::HashMap;

use crate::otlp::proto::any_value::Value;

/// Maximum number of steps that are read.
const MAX_STEPS: usize = 1_024;
/// Maximum length of a step's name or type, in bytes.
const MAX_WORD_BYTES: usize = 256;

/// The types of a workflow's steps, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct StepTypes {
    by_name: HashMap<String, String>,
    /// By the name as it is spelled in span names.
    by_spelling: HashMap<String, String>,
}

impl StepTypes {
    /// Pairs `agno.workflow.steps` with `agno.workflow.step_types`; `None` if they cannot be paired.
    ///
    /// A plain function has a type, `function`, but no name, so it is only in the second list.
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

    /// Returns the type of the step with this name. If the span has no step name, it is taken from the span's own
    /// name, `<step>.<method>`, in which `_` replaces everything but letters and digits.
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
