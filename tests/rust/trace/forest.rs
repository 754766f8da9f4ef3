//! The forest contains every span exactly once, in order, for any parents.

use std::sync::Arc;

use proptest::prelude::*;
use spanwise::trace::Span;
use spanwise::trace::tree::Forest;

use super::made::{message, messages, trace};

/// Returns the index of the parent that a span names, if the trace has it.
fn wanted(spans: &[Arc<Span>], index: usize) -> Option<usize> {
    let parent_id = spans[index].parent_id?;
    spans.iter().position(|span| span.span_id == parent_id)
}

/// Returns the cycle of a span, found by walking up until a span repeats or the walk is too long.
fn cycle(spans: &[Arc<Span>], index: usize) -> Option<Vec<usize>> {
    let mut walked = vec![index];
    let mut here = index;
    for _ in 0..spans.len() {
        here = wanted(spans, here)?;
        if here == index {
            return Some(walked);
        }
        walked.push(here);
    }
    None
}

fn naive_parent(spans: &[Arc<Span>], index: usize) -> Option<usize> {
    let parent = wanted(spans, index)?;
    let is_cut = cycle(spans, index).is_some_and(|walked| {
        walked.iter().all(|other| *other == index || spans[index].sibling_order(&spans[*other]).is_lt())
    });
    (!is_cut).then_some(parent)
}

fn reached(forest: &Forest) -> Vec<usize> {
    let mut reached = Vec::new();
    let mut level = forest.roots().to_vec();
    while !level.is_empty() {
        reached.extend(&level);
        level = forest.level_below(&level);
    }
    reached
}

proptest! {
    #[test]
    fn every_span_occurs_exactly_once(messages in messages()) {
        let trace = trace(&messages);
        let mut reached = reached(&Forest::of(trace.spans()));
        reached.sort_unstable();
        prop_assert_eq!(reached, (0..messages.len()).collect::<Vec<_>>());
    }

    #[test]
    fn parents_are_kept_unless_missing_or_cut(messages in messages()) {
        let trace = trace(&messages);
        let forest = Forest::of(trace.spans());
        for index in 0..messages.len() {
            let parent = forest.parent(index);
            prop_assert_eq!(parent, naive_parent(trace.spans(), index));
            let family = parent.map_or(forest.roots(), |parent| forest.children(parent));
            prop_assert_eq!(family.iter().filter(|member| **member == index).count(), 1);
        }
    }

    #[test]
    fn siblings_are_in_order(messages in messages()) {
        let trace = trace(&messages);
        let spans = trace.spans();
        let forest = Forest::of(spans);
        let families = (0..spans.len()).map(|index| forest.children(index)).chain([forest.roots()]);
        for family in families {
            prop_assert!(family.is_sorted_by(|one, next| spans[*one].sibling_order(&spans[*next]).is_lt()));
        }
    }
}

/// Returns, for spans given as (id, parent, start), each id with the ids of its children; the roots are under 0.
fn shape(spans: &[(u64, u64, u64)]) -> Vec<(u64, Vec<u64>)> {
    let messages: Vec<_> = spans.iter().map(|(id, parent, start)| message(*id, *parent, *start)).collect();
    let trace = trace(&messages);
    let forest = Forest::of(trace.spans());
    let id = |index: &usize| u64::from_be_bytes(*trace.spans()[*index].span_id.as_bytes());
    let family = |members: &[usize]| members.iter().map(id).collect::<Vec<_>>();
    let below = (0..trace.spans().len()).map(|index| (id(&index), family(forest.children(index))));
    [(0, family(forest.roots()))].into_iter().chain(below).filter(|(_, family)| !family.is_empty()).collect()
}

#[test]
fn single_span() {
    assert_eq!(shape(&[(1, 0, 5)]), [(0, vec![1])]);
}

#[test]
fn linear() {
    assert_eq!(shape(&[(3, 2, 5), (2, 1, 5), (1, 0, 5)]), [(0, vec![1]), (1, vec![2]), (2, vec![3])]);
}

#[test]
fn branched_by_start_then_id() {
    assert_eq!(shape(&[(1, 0, 5), (2, 1, 9), (3, 1, 7), (4, 1, 7)]), [(0, vec![1]), (1, vec![3, 4, 2])]);
}

#[test]
fn multiple_roots() {
    assert_eq!(shape(&[(1, 0, 9), (2, 0, 5), (3, 1, 5)]), [(0, vec![2, 1]), (1, vec![3])]);
}

#[test]
fn interrupted_by_a_missing_parent() {
    assert_eq!(shape(&[(1, 0, 5), (3, 2, 6), (4, 3, 7)]), [(0, vec![1, 3]), (3, vec![4])]);
}

#[test]
fn equal_ids_are_one_span() {
    assert_eq!(shape(&[(1, 0, 5), (1, 0, 5), (2, 1, 5), (2, 1, 5)]), [(0, vec![1]), (1, vec![2])]);
}

#[test]
fn cycles_are_cut_at_their_earliest_span() {
    assert_eq!(shape(&[(1, 1, 5)]), [(0, vec![1])], "a span that is its own parent");
    assert_eq!(
        shape(&[(1, 3, 9), (2, 1, 5), (3, 2, 7), (4, 3, 1)]),
        [(0, vec![2]), (1, vec![]), (2, vec![3]), (3, vec![4, 1])]
            .into_iter()
            .filter(|(_, family): &(u64, Vec<u64>)| !family.is_empty())
            .collect::<Vec<_>>()
    );
}
