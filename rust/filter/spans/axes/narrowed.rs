//! Axes with options: order by start, order among siblings, no span between, and equal fields.
//!
//! The spans that can be related form groups. Within a group, the targets related to a span by time are a
//! range of all targets in time order. One walk over the group counts the targets elsewhere in the tree:
//! those before the span, except its open ancestors, and those after its subtree. This takes `n log n` for
//! `n` spans.

use std::ops::Range;

use super::tree_order::{Ties, TreeOrder};
use crate::bitmap::Bitmap;
use crate::filter::axis::{Axis, OrderFrom, OrderScope};

/// The options of an axis.
#[derive(Debug, Clone, Default)]
pub(in crate::filter::spans) struct Narrowing {
    pub(in crate::filter::spans) from: OrderFrom,
    pub(in crate::filter::spans) scope: OrderScope,
    /// The class of each span, from the first ordinal on. Equal spans have equal classes; class 0 is equal to
    /// no span.
    pub(in crate::filter::spans) classes: Option<Vec<u32>>,
    /// The spans that must not be between two related spans.
    pub(in crate::filter::spans) without: Option<Bitmap>,
}

impl Narrowing {
    /// Returns `true` if no option narrows the axis.
    pub(super) fn is_plain(&self) -> bool {
        self.from == OrderFrom::End
            && self.scope == OrderScope::Trace
            && self.classes.is_none()
            && self.without.is_none()
    }
}

/// Spans of one trace that can all be related to each other.
struct SiblingGroup<'g, P> {
    axis: Axis,
    from: OrderFrom,
    spans: &'g P,
    candidates: &'g Bitmap,
    targets: &'g Bitmap,
    /// The ordinals of the candidates and the targets, ascending.
    ordinals: Vec<usize>,
    /// The spans that must not be between two related spans, in start order.
    without: Option<&'g [(u64, usize)]>,
}

/// Adds the spans of `candidates` in one trace that have a span of `targets` on a narrowed axis.
pub(super) fn mark_narrowed<P: TreeOrder>(
    (axis, narrowing): (Axis, &Narrowing),
    spans: &P,
    (trace, candidates, targets): (Range<usize>, &Bitmap, &Bitmap),
    matching: &mut Bitmap,
) {
    let of_siblings = axis == Axis::Sibling || narrowing.scope == OrderScope::Siblings;
    let first = candidates.ordinals().start;
    let group_of = |ordinal: usize| {
        let parent = if of_siblings { spans.parent(ordinal)? } else { 0 };
        let class = narrowing.classes.as_ref().map_or(1, |classes| classes[ordinal - first]);
        (class > 0).then_some((parent, class, ordinal))
    };
    let is_member = |ordinal: &usize| candidates.contains(*ordinal) || targets.contains(*ordinal);
    let mut members: Vec<_> = trace.clone().filter(is_member).filter_map(group_of).collect();
    members.sort_unstable();
    let without = narrowing.without.as_ref().map(|without| {
        let mut starts: Vec<_> =
            without.iter(trace.clone()).map(|ordinal| (spans.start(ordinal), ordinal)).collect();
        starts.sort_unstable();
        starts
    });
    for members in members.chunk_by(|one, next| (one.0, one.1) == (next.0, next.1)) {
        let ordinals = members.iter().map(|member| member.2).collect();
        let without = without.as_deref();
        SiblingGroup { axis, from: narrowing.from, spans, candidates, targets, ordinals, without }
            .mark(matching);
    }
}

