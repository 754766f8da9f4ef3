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

/// Returns the subset of `asked` that has a span of `targets` on the axis. If `is_any`, at least one span of
/// each trace that has some.
pub(super) fn related(
    (axis, narrowing, is_any): (Axis, &Narrowing, bool),
    spans: &impl TreeOrder,
    asked: &Bitmap,
    targets: &Bitmap,
) -> Bitmap {
    let all = asked.places();
    let mut found = Bitmap::none(all.clone());
    if !narrowing.is_plain() {
        for trace in spans.traces() {
            if asked.has_any(trace.clone()) && targets.has_any(trace.clone()) {
                mark_narrowed((axis, narrowing), spans, (trace, asked, targets), &mut found);
            }
        }
        return found;
    }
    let is_of_trees = matches!(axis, Axis::Parent | Axis::Child | Axis::Ancestor | Axis::Descendant);
    if is_any && is_of_trees {
        for trace in spans.traces() {
            if asked.has_any(trace.clone())
                && let Some(place) = first_in_tree(axis, spans, (trace, asked, targets))
            {
                found.insert(place);
            }
        }
        return found;
    }
    match axis {
        Axis::Parent => {
            let has = |place: &usize| spans.parent(*place).is_some_and(|parent| targets.contains(parent));
            asked.iter(all).filter(has).for_each(|place| found.insert(place));
        }
        Axis::Child => {
            targets.iter(all).filter_map(|place| spans.parent(place)).for_each(|place| found.insert(place));
            found.intersect(asked);
        }
        Axis::Ancestor => {
            // Two subtrees are nested or disjoint. A subtree that begins within another one is part of it.
            let mut covered = all.start;
            for place in targets.iter(all) {
                if place >= covered {
                    covered = spans.end_of_subtree(place);
                    found.fill(place + 1..covered);
                }
            }
            found.intersect(asked);
        }
        Axis::Descendant => {
            let has = |place: &usize| targets.has_any(place + 1..spans.end_of_subtree(*place));
            asked.iter(all).filter(has).for_each(|place| found.insert(place));
        }
        Axis::Sibling => siblings(spans, asked, targets, &mut found),
        Axis::FollowedBy | Axis::PrecededBy => {
            for trace in spans.traces() {
                if asked.has_any(trace.clone()) {
                    in_order((axis == Axis::FollowedBy, is_any), spans, (trace, asked, targets), &mut found);
                }
            }
        }
    }
    found
}

/// Returns the first span of `asked` in one trace that has a target on an axis of the tree.
fn first_in_tree(
    axis: Axis,
    spans: &impl TreeOrder,
    (trace, asked, targets): (Range<usize>, &Bitmap, &Bitmap),
) -> Option<usize> {
    let below = |place: usize| place + 1..spans.end_of_subtree(place);
    match axis {
        Axis::Parent => {
            let has = |place: &usize| spans.parent(*place).is_some_and(|parent| targets.contains(parent));
            asked.iter(trace).find(has)
        }
        Axis::Child => {
            targets.iter(trace).filter_map(|place| spans.parent(place)).find(|place| asked.contains(*place))
        }
        Axis::Ancestor => targets.iter(trace).find_map(|place| asked.iter(below(place)).next()),
        _ => asked.iter(trace).find(|place| targets.has_any(below(*place))),
    }
}

/// Adds the spans of `asked` whose parent has a target as another child.
fn siblings(spans: &impl TreeOrder, asked: &Bitmap, targets: &Bitmap, found: &mut Bitmap) {
    let all = asked.places();
    let (mut one, mut several) = (Bitmap::none(all.clone()), Bitmap::none(all.clone()));
    for parent in targets.iter(all.clone()).filter_map(|place| spans.parent(place)) {
        let more = if one.contains(parent) { &mut several } else { &mut one };
        more.insert(parent);
    }
    for place in asked.iter(all) {
        let has = |parent| several.contains(parent) || (one.contains(parent) && !targets.contains(place));
        if spans.parent(place).is_some_and(has) {
            found.insert(place);
        }
    }
}

