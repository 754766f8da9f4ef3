//! The names and types of a workflow's steps.
//!
//! Overlong names, types and lists are shown verbatim but determine no step type, because each type is
//! repeated in every child of the workflow.

use std::collections::HashMap;
use std::ops::Range;

use crate::otlp::proto::any_value::Value;

/// The maximum number of steps that are read.
const MAX_STEPS: usize = 1_024;
/// The maximum length of a step's name or type, in bytes.
const MAX_WORD_BYTES: usize = 256;
/// The type of a plain function, which has no name.
const FUNCTION: &str = "function";
/// The types of steps with a span of their own, which is named after the step.
const WITH_OWN_SPAN: [&str; 4] = ["Step", "Parallel", "Agent", "Team"];

/// The types of a workflow's steps.
#[derive(Debug, Clone, Default)]
pub(super) struct StepTypes {
    /// The types in the declared order.
    types: Vec<String>,
    /// The steps by name, as positions in `types`. For equal names, the first step wins.
    by_name: HashMap<String, usize>,
    /// The steps by the spelling of their names in span names.
    by_spelling: HashMap<String, usize>,
    /// For spans that are not declared steps: the position of their step, by spelling.
    assigned: HashMap<String, usize>,
}

impl StepTypes {
    /// Pairs `agno.workflow.steps` with `agno.workflow.step_types`; `None` if they cannot be paired.
    ///
    /// A plain function has a type, `function`, but no name, so it is only in the second list.
    pub(super) fn of(names: &Value, types: &Value) -> Option<Self> {
        let names = words(names)?;
        let types = words(types)?;
        let has_names_of_all = names.len() == types.len();
        let is_named = |step_type: &str| has_names_of_all || step_type != FUNCTION;
        let positions: Vec<usize> = (0..types.len()).filter(|position| is_named(types[*position])).collect();
        if names.len() != positions.len() {
            return None;
        }
        let mut steps =
            Self { types: types.iter().map(|word| (*word).to_owned()).collect(), ..Self::default() };
        for (name, position) in names.into_iter().zip(positions) {
            steps.by_spelling.entry(spelled(name)).or_insert(position);
            steps.by_name.entry(name.to_owned()).or_insert(position);
        }
        Some(steps)
    }

    /// Finds the steps of spans that are not declared steps. A function has no name, and a condition, a loop
    /// or a router only has spans for its parts. Such spans belong to the declarations between the steps that
    /// were found before and after them.
    ///
    /// `span_names` are the names of the workflow's children, in time order.
    pub(super) fn assign<'a>(&mut self, span_names: impl Iterator<Item = &'a str>) {
        let mut next = 0;
        let mut waiting: Vec<String> = Vec::new();
        for span_name in span_names {
            let spelling = spelled(step_of(span_name));
            match self.by_spelling.get(&spelling) {
                Some(position) if *position >= next => {
                    let found = *position;
                    self.assign_between(next..found, std::mem::take(&mut waiting));
                    next = found + 1;
                }
                Some(_) => {}
                None if waiting.last() == Some(&spelling) => {}
                None => waiting.push(spelling),
            }
        }
        self.assign_between(next..self.types.len(), waiting);
    }

    /// Assigns spans to the steps of `declared`. A single step gets all spans. If there are as many steps as
    /// distinct span names, they are assigned in order. Otherwise no span is assigned.
    fn assign_between(&mut self, declared: Range<usize>, spellings: Vec<String>) {
        let is_without_span = |position: &usize| !WITH_OWN_SPAN.contains(&self.types[*position].as_str());
        let mut steps: Vec<usize> = declared.filter(is_without_span).collect();
        if steps.len() == 1 {
            steps.resize(spellings.len(), steps[0]);
        }
        if steps.len() == spellings.len() {
            for (spelling, step) in spellings.into_iter().zip(steps) {
                self.assigned.entry(spelling).or_insert(step);
            }
        }
    }

    /// Returns the type of the step with this name. If the span has no step name, it is taken from the span's
    /// own name, `<step>.<method>`. There, `_` replaces everything except letters and digits.
    pub(super) fn step_type(&self, name: Option<&str>, span_name: &str) -> Option<&str> {
        let spelling = spelled(step_of(span_name));
        let declared = match name {
            Some(name) => self.by_name.get(name),
            None => self.by_spelling.get(&spelling),
        };
        declared.or_else(|| self.assigned.get(&spelling)).map(|step| self.types[*step].as_str())
    }
}

/// Returns the spelling of a step's name in span names.
fn spelled(name: &str) -> String {
    name.replace(|letter: char| !letter.is_alphanumeric(), "_")
}

/// Returns the name of the step in `<step>.<method>`.
fn step_of(span_name: &str) -> &str {
    span_name.rsplit_once('.').map_or(span_name, |(step, _)| step)
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
