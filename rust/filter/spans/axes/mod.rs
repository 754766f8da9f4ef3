//! Axes between the spans of a trace. Each takes time linear in the number of spans; with options, `n log n`
//! ([`narrowed`]).
//!
//! Source of the tree axes: `XPath` 1.0, 2.2. `FOLLOWED_BY` and `PRECEDED_BY` compare times
//! (`docs/reference/filter.md#axes`).

mod narrowed;
mod tree_order;
mod same;

use std::ops::Range;

use crate::bitmap::Bitmap;
use crate::filter::axis::Axis;
use narrowed::mark_narrowed;
use tree_order::TreeOrder;

pub(super) use narrowed::Narrowing;
pub(super) use same::{SameInTable, classes_of_trace};
pub(super) use tree_order::{BlockOrdinals, Ties};

/// In a trace with at most this many spans, targets are checked one by one, which needs no allocation.
const SHORT_TRACE: usize = 64;

/// Returns the subset of `candidates` that has a span of `targets` on the axis. If `is_any`, at least one
/// span of each trace that has some.
pub(super) fn related(
    (axis, narrowing, is_any): (Axis, &Narrowing, bool),
    spans: &impl TreeOrder,
    candidates: &Bitmap,
    targets: &Bitmap,
) -> Bitmap {
    let all = candidates.ordinals();
    let mut matching = Bitmap::none(all.clone());
    if !narrowing.is_plain() {
        for trace in spans.traces() {
            if candidates.has_any(trace.clone()) && targets.has_any(trace.clone()) {
                mark_narrowed((axis, narrowing), spans, (trace, candidates, targets), &mut matching);
            }
        }
        return matching;
    }
    let is_of_trees = matches!(axis, Axis::Parent | Axis::Child | Axis::Ancestor | Axis::Descendant);
    if is_any && is_of_trees {
        for trace in spans.traces() {
            if candidates.has_any(trace.clone())
                && let Some(ordinal) = first_in_tree(axis, spans, (trace, candidates, targets))
            {
                matching.insert(ordinal);
            }
        }
        return matching;
    }
    match axis {
        Axis::Parent => {
            let has = |ordinal: &usize| spans.parent(*ordinal).is_some_and(|parent| targets.contains(parent));
            candidates.iter(all).filter(has).for_each(|ordinal| matching.insert(ordinal));
        }
        Axis::Child => {
            targets
                .iter(all)
                .filter_map(|ordinal| spans.parent(ordinal))
                .for_each(|ordinal| matching.insert(ordinal));
            matching.intersect(candidates);
        }
        Axis::Ancestor => {
            // Two subtrees are nested or disjoint. A subtree that begins within another one is part of it.
            let mut covered = all.start;
            for ordinal in targets.iter(all) {
                if ordinal >= covered {
                    covered = spans.end_of_subtree(ordinal);
                    matching.fill(ordinal + 1..covered);
                }
            }
            matching.intersect(candidates);
        }
        Axis::Descendant => {
            let has = |ordinal: &usize| targets.has_any(ordinal + 1..spans.end_of_subtree(*ordinal));
            candidates.iter(all).filter(has).for_each(|ordinal| matching.insert(ordinal));
        }
        Axis::Sibling => siblings(spans, candidates, targets, &mut matching),
        Axis::FollowedBy | Axis::PrecededBy => {
            for trace in spans.traces() {
                if candidates.has_any(trace.clone()) {
                    in_order(
                        (axis == Axis::FollowedBy, is_any),
                        spans,
                        (trace, candidates, targets),
                        &mut matching,
                    );
                }
            }
        }
    }
    matching
}

/// Returns the first span of `candidates` in one trace that has a target on an axis of the tree.
fn first_in_tree(
    axis: Axis,
    spans: &impl TreeOrder,
    (trace, candidates, targets): (Range<usize>, &Bitmap, &Bitmap),
) -> Option<usize> {
    let below = |ordinal: usize| ordinal + 1..spans.end_of_subtree(ordinal);
    match axis {
        Axis::Parent => {
            let has = |ordinal: &usize| spans.parent(*ordinal).is_some_and(|parent| targets.contains(parent));
            candidates.iter(trace).find(has)
        }
        Axis::Child => targets
            .iter(trace)
            .filter_map(|ordinal| spans.parent(ordinal))
            .find(|ordinal| candidates.contains(*ordinal)),
        Axis::Ancestor => targets.iter(trace).find_map(|ordinal| candidates.iter(below(ordinal)).next()),
        _ => candidates.iter(trace).find(|ordinal| targets.has_any(below(*ordinal))),
    }
}

