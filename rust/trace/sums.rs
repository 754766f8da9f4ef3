//! The sums of a trace: its tokens and its calls (`docs/reference/traces.md#tokens`).

use std::sync::Arc;

use super::Span;
use super::node_type::NodeType;
use super::tree::Forest;

/// The tokens by which one span adds to the sums of its trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
    /// Of the input, those that a cache had.
    pub(super) cached: u64,
    /// Of the output, those of reasoning.
    pub(super) reasoning: u64,
}

/// The sums of a trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sums {
    /// Each model call counted once.
    pub(super) tokens: Tokens,
    /// Calls of language models: of nested ones, the innermost.
    pub(super) llm_calls: u64,
    /// Calls of tools. A tool whose work is an agent that calls tools is a call beside theirs.
    pub(super) tool_calls: u64,
}

impl Sums {
    /// Returns the sums of `spans`, of which `forest` is the forest.
    pub(super) fn of(spans: &[Arc<Span>], forest: &Forest) -> Self {
        let mut sums = Self::default();
        for tokens in counted(spans, forest) {
            sums.tokens.add(tokens);
        }
        let is_of = |index: usize, node_type: &NodeType| spans[index].summary.node_type == *node_type;
        let mut has_llm = vec![false; spans.len()];
        for index in forest.preorder().into_iter().rev() {
            let is_llm = is_of(index, &NodeType::Llm);
            sums.llm_calls += u64::from(is_llm && !has_llm[index]);
            sums.tool_calls += u64::from(is_of(index, &NodeType::Tool));
            if let Some(parent) = forest.parent(index) {
                has_llm[parent] |= is_llm || has_llm[index];
            }
        }
        sums
    }
}

impl Tokens {
    fn add(&mut self, tokens: Self) {
        self.input = self.input.saturating_add(tokens.input);
        self.output = self.output.saturating_add(tokens.output);
        self.cached = self.cached.saturating_add(tokens.cached);
        self.reasoning = self.reasoning.saturating_add(tokens.reasoning);
    }
}

/// Returns the tokens by which each span adds to the sums: of nested calls of one type those inside count, and the
/// one around them only what none of them has. The parts of a count go with it.
pub(super) fn counted(spans: &[Arc<Span>], forest: &Forest) -> Vec<Tokens> {
    let mut counted = vec![Tokens::default(); spans.len()];
    // By span and type of call, whether a call below it has input, and output.
    let mut is_known = vec![[[false; 2]; 2]; spans.len()];
    for index in forest.preorder().into_iter().rev() {
        let summary = &spans[index].summary;
        let mut below = is_known[index];
        if summary.node_type.is_model() {
            let [has_input, has_output] = &mut below[usize::from(summary.node_type == NodeType::Embedding)];
            let tokens = &mut counted[index];
            if !*has_input && summary.input_tokens > 0 {
                (tokens.input, tokens.cached) = (summary.input_tokens, summary.cached_tokens);
                *has_input = true;
            }
            if !*has_output && summary.output_tokens > 0 {
                (tokens.output, tokens.reasoning) = (summary.output_tokens, summary.reasoning_tokens);
                *has_output = true;
            }
        }
        if let Some(parent) = forest.parent(index) {
            let of_parent = is_known[parent].as_flattened_mut();
            for (is_known, is_below) in of_parent.iter_mut().zip(below.as_flattened()) {
                *is_known |= is_below;
            }
        }
    }
    counted
}
