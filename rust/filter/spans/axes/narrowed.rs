//! Axes with options: order from the start, among siblings, without a span between, and siblings or spans in order that are
//! the same in some fields.
//!
//! The spans that can be related make up groups. In a group, the targets that are related to a span by their times are a
//! range of all targets in the order of time. Those elsewhere in the tree are counted on one walk over the group: the ones
//! before the span but its open ancestors, and the ones after its subtree. So it takes `n log n` for `n` spans.

use std::ops::Range;

use super::tree_order::{Ties, TreeOrder};
use crate::filter::axis::{Axis, OrderFrom, OrderScope};
use crate::span_table::Bitmap;

/// What narrows an axis.
#[derive(Debug, Clone, Default)]
pub(in crate::filter::spans) struct Narrowing {
    pub(in crate::filter::spans) from: OrderFrom,
    pub(in crate::filter::spans) scope: OrderScope,
    /// By place from the first one: equal numbers of spans that are the same; 0 of one that is the same as none.
    pub(in crate::filter::spans) classes: Option<Vec<u32>>,
    /// The places that must not be between two related spans.
    pub(in crate::filter::spans) without: Option<Bitmap>,
}

impl Narrowing {
    /// Whether nothing is narrowed.
    pub(super) fn is_plain(&self) -> bool {
        self.from == OrderFrom::End
            && self.scope == OrderScope::Trace
            && self.classes.is_none()
            && self.without.is_none()
    }
}

/// Spans of one trace of which each can be related to each other one.
struct SiblingGroup<'g, P> {
    axis: Axis,
    from: OrderFrom,
    spans: &'g P,
    asked: &'g Bitmap,
    targets: &'g Bitmap,
    /// Asked places and targets, ascending.
    places: Vec<usize>,
    /// What must not be between two related spans, in the order of starts.
    without: Option<&'g [(u64, usize)]>,
}

/// Adds the asked places of one trace that have a place of `targets` on a narrowed axis.
pub(super) fn mark_narrowed<P: TreeOrder>(
    (axis, narrowing): (Axis, &Narrowing),
    spans: &P,
    (trace, asked, targets): (Range<usize>, &Bitmap, &Bitmap),
    found: &mut Bitmap,
) {
    let of_siblings = axis == Axis::Sibling || narrowing.scope == OrderScope::Siblings;
    let first = asked.places().start;
    let group_of = |place: usize| {
        let parent = if of_siblings { spans.parent(place)? } else { 0 };
        let class = narrowing.classes.as_ref().map_or(1, |classes| classes[place - first]);
        (class > 0).then_some((parent, class, place))
    };
    let is_member = |place: &usize| asked.contains(*place) || targets.contains(*place);
    let mut members: Vec<_> = trace.clone().filter(is_member).filter_map(group_of).collect();
    members.sort_unstable();
    let without = narrowing.without.as_ref().map(|without| {
        let mut starts: Vec<_> =
            without.iter(trace.clone()).map(|place| (spans.start(place), place)).collect();
        starts.sort_unstable();
        starts
    });
    for members in members.chunk_by(|one, next| (one.0, one.1) == (next.0, next.1)) {
        let places = members.iter().map(|member| member.2).collect();
        let without = without.as_deref();
        SiblingGroup { axis, from: narrowing.from, spans, asked, targets, places, without }.mark(found);
    }
}

