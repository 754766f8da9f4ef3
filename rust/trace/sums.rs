//! The sums of a trace: its tokens and its calls (`docs/reference/traces.md#tokens`).

use std::sync::Arc;

use super::Span;
use super::cost::{CallType, SpanUsage, Tokens, counted_calls};
use super::node_type::NodeType;
use super::tree::Forest;

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
        for (span, counted) in spans.iter().zip(counted(spans, forest)) {
            let is_llm = span.summary.node_type == NodeType::Llm;
            sums.tokens.add(counted.tokens);
            sums.llm_calls += u64::from(is_llm && counted.is_innermost);
            sums.tool_calls += u64::from(span.summary.node_type == NodeType::Tool);
        }
        sums
    }
}

/// Returns what each span adds to the sums, as [`counted_calls`] does.
pub(super) fn counted(spans: &[Arc<Span>], forest: &Forest) -> Vec<SpanUsage> {
    let call = |index: usize| {
        let summary = &spans[index].summary;
        Some((CallType::of(&summary.node_type)?, summary.tokens()))
    };
    counted_calls(spans.len(), forest.preorder().into_iter().rev(), call, |index| forest.parent(index))
}
