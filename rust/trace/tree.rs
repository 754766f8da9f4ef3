//! The forest of a trace's spans, flat in memory: who stands below whom, and in which order.
//!
//! A span is named by its place in the slice the forest was made of. A span whose parent is not
//! there is a root, a circle of parents is cut at its earliest span, and so every span stands in
//! exactly one place. Roots and children are in sibling order ([`Span::sibling_order`]). Nothing
//! here recurses, so a chain of any depth is only long.

use std::sync::Arc;

use super::Span;
use crate::otlp::SpanId;

/// The shape of a trace: roots, and below each span its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forest {
    roots: Vec<usize>,
    parents: Vec<Option<usize>>,
    /// The children of all spans, one family after the other.
    children: Vec<usize>,
    /// Where the family of a span begins in `children`; one more entry than spans.
    families: Vec<usize>,
}

impl Forest {
    /// Returns the forest of `spans`, which are in order of their ids, each id once.
    pub fn of(spans: &[Arc<Span>]) -> Self {
        debug_assert!(spans.is_sorted_by(|one, next| one.span_id < next.span_id), "ids in order");
        let mut parents: Vec<Option<usize>> =
            spans.iter().map(|span| span.parent_id.and_then(|id| place_of(spans, id))).collect();
        cut_circles(spans, &mut parents);

        let mut families = vec![0; spans.len() + 1];
        for parent in parents.iter().flatten() {
            families[parent + 1] += 1;
        }
        for place in 0..spans.len() {
            families[place + 1] += families[place];
        }
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_unstable_by(|one, other| spans[*one].sibling_order(&spans[*other]));
        let mut roots = Vec::new();
        let mut children = vec![0; families[spans.len()]];
        let mut next_seat = families.clone();
        for place in order {
            if let Some(parent) = parents[place] {
                children[next_seat[parent]] = place;
                next_seat[parent] += 1;
            } else {
                roots.push(place);
            }
        }
        Self { roots, parents, children, families }
    }

    /// Returns the spans without a parent, in sibling order.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Returns the spans directly below the span at `place`, in sibling order.
    pub fn children(&self, place: usize) -> &[usize] {
        &self.children[self.families[place]..self.families[place + 1]]
    }

    /// Returns the span above the one at `place`; `None` for a root.
    pub fn parent(&self, place: usize) -> Option<usize> {
        self.parents[place]
    }

    /// Returns the spans that stand directly below those of `level`.
    pub fn level_below(&self, level: &[usize]) -> Vec<usize> {
        level.iter().flat_map(|place| self.children(*place)).copied().collect()
    }
}

fn place_of(spans: &[Arc<Span>], span_id: SpanId) -> Option<usize> {
    spans.binary_search_by(|span| span.span_id.cmp(&span_id)).ok()
}

/// Makes the earliest span of every circle a root. Each span has at most one parent, so a walk
/// upwards meets a root, a span of an earlier walk, or a span of its own: a circle.
fn cut_circles(spans: &[Arc<Span>], parents: &mut [Option<usize>]) {
    const UNSEEN: usize = usize::MAX;
    let mut walk_of = vec![UNSEEN; spans.len()];
    for start in 0..spans.len() {
        let mut here = Some(start);
        while let Some(place) = here.filter(|place| walk_of[*place] == UNSEEN) {
            walk_of[place] = start;
            here = parents[place];
        }
        let Some(entrance) = here.filter(|place| walk_of[*place] == start) else { continue };
        let mut earliest = entrance;
        let mut place = entrance;
        while let Some(above) = parents[place].filter(|above| *above != entrance) {
            if spans[above].sibling_order(&spans[earliest]).is_lt() {
                earliest = above;
            }
            place = above;
        }
        parents[earliest] = None;
    }
}
