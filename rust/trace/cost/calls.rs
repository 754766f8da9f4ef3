//! Model calls: their tokens, and the tokens that count if calls are nested
//! (`docs/reference/traces.md#tokens`).

use crate::trace::node_type::NodeType;

/// The tokens that one span adds to the sums of its trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// The input tokens.
    pub input: u64,
    /// The output tokens.
    pub output: u64,
    /// The input tokens that were read from a cache.
    pub cached: u64,
    /// The output tokens for reasoning.
    pub reasoning: u64,
}

impl Tokens {
    /// Returns `true` if all counts are zero.
    pub fn is_empty(&self) -> bool {
        self.input == 0 && self.output == 0
    }

    /// Adds other counts.
    pub fn add(&mut self, tokens: Self) {
        self.input = self.input.saturating_add(tokens.input);
        self.output = self.output.saturating_add(tokens.output);
        self.cached = self.cached.saturating_add(tokens.cached);
        self.reasoning = self.reasoning.saturating_add(tokens.reasoning);
    }
}

/// A type of model calls. Nested calls of one type are one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallType {
    /// A call of a language model.
    Llm,
    /// A call of an embedding model.
    Embedding,
}

impl CallType {
    /// Returns the call type of a span type; `None` if it is not a model call.
    pub fn of(node_type: &NodeType) -> Option<Self> {
        match node_type {
            NodeType::Llm => Some(Self::Llm),
            NodeType::Embedding => Some(Self::Embedding),
            _ => None,
        }
    }
}

/// The contribution of a span to the sums of its trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct SpanUsage {
    /// Its tokens, without the tokens of nested calls.
    pub tokens: Tokens,
    /// True if it is a model call without a nested call of its type.
    pub is_innermost: bool,
}

/// Returns the contribution of each span to the sums of its trace. For nested calls of one type, the inner
/// calls count. The outer call only adds counts that no inner call has. The parts of a count follow the
/// count.
///
/// Spans are identified by number: `bottom_up` has each span before its parent, and `call` returns the call
/// type and the reported tokens of a span.
pub fn counted_calls(
    spans: usize,
    bottom_up: impl Iterator<Item = usize>,
    call: impl Fn(usize) -> Option<(CallType, Tokens)>,
    parent: impl Fn(usize) -> Option<usize>,
) -> Vec<SpanUsage> {
    let mut counted = vec![SpanUsage::default(); spans];
    // By span and call type: true if a call below it exists, has input, has output.
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
