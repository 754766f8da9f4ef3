//! Sets of numbers and instants, as sorted inclusive spans.

use crate::schema::Operator;

/// A type whose values can be counted through: what inclusive spans are made of.
pub(super) trait Ordinal: Copy + PartialOrd {
    const LEAST: Self;
    const GREATEST: Self;
    /// Returns the next greater value, or the greatest itself.
    fn next(self) -> Self;
    /// Returns the next smaller value, or the least itself.
    fn previous(self) -> Self;
}

impl Ordinal for i128 {
    const LEAST: Self = Self::MIN;
    const GREATEST: Self = Self::MAX;

    fn next(self) -> Self {
        self.saturating_add(1)
    }

    fn previous(self) -> Self {
        self.saturating_sub(1)
    }
}

impl Ordinal for f64 {
    const LEAST: Self = Self::NEG_INFINITY;
    const GREATEST: Self = Self::INFINITY;

    fn next(self) -> Self {
        self.next_up()
    }

    fn previous(self) -> Self {
        self.next_down()
    }
}

/// A number as a type that may not hold it exactly sees it: its neighbours there, equal if it can.
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

/// A set of values: inclusive spans, ascending, none touching another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IntervalSet<T>(Vec<(T, T)>);

impl<T: Ordinal> IntervalSet<T> {
    /// Returns the values that stand in the relation `operator` to the only one of `points`, or, for
    /// `EQ`, `NEQ` and `IN`, those equal to any of them.
    pub(super) fn of(operator: Operator, points: &[Point<T>]) -> Self {
        let span = |point: &Point<T>| match operator {
            Operator::Gt => (point.floor.next(), T::GREATEST),
            Operator::Gte => (point.ceil, T::GREATEST),
            Operator::Lt => (T::LEAST, point.ceil.previous()),
            Operator::Lte => (T::LEAST, point.floor),
            _ => (point.ceil, point.floor),
        };
        Self::joined(points.iter().map(span).collect())
    }

    /// Returns the union of `spans`; one whose end is below its start holds nothing.
    pub(super) fn joined(mut spans: Vec<(T, T)>) -> Self {
        spans.retain(|(first, last)| first <= last);
        spans.sort_by(|one, other| one.0.partial_cmp(&other.0).unwrap_or(std::cmp::Ordering::Equal));
        let mut joined: Vec<(T, T)> = Vec::with_capacity(spans.len());
        for (first, last) in spans {
            match joined.last_mut() {
                Some(before) if first <= before.1.next() => {
                    if last > before.1 {
                        before.1 = last;
                    }
                }
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// Returns the values in this set or the other.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self::joined(self.0.iter().chain(&other.0).copied().collect())
    }

    /// Returns the values in this set and the other.
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
        Self::joined(common)
    }

    /// Returns the values not in this set.
    pub(super) fn not(&self) -> Self {
        let mut others = Vec::with_capacity(self.0.len() + 1);
        let mut first = T::LEAST;
        for (start, end) in &self.0 {
            if *start > T::LEAST {
                others.push((first, start.previous()));
            }
            first = end.next();
            if *end >= T::GREATEST {
                return Self::joined(others);
            }
        }
        others.push((first, T::GREATEST));
        Self::joined(others)
    }
}

impl IntervalSet<i128> {
    /// Returns the whole numbers `n` for which `n * unit` is in this set and `N` can hold `n`.
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
            // A quotient rounds down; the first unit is found by rounding up, as its mirror image.
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

impl<N: Copy + PartialOrd> IntervalSet<N> {
    /// Whether `value` is in this set.
    pub(super) fn contains(&self, value: N) -> bool {
        let after = self.0.partition_point(|(_, last)| *last < value);
        self.0.get(after).is_some_and(|(first, _)| *first <= value)
    }

    /// Returns the spans, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (N, N)> {
        self.0.iter().copied()
    }

    /// Returns the span, if this set is one.
    pub(super) fn only(&self) -> Option<(N, N)> {
        let [span] = self.0.as_slice() else { return None };
        Some(*span)
    }
}
