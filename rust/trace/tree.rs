//! The forest of a trace's spans, as flat arrays.
//!
//! A span is identified by its index in the slice from which the forest was built. A span whose parent is
//! missing is a root. A cycle of parents is cut at its earliest span, so every span occurs exactly once.
//! Roots and children are in sibling order ([`Span::sibling_order`]). There is no recursion, so chains may
//! have any depth (`docs/reference/traces.md#tree`).

use std::sync::Arc;

use super::Span;
use crate::otlp::SpanId;

/// The roots of a trace, and the children of each span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forest {
    roots: Vec<usize>,
    parents: Vec<Option<usize>>,
    /// The children of all spans, grouped by parent.
    children: Vec<usize>,
    /// The start of each span's children in `children`, and finally the total.
    families: Vec<usize>,
}

impl Forest {
    /// Returns the forest of `spans`, which must be ordered by id without duplicates.
    pub fn of(spans: &[Arc<Span>]) -> Self {
        debug_assert!(spans.is_sorted_by(|one, next| one.span_id < next.span_id), "ids in order");
        let mut parents: Vec<Option<usize>> =
            spans.iter().map(|span| span.parent_id.and_then(|id| index_of(spans, id))).collect();
        cut_cycles(spans, &mut parents);

        let mut families = vec![0; spans.len() + 1];
        for parent in parents.iter().flatten() {
            families[parent + 1] += 1;
        }
        for index in 0..spans.len() {
            families[index + 1] += families[index];
        }
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_unstable_by(|one, other| spans[*one].sibling_order(&spans[*other]));
        let mut roots = Vec::new();
        let mut children = vec![0; families[spans.len()]];
        let mut next_child = families.clone();
        for index in order {
            if let Some(parent) = parents[index] {
                children[next_child[parent]] = index;
                next_child[parent] += 1;
            } else {
                roots.push(index);
            }
        }
        Self { roots, parents, children, families }
    }

    /// Returns the roots, in sibling order.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Returns the children of the span at `index`, in sibling order.
    pub fn children(&self, index: usize) -> &[usize] {
        &self.children[self.families[index]..self.families[index + 1]]
    }

    /// Returns the parent of the span at `index`; `None` for a root.
    pub fn parent(&self, index: usize) -> Option<usize> {
        self.parents[index]
    }

    /// Returns all spans in tree order (preorder).
    pub fn preorder(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.parents.len());
        let mut next: Vec<usize> = self.roots.iter().rev().copied().collect();
        while let Some(index) = next.pop() {
            order.push(index);
            next.extend(self.children(index).iter().rev());
        }
        order
    }

    /// Returns the children of all spans of `level`.
    pub fn level_below(&self, level: &[usize]) -> Vec<usize> {
        level.iter().flat_map(|index| self.children(*index)).copied().collect()
    }
}

fn index_of(spans: &[Arc<Span>], span_id: SpanId) -> Option<usize> {
    spans.binary_search_by(|span| span.span_id.cmp(&span_id)).ok()
}

/// Makes the earliest span of every cycle a root. Each span has at most one parent. So a walk upwards ends at
/// a root, at a span of an earlier walk, or in a cycle.
fn cut_cycles(spans: &[Arc<Span>], parents: &mut [Option<usize>]) {
    const UNSEEN: usize = usize::MAX;
    let mut walk_of = vec![UNSEEN; spans.len()];
    for start in 0..spans.len() {
        let mut current = Some(start);
        while let Some(index) = current.filter(|index| walk_of[*index] == UNSEEN) {
            walk_of[index] = start;
            current = parents[index];
        }
        let Some(entry) = current.filter(|index| walk_of[*index] == start) else { continue };
        let mut earliest = entry;
        let mut index = entry;
        while let Some(parent) = parents[index].filter(|parent| *parent != entry) {
            if spans[parent].sibling_order(&spans[earliest]).is_lt() {
                earliest = parent;
            }
            index = parent;
        }
        parents[earliest] = None;
    }
}
