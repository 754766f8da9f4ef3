//! Model calls: their tokens, and what is counted where calls are nested (`docs/reference/traces.md#tokens`).

use crate::trace::node_type::NodeType;

/// The tokens by which one span adds to the sums of its trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// What was given to the model.
    pub input: u64,
    /// What it gave back.
    pub output: u64,
    /// Of the input, those that a cache had.
    pub cached: u64,
    /// Of the output, those of reasoning.
    pub reasoning: u64,
}

impl Tokens {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.input == 0 && self.output == 0
    }

    /// Adds others.
    pub fn add(&mut self, tokens: Self) {
        self.input = self.input.saturating_add(tokens.input);
        self.output = self.output.saturating_add(tokens.output);
        self.cached = self.cached.saturating_add(tokens.cached);
        self.reasoning = self.reasoning.saturating_add(tokens.reasoning);
    }
}

/// A type of model calls. Calls of one type that are nested are one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallType {
    /// Of a language model.
    Llm,
    /// Of an embedding model.
    Embedding,
}

impl CallType {
    /// Returns the type of call that a span of a type is, if it is one of a model.
    pub fn of(node_type: &NodeType) -> Option<Self> {
        match node_type {
            NodeType::Llm => Some(Self::Llm),
            NodeType::Embedding => Some(Self::Embedding),
            _ => None,
        }
    }
}

/// What a span adds to the sums of its trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct SpanUsage {
    /// Its tokens, without those that calls inside it have.
    pub tokens: Tokens,
    /// Whether it is a model call with none of its type inside.
    pub is_innermost: bool,
}

/// Returns what each span adds to the sums of its trace: of nested calls of one type those inside count, and the one
/// around them only what none of them has. The parts of a count go with it.
///
/// Spans are known by their numbers: `bottom_up` has each of them before its parent, `call` returns the type of call
/// that a span is, with the tokens that it reports.
pub fn counted_calls(
    spans: usize,
    bottom_up: impl Iterator<Item = usize>,
    call: impl Fn(usize) -> Option<(CallType, Tokens)>,
    parent: impl Fn(usize) -> Option<usize>,
) -> Vec<SpanUsage> {
    let mut counted = vec![SpanUsage::default(); spans];
    // By span and type of call, whether there is a call below it, one that has input, and one that has output.
    let mut is_known = vec![[[false; 3]; 2]; spans];
    for index in bottom_up {
        let mut below = is_known[index];
        if let Some((call_type, own)) = call(index) {
            let [has_call, has_input, has_output] = &mut below[call_type as usize];
            let SpanUsage { tokens, is_innermost } = &mut counted[index];
            *is_innermost = !std::mem::replace(has_call, true);
            if !*has_input && own.input > 0 {
                (tokens.input, tokens.cached) = (own.input, own.cached);
                *has_input = true;
            }
            if !*has_output && own.output > 0 {
                (tokens.output, tokens.reasoning) = (own.output, own.reasoning);
                *has_output = true;
            }
        }
        if let Some(parent) = parent(index) {
            let of_parent = is_known[parent].as_flattened_mut();
            for (is_known, is_below) in of_parent.iter_mut().zip(below.as_flattened()) {
                *is_known |= is_below;
            }
        }
    }
    counted
}
