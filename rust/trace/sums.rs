//! The sums of a trace: its tokens and its calls (`docs/reference/traces.md#tokens`).

use std::sync::Arc;

use super::Span;
use super::cost::{CallType, SpanUsage, Tokens, counted_calls};
use super::node_type::NodeType;
use super::tree::Forest;

/// The sums of a trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sums {
    /// The tokens; each model call counts once.
    pub(super) tokens: Tokens,
    /// The number of language model calls. Only the innermost of nested calls counts.
    pub(super) llm_calls: u64,
    /// The number of tool calls. A tool that runs an agent counts in addition to the tools of the agent.
    pub(super) tool_calls: u64,
}

impl Sums {
    /// Returns the sums of `spans` and their forest.
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

/// Returns the contribution of each span to the sums, see [`counted_calls`].
fn counted(spans: &[Arc<Span>], forest: &Forest) -> Vec<SpanUsage> {
    let call = |index: usize| {
        let summary = &spans[index].summary;
        Some((CallType::of(&summary.node_type)?, summary.tokens()))
    };
    counted_calls(spans.len(), forest.preorder().into_iter().rev(), call, |index| forest.parent(index))
}