impl<P: TreeOrder> SiblingGroup<'_, P> {
    /// Adds the asked places that have a target.
    fn mark(&self, found: &mut Bitmap) {
        let times = self.times();
        if times.is_empty() {
            return;
        }
        let mut ranks = vec![None; self.places.len()];
        for (rank, (_, place)) in times.iter().enumerate() {
            if let Ok(at) = self.places.binary_search(place) {
                ranks[at] = Some(rank);
            }
        }
        // Targets that the walk has come to, and those of them whose subtree it has not left.
        let (mut seen, mut above) = (FenwickTree::of(times.len()), FenwickTree::of(times.len()));
        let mut open: Vec<Open> = Vec::new();
        for (place, rank) in self.places.iter().copied().zip(ranks) {
            while let Some(span) = open.pop_if(|span| span.end <= place) {
                span.close(&seen, &mut above, found);
            }
            let range = if self.asked.contains(place) { self.range(place, &times) } else { 0..0 };
            let before = seen.between(&range) - above.between(&range);
            open.push(Open { place, end: self.spans.end_of_subtree(place), range, before, rank });
            if let Some(rank) = rank {
                seen.add(rank, 1);
                above.add(rank, 1);
            }
            if self.is_instant_before(place) {
                found.insert(place);
            }
        }
        while let Some(span) = open.pop() {
            span.close(&seen, &mut above, found);
        }
    }

    /// Returns the targets in the order of the time that relates them.
    fn times(&self) -> Vec<(u64, usize)> {
        let time = |place: usize| match (self.axis, self.from) {
            (Axis::PrecededBy, OrderFrom::End) => Some(self.spans.end(place)).filter(|end| *end != 0),
            (Axis::PrecededBy | Axis::FollowedBy, _) => Some(self.spans.start(place)),
            _ => Some(0),
        };
        let targets = self.places.iter().copied().filter(|place| self.targets.contains(*place));
        let mut times: Vec<_> = targets.filter_map(|place| Some((time(place)?, place))).collect();
        times.sort_unstable();
        times
    }

    /// Returns which of the targets in the order of time are related to a span by their times.
    fn range(&self, place: usize, times: &[(u64, usize)]) -> Range<usize> {
        let (start, end) = (self.spans.start(place), self.spans.end(place));
        let is_before = |other: &(u64, usize)| match self.spans.ties() {
            Ties::Ordered => *other < (start, place),
            Ties::Count => other.0 <= start,
            Ties::DoNotCount => other.0 < start,
        };
        let is_not_after = |other: &(u64, usize)| match self.spans.ties() {
            Ties::Ordered => *other <= (start, place),
            Ties::Count => other.0 < start,
            Ties::DoNotCount => other.0 <= start,
        };
        match (self.axis, self.from) {
            (Axis::FollowedBy, OrderFrom::End) if end == 0 => 0..0,
            (Axis::FollowedBy, from) => {
                let is_too_early = |other: &(u64, usize)| match from {
                    OrderFrom::End => other.0 < end,
                    OrderFrom::Start => is_not_after(other),
                };
                let low = times.partition_point(is_too_early);
                let high = self.without.and_then(|without| {
                    let next = without.partition_point(is_too_early);
                    let next = without[next..].iter().find(|other| other.1 != place)?;
                    Some(times.partition_point(|other| other <= next))
                });
                low..high.unwrap_or(times.len()).max(low)
            }
            (Axis::PrecededBy, from) => {
                let high = match from {
                    OrderFrom::End => times.partition_point(|other| other.0 <= start),
                    OrderFrom::Start => times.partition_point(is_before),
                };
                let low = self.last_before(place, 0).map_or(0, |last| match from {
                    OrderFrom::End => times.partition_point(|other| other.0 <= last.0),
                    OrderFrom::Start => times.partition_point(|other| *other < last),
                });
                low.min(high)..high
            }
            _ => 0..times.len(),
        }
    }

    /// Returns, of what must not be between, the last but `skipped` that starts before a span.
    fn last_before(&self, place: usize, skipped: usize) -> Option<(u64, usize)> {
        let without = self.without?;
        let before = without.partition_point(|other| *other < (self.spans.start(place), place));
        without[..before].iter().rev().nth(skipped).copied()
    }

    /// Whether the span before an asked one is the last of those that must not be between, took no time, and is related.
    ///
    /// It starts when it has ended, and is not between itself and another one.
    fn is_instant_before(&self, place: usize) -> bool {
        if (self.axis, self.from) != (Axis::PrecededBy, OrderFrom::End) || !self.asked.contains(place) {
            return false;
        }
        let Some((start, last)) = self.last_before(place, 0) else { return false };
        let end = self.spans.end(last);
        let is_elsewhere = last >= self.spans.end_of_subtree(place)
            || (last < place && self.spans.end_of_subtree(last) <= place);
        end != 0
            && end <= start
            && is_elsewhere
            && self.targets.contains(last)
            && self.places.binary_search(&last).is_ok()
            && self.last_before(place, 1).is_none_or(|earlier| earlier.0 < end)
    }
}

/// A span whose subtree the walk has not left.
struct Open {
    place: usize,
    end: usize,
    /// Which targets in the order of time are related to it by their times.
    range: Range<usize>,
    /// How many of these stand before it, but not above it.
    before: i64,
    /// Its own rank among the targets.
    rank: Option<usize>,
}

impl Open {
    /// Leaves its subtree: the targets that were not seen yet stand after it.
    fn close(&self, seen: &FenwickTree, above: &mut FenwickTree, found: &mut Bitmap) {
        if let Some(rank) = self.rank {
            above.add(rank, -1);
        }
        let all = i64::try_from(self.range.len()).unwrap_or(i64::MAX);
        if self.before + all - seen.between(&self.range) > 0 {
            found.insert(self.place);
        }
    }
}

/// Counts by rank, and the sum of a range of them. Source: Fenwick, 1994, "A new data structure for cumulative frequency
/// tables".
struct FenwickTree(Vec<i64>);

impl FenwickTree {
    fn of(ranks: usize) -> Self {
        Self(vec![0; ranks + 1])
    }

    fn add(&mut self, rank: usize, count: i64) {
        let mut at = rank + 1;
        while at < self.0.len() {
            self.0[at] += count;
            at += at & at.wrapping_neg();
        }
    }

    fn between(&self, ranks: &Range<usize>) -> i64 {
        if ranks.is_empty() { 0 } else { self.below(ranks.end) - self.below(ranks.start) }
    }

    fn below(&self, rank: usize) -> i64 {
        let (mut at, mut sum) = (rank, 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}
