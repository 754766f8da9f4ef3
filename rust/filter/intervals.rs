//! Sets of numbers and instants, as sorted closed intervals.

use crate::schema::Operator;

/// A type in which every value has a successor and a predecessor, as closed intervals need.
pub(super) trait Ordinal: Copy + PartialOrd {
    const MIN: Self;
    const MAX: Self;
    /// Returns the next greater value, or the maximum itself.
    fn next(self) -> Self;
    /// Returns the next smaller value, or the minimum itself.
    fn previous(self) -> Self;
}

/// Implements [`Ordinal`] for types of integers.
macro_rules! integers_are_ordinals {
    ($($integer:ty),+) => {$(
        impl Ordinal for $integer {
            const MIN: Self = Self::MIN;
            const MAX: Self = Self::MAX;

            fn next(self) -> Self {
                self.saturating_add(1)
            }

            fn previous(self) -> Self {
                self.saturating_sub(1)
            }
        }
    )+};
}

integers_are_ordinals!(i64, i128);

impl Ordinal for f64 {
    const MIN: Self = Self::NEG_INFINITY;
    const MAX: Self = Self::INFINITY;

    fn next(self) -> Self {
        self.next_up()
    }

    fn previous(self) -> Self {
        self.next_down()
    }
}

/// A number in a type that may not represent it exactly: its two neighbours in that type. They are equal if
/// the type represents the number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point<T> {
    /// The greatest value that is not above the number.
    pub(super) floor: T,
    /// The least value that is not below the number.
    pub(super) ceil: T,
}

impl<T: Copy> Point<T> {
    pub(super) fn exactly(value: T) -> Self {
        Self { floor: value, ceil: value }
    }
}

/// A set of values: closed intervals, ascending, separated by gaps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IntervalSet<T>(Vec<(T, T)>);

impl<T: Ordinal> IntervalSet<T> {
    /// Returns the values that satisfy `operator` with the only one of `points`. For `EQ`, `NEQ` and `IN`,
    /// returns the values equal to any of them.
    pub(super) fn of(operator: Operator, points: &[Point<T>]) -> Self {
        let interval = |point: &Point<T>| match operator {
            Operator::Gt => (point.floor.next(), T::MAX),
            Operator::Gte => (point.ceil, T::MAX),
            Operator::Lt => (T::MIN, point.ceil.previous()),
            Operator::Lte => (T::MIN, point.floor),
            _ => (point.ceil, point.floor),
        };
        Self::union(points.iter().map(interval).collect())
    }

    /// Returns the union of `intervals`. An interval that ends before it starts is empty.
    pub(super) fn union(mut intervals: Vec<(T, T)>) -> Self {
        intervals.retain(|(first, last)| first <= last);
        intervals.sort_by(|one, other| one.0.partial_cmp(&other.0).unwrap_or(std::cmp::Ordering::Equal));
        let mut union: Vec<(T, T)> = Vec::with_capacity(intervals.len());
        for (first, last) in intervals {
            match union.last_mut() {
                Some(before) if first <= before.1.next() => {
                    if last > before.1 {
                        before.1 = last;
                    }
                }
                _ => union.push((first, last)),
            }
        }
        Self(union)
    }

    /// Returns the union of both sets.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self::union(self.0.iter().chain(&other.0).copied().collect())
    }

    /// Returns the intersection of both sets.
    pub(super) fn and(&self, other: &Self) -> Self {
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = Vec::new();
        while let (Some(one), Some(two)) = (mine.peek(), theirs.peek()) {
            let first = if one.0 > two.0 { one.0 } else { two.0 };
            let mine_ends_first = one.1 < two.1;
            common.push((first, if mine_ends_first { one.1 } else { two.1 }));
            if mine_ends_first {
                mine.next();
            } else {
                theirs.next();
            }
        }
        Self::union(common)
    }

    /// Returns `true` if no value has this truth: the set is empty, or it is complete if `truth` is `false`.
    pub(super) fn is_never(&self, truth: bool) -> bool {
        if truth { self.0.is_empty() } else { self.0 == [(T::MIN, T::MAX)] }
    }

    /// Returns the complement of this set.
    pub(super) fn not(&self) -> Self {
        let mut others = Vec::with_capacity(self.0.len() + 1);
        let mut first = T::MIN;
        for (start, end) in &self.0 {
            if *start > T::MIN {
                others.push((first, start.previous()));
            }
            first = end.next();
            if *end >= T::MAX {
                return Self::union(others);
            }
        }
        others.push((first, T::MAX));
        Self::union(others)
    }
}

impl IntervalSet<i128> {
    /// Returns the integers `n`, within the range of `N`, for which `n * unit` is in this set.
    pub(super) fn in_units<N: Copy + TryFrom<i128>>(
        &self,
        unit: i128,
        least: N,
        greatest: N,
    ) -> IntervalSet<N>
    where
        i128: From<N>,
    {
        let native = |&(first, last): &(i128, i128)| {
            // Euclidean division rounds down; negating twice rounds the first unit up.
            let ceil = first.saturating_neg().div_euclid(unit).saturating_neg();
            let floor = last.div_euclid(unit);
            let (start, end) = (ceil.max(i128::from(least)), floor.min(i128::from(greatest)));
            if start > end {
                return None;
            }
            Some((N::try_from(start).ok()?, N::try_from(end).ok()?))
        };
        IntervalSet(self.0.iter().filter_map(native).collect())
    }
}

impl IntervalSet<f64> {
    /// Returns the numbers of this set that `f32` represents.
    pub(super) fn in_singles(&self) -> IntervalSet<f32> {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "what was rounded out of the interval is moved back"
        )]
        let single = |&(first, last): &(f64, f64)| {
            let (start, end) = (first as f32, last as f32);
            let start = if f64::from(start) < first { start.next_up() } else { start };
            let end = if f64::from(end) > last { end.next_down() } else { end };
            (start <= end).then_some((start, end))
        };
        IntervalSet(self.0.iter().filter_map(single).collect())
    }
}

impl<N: Copy + PartialOrd> IntervalSet<N> {
    /// Returns the intervals.
    pub(super) fn as_slice(&self) -> &[(N, N)] {
        &self.0
    }

    /// Returns the intervals that have a value from `first` to `last`.
    pub(super) fn overlapping(&self, first: N, last: N) -> Self {
        let start = self.0.partition_point(|(_, end)| *end < first);
        let end = self.0.partition_point(|(start, _)| *start <= last);
        Self(self.0[start..end.max(start)].to_vec())
    }

    /// Returns `true` if `value` is in this set.
    pub(super) fn contains(&self, value: N) -> bool {
        if let [(first, last)] = self.0[..] {
            return first <= value && value <= last;
        }
        let after = self.0.partition_point(|(_, last)| *last < value);
        self.0.get(after).is_some_and(|(first, _)| *first <= value)
    }

    /// Returns the intervals, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (N, N)> {
        self.0.iter().copied()
    }

    /// Returns the least value; `None` if the set is empty.
    pub(super) fn least(&self) -> Option<N> {
        self.0.first().map(|(first, _)| *first)
    }
}