/// Adds the spans of `candidates` whose parent has a target as another child.
fn siblings(spans: &impl TreeOrder, candidates: &Bitmap, targets: &Bitmap, matching: &mut Bitmap) {
    let all = candidates.ordinals();
    let (mut one, mut several) = (Bitmap::none(all.clone()), Bitmap::none(all.clone()));
    for parent in targets.iter(all.clone()).filter_map(|ordinal| spans.parent(ordinal)) {
        let more = if one.contains(parent) { &mut several } else { &mut one };
        more.insert(parent);
    }
    for ordinal in candidates.iter(all) {
        let has = |parent| several.contains(parent) || (one.contains(parent) && !targets.contains(ordinal));
        if spans.parent(ordinal).is_some_and(has) {
            matching.insert(ordinal);
        }
    }
}

/// Adds the spans of `candidates` in one trace that a target elsewhere in the tree follows or precedes.
///
/// Usually the last target to start, or the first target to end, decides. If that target is above or below
/// the span, the targets elsewhere in the tree decide.
fn in_order(
    (is_followed, is_any): (bool, bool),
    spans: &impl TreeOrder,
    (trace, candidates, targets): (Range<usize>, &Bitmap, &Bitmap),
    matching: &mut Bitmap,
) {
    // For preceding targets the order is inverted, so that the greatest value decides in both directions.
    let value = |ordinal: usize| {
        if is_followed {
            return Some(spans.start(ordinal));
        }
        Some(spans.end(ordinal)).filter(|end| *end != 0).map(|end| u64::MAX - end)
    };
    let bound = |ordinal: usize| {
        if is_followed {
            return Some(spans.end(ordinal)).filter(|end| *end != 0);
        }
        Some(u64::MAX - spans.start(ordinal))
    };
    let is_near = |ordinal: usize, target: usize| {
        (ordinal..spans.end_of_subtree(ordinal)).contains(&target)
            || (target..spans.end_of_subtree(target)).contains(&ordinal)
    };
    if is_any {
        // Ordinals are roughly in start order: the outermost pair is the most likely match.
        let (ordinal, target) = if is_followed {
            (candidates.iter(trace.clone()).next(), targets.last(trace.clone()))
        } else {
            (candidates.last(trace.clone()), targets.iter(trace.clone()).next())
        };
        let Some((ordinal, target)) = ordinal.zip(target) else { return };
        let is_after = value(target).zip(bound(ordinal)).is_some_and(|(value, bound)| value >= bound);
        if is_after && !is_near(ordinal, target) {
            return matching.insert(ordinal);
        }
    }
    // A span above all others has no span elsewhere in the tree.
    let is_above_all = spans.end_of_subtree(trace.start) == trace.end;
    let trace = trace.start + usize::from(is_above_all)..trace.end;
    if !targets.has_any(trace.clone()) {
        return;
    }
    let values = targets.iter(trace.clone()).filter_map(|ordinal| Some((value(ordinal)?, ordinal)));
    let Some((greatest, decisive)) = values.max() else { return };
    let mut elsewhere = None;
    for ordinal in candidates.iter(trace.clone()) {
        let Some(bound) = bound(ordinal).filter(|bound| greatest >= *bound) else { continue };
        let is_found = !is_near(ordinal, decisive)
            || if trace.len() <= SHORT_TRACE {
                let is_elsewhere =
                    |target| value(target).is_some_and(|value| value >= bound) && !is_near(ordinal, target);
                targets.iter(trace.clone()).any(is_elsewhere)
            } else {
                let of = |ordinal: usize| value(ordinal).filter(|_| targets.contains(ordinal));
                let elsewhere = elsewhere.get_or_insert_with(|| greatest_elsewhere(spans, trace.clone(), of));
                elsewhere[ordinal - trace.start].is_some_and(|greatest| greatest >= bound)
            };
        if is_found {
            matching.insert(ordinal);
            if is_any {
                return;
            }
        }
    }
}

/// Returns one entry per span of a trace: the greatest value of all spans except the span itself and the
/// spans above or below it.
///
/// The spans before it that have ended in the tree walk are not its ancestors. The spans after it follow its
/// subtree.
fn greatest_elsewhere(
    spans: &impl TreeOrder,
    trace: Range<usize>,
    value: impl Fn(usize) -> Option<u64>,
) -> Vec<Option<u64>> {
    let mut after = vec![None; trace.len() + 1];
    for ordinal in trace.clone().rev() {
        let at = ordinal - trace.start;
        after[at] = after[at + 1].max(value(ordinal));
    }
    let (mut matching, mut before, mut open) = (Vec::with_capacity(trace.len()), None, Vec::<usize>::new());
    for ordinal in trace.clone() {
        while let Some(last) = open.pop_if(|last| spans.end_of_subtree(*last) <= ordinal) {
            before = before.max(value(last));
        }
        open.push(ordinal);
        matching.push(before.max(after[spans.end_of_subtree(ordinal) - trace.start]));
    }
    matching
}
