//! The tokens of a trace (`docs/reference/traces.md#tokens`).

use std::sync::Arc;

use super::Span;
use super::node_type::NodeType;
use super::tree::Forest;

/// Input and output tokens.
type Tokens = [u64; 2];

/// Returns the sums of input and output tokens, each model call counted once: of nested calls of one type those
/// inside count, and the one around them only what none of them has.
pub(super) fn totals(spans: &[Arc<Span>], forest: &Forest) -> Tokens {
    let mut order = forest.roots().to_vec();
    let mut next = 0;
    while let Some(index) = order.get(next) {
        order.extend_from_slice(forest.children(*index));
        next += 1;
    }
    // By span and type of call, the sums over its subtree. Children come before their parents.
    let mut below: Vec<[Tokens; 2]> = vec![[[0; 2]; 2]; spans.len()];
    let mut sums = [[0; 2]; 2];
    for index in order.into_iter().rev() {
        let summary = &spans[index].summary;
        let mut own = below[index];
        if summary.node_type.is_model() {
            let of_type = &mut own[usize::from(summary.node_type == NodeType::Embedding)];
            for (sum, tokens) in of_type.iter_mut().zip([summary.input_tokens, summary.output_tokens]) {
                *sum = if *sum == 0 { tokens } else { *sum };
            }
        }
        add(forest.parent(index).map_or(&mut sums, |parent| &mut below[parent]), &own);
    }
    let [calls, embeddings] = sums;
    [calls[0].saturating_add(embeddings[0]), calls[1].saturating_add(embeddings[1])]
}

fn add(to: &mut [Tokens; 2], more: &[Tokens; 2]) {
    for (sum, tokens) in to.as_flattened_mut().iter_mut().zip(more.as_flattened()) {
        *sum = sum.saturating_add(*tokens);
    }
}