impl<P: TreeOrder> SiblingGroup<'_, P> {
    /// Adds the candidates that have a target.
    fn mark(&self, matching: &mut Bitmap) {
        let times = self.times();
        if times.is_empty() {
            return;
        }
        let mut ranks = vec![None; self.ordinals.len()];
        for (rank, (_, ordinal)) in times.iter().enumerate() {
            if let Ok(at) = self.ordinals.binary_search(ordinal) {
                ranks[at] = Some(rank);
            }
        }
        // The targets that the walk has reached, and the targets whose subtree it has not left.
        let (mut seen, mut above) = (FenwickTree::of(times.len()), FenwickTree::of(times.len()));
        let mut open: Vec<Open> = Vec::new();
        for (ordinal, rank) in self.ordinals.iter().copied().zip(ranks) {
            while let Some(span) = open.pop_if(|span| span.end <= ordinal) {
                span.close(&seen, &mut above, matching);
            }
            let range = if self.candidates.contains(ordinal) { self.range(ordinal, &times) } else { 0..0 };
            let before = seen.between(&range) - above.between(&range);
            open.push(Open { ordinal, end: self.spans.end_of_subtree(ordinal), range, before, rank });
            if let Some(rank) = rank {
                seen.add(rank, 1);
                above.add(rank, 1);
            }
            if self.is_instant_before(ordinal) {
                matching.insert(ordinal);
            }
        }
        while let Some(span) = open.pop() {
            span.close(&seen, &mut above, matching);
        }
    }

    /// Returns the targets in the order of the time that relates them.
    fn times(&self) -> Vec<(u64, usize)> {
        let time = |ordinal: usize| match (self.axis, self.from) {
            (Axis::PrecededBy, OrderFrom::End) => Some(self.spans.end(ordinal)).filter(|end| *end != 0),
            (Axis::PrecededBy | Axis::FollowedBy, _) => Some(self.spans.start(ordinal)),
            _ => Some(0),
        };
        let targets = self.ordinals.iter().copied().filter(|ordinal| self.targets.contains(*ordinal));
        let mut times: Vec<_> = targets.filter_map(|ordinal| Some((time(ordinal)?, ordinal))).collect();
        times.sort_unstable();
        times
    }

    /// Returns the range of targets in time order that are related to a span by time.
    fn range(&self, ordinal: usize, times: &[(u64, usize)]) -> Range<usize> {
        let (start, end) = (self.spans.start(ordinal), self.spans.end(ordinal));
        let is_before = |other: &(u64, usize)| match self.spans.ties() {
            Ties::Ordered => *other < (start, ordinal),
            Ties::Count => other.0 <= start,
            Ties::DoNotCount => other.0 < start,
        };
        let is_not_after = |other: &(u64, usize)| match self.spans.ties() {
            Ties::Ordered => *other <= (start, ordinal),
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
                    let next = without[next..].iter().find(|other| other.1 != ordinal)?;
                    Some(times.partition_point(|other| other <= next))
                });
                low..high.unwrap_or(times.len()).max(low)
            }
            (Axis::PrecededBy, from) => {
                let high = match from {
                    OrderFrom::End => times.partition_point(|other| other.0 <= start),
                    OrderFrom::Start => times.partition_point(is_before),
                };
                let low = self.last_before(ordinal, 0).map_or(0, |last| match from {
                    OrderFrom::End => times.partition_point(|other| other.0 <= last.0),
                    OrderFrom::Start => times.partition_point(|other| *other < last),
                });
                low.min(high)..high
            }
            _ => 0..times.len(),
        }
    }

    /// Returns the last excluded span that starts before a span, after `skipped` later ones.
    fn last_before(&self, ordinal: usize, skipped: usize) -> Option<(u64, usize)> {
        let without = self.without?;
        let before = without.partition_point(|other| *other < (self.spans.start(ordinal), ordinal));
        without[..before].iter().rev().nth(skipped).copied()
    }

    /// Returns `true` if the last excluded span before a candidate took no time and is related to it.
    ///
    /// Such a span starts at its own end, and is not between itself and another span.
    fn is_instant_before(&self, ordinal: usize) -> bool {
        if (self.axis, self.from) != (Axis::PrecededBy, OrderFrom::End) || !self.candidates.contains(ordinal)
        {
            return false;
        }
        let Some((start, last)) = self.last_before(ordinal, 0) else { return false };
        let end = self.spans.end(last);
        let is_elsewhere = last >= self.spans.end_of_subtree(ordinal)
            || (last < ordinal && self.spans.end_of_subtree(last) <= ordinal);
        end != 0
            && end <= start
            && is_elsewhere
            && self.targets.contains(last)
            && self.ordinals.binary_search(&last).is_ok()
            && self.last_before(ordinal, 1).is_none_or(|earlier| earlier.0 < end)
    }
}

/// A span whose subtree the walk has not left.
struct Open {
    ordinal: usize,
    end: usize,
    /// The range of targets in time order that are related to the span by time.
    range: Range<usize>,
    /// The number of these targets that are before it in tree order, but not above it.
    before: i64,
    /// The span's own rank among the targets.
    rank: Option<usize>,
}

impl Open {
    /// Leaves the subtree of the span. The targets not seen yet are after it in tree order.
    fn close(&self, seen: &FenwickTree, above: &mut FenwickTree, matching: &mut Bitmap) {
        if let Some(rank) = self.rank {
            above.add(rank, -1);
        }
        let all = i64::try_from(self.range.len()).unwrap_or(i64::MAX);
        if self.before + all - seen.between(&self.range) > 0 {
            matching.insert(self.ordinal);
        }
    }
}

/// A Fenwick tree: counts by rank with range sums. Source: Fenwick, 1994, "A new data structure for
/// cumulative frequency tables".
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