/// Adds the spans of `asked` in one trace that a target elsewhere in the tree follows or precedes.
///
/// Usually the last target to start, or the first target to end, decides. If that target is above or below the
/// span, the targets elsewhere in the tree decide.
fn in_order(
    (is_followed, is_any): (bool, bool),
    spans: &impl TreeOrder,
    (trace, asked, targets): (Range<usize>, &Bitmap, &Bitmap),
    found: &mut Bitmap,
) {
    // For preceding targets the order is inverted, so that the greatest value decides in both directions.
    let value = |place: usize| {
        if is_followed {
            return Some(spans.start(place));
        }
        Some(spans.end(place)).filter(|end| *end != 0).map(|end| u64::MAX - end)
    };
    let bound = |place: usize| {
        if is_followed {
            return Some(spans.end(place)).filter(|end| *end != 0);
        }
        Some(u64::MAX - spans.start(place))
    };
    let is_near = |place: usize, target: usize| {
        (place..spans.end_of_subtree(place)).contains(&target)
            || (target..spans.end_of_subtree(target)).contains(&place)
    };
    if is_any {
        // Ordinals are roughly in start order: the outermost pair is the most likely match.
        let (place, target) = if is_followed {
            (asked.iter(trace.clone()).next(), targets.last(trace.clone()))
        } else {
            (asked.last(trace.clone()), targets.iter(trace.clone()).next())
        };
        let Some((place, target)) = place.zip(target) else { return };
        let is_after = value(target).zip(bound(place)).is_some_and(|(value, bound)| value >= bound);
        if is_after && !is_near(place, target) {
            return found.insert(place);
        }
    }
    // A span above all others has no span elsewhere in the tree.
    let is_above_all = spans.end_of_subtree(trace.start) == trace.end;
    let trace = trace.start + usize::from(is_above_all)..trace.end;
    if !targets.has_any(trace.clone()) {
        return;
    }
    let values = targets.iter(trace.clone()).filter_map(|place| Some((value(place)?, place)));
    let Some((greatest, decisive)) = values.max() else { return };
    let mut elsewhere = None;
    for place in asked.iter(trace.clone()) {
        let Some(bound) = bound(place).filter(|bound| greatest >= *bound) else { continue };
        let is_found = !is_near(place, decisive)
            || if trace.len() <= SHORT_TRACE {
                let is_elsewhere =
                    |target| value(target).is_some_and(|value| value >= bound) && !is_near(place, target);
                targets.iter(trace.clone()).any(is_elsewhere)
            } else {
                let of = |place: usize| value(place).filter(|_| targets.contains(place));
                let elsewhere = elsewhere.get_or_insert_with(|| greatest_elsewhere(spans, trace.clone(), of));
                elsewhere[place - trace.start].is_some_and(|greatest| greatest >= bound)
            };
        if is_found {
            found.insert(place);
            if is_any {
                return;
            }
        }
    }
}

/// Returns one entry per span of a trace: the greatest value of all spans except the span itself and the spans
/// above or below it.
///
/// The spans before it that have ended in the tree walk are not its ancestors. The spans after it follow its
/// subtree.
fn greatest_elsewhere(
    spans: &impl TreeOrder,
    trace: Range<usize>,
    value: impl Fn(usize) -> Option<u64>,
) -> Vec<Option<u64>> {
    let mut after = vec![None; trace.len() + 1];
    for place in trace.clone().rev() {
        let at = place - trace.start;
        after[at] = after[at + 1].max(value(place));
    }
    let (mut found, mut before, mut open) = (Vec::with_capacity(trace.len()), None, Vec::<usize>::new());
    for place in trace.clone() {
        while let Some(last) = open.pop_if(|last| spans.end_of_subtree(*last) <= place) {
            before = before.max(value(last));
        }
        open.push(place);
        found.push(before.max(after[spans.end_of_subtree(place) - trace.start]));
    }
    found
}
