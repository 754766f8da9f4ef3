//! What a workflow says of its steps: their names, and what each one is.

use crate::otlp::proto::any_value::Value;

/// The types of a workflow's steps by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepTypes(Vec<(String, String)>);

impl StepTypes {
    /// Pairs `agno.workflow.steps` with `agno.workflow.step_types`; `None` if they cannot be paired.
    ///
    /// A bare function has a type, `function`, but no name, so it stands in the second list only.
    pub(super) fn of(names: &Value, types: &Value) -> Option<Self> {
        let names = texts(names)?;
        let mut types = texts(types)?;
        if names.len() != types.len() {
            types.retain(|step_type| *step_type != "function");
        }
        if names.len() != types.len() {
            return None;
        }
        let pairs = names.into_iter().zip(types);
        Some(Self(pairs.map(|(name, step_type)| (name.to_owned(), step_type.to_owned())).collect()))
    }

    /// Returns the type of the step with this name; if the span does not tell it, the span's own
    /// name does, `<step>.<method>` with `_` for what is no letter or digit.
    pub(super) fn step_type(&self, name: Option<&str>, span_name: &str) -> Option<&str> {
        let own = span_name.rsplit_once('.').map_or(span_name, |(step, _)| step);
        let mut matching = self.0.iter().filter(|(step, _)| match name {
            Some(name) => step == name,
            None => {
                own.chars().eq(step.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }))
            }
        });
        matching.next().map(|(_, step_type)| step_type.as_str())
    }
}

fn texts(list: &Value) -> Option<Vec<&str>> {
    let Value::ArrayValue(array) = list else { return None };
    let texts = array.values.iter().map(|item| match &item.value {
        Some(Value::StringValue(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
