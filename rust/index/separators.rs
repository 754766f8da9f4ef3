//! A few of the values of a sorted column, where they lie together in memory.
//!
//! A search that halves a column looks at a place far from the last one each time, and waits for memory when other work has used the
//! processor's caches meanwhile. Separators are searched as a tree, of which a node is a pair of cache lines: J. Rao and K. A. Ross, "Cache
//! Conscious Indexing for Decision-Support in Main Memory", VLDB 1999, pages 78 to 89.

use std::ops::Range;

/// Positions of a stretch, whose last value is its separator.
const STRETCH: usize = 256;

/// Separators of a node: two cache lines, which processors read together.
const NODE: usize = 16;

/// The last values of the stretches of a sorted column.
#[derive(Debug)]
pub(super) struct Separators {
    /// From the root on: a level has the last separator of each node of the next one. The last level has the separator of each stretch.
    levels: Vec<Vec<i64>>,
}

/// Positions one after another.
pub(super) struct Stretch {
    /// Its positions but for the last.
    pub(super) inner: Range<usize>,
    /// The last value before it, if it is not the first; and its own last value.
    pub(super) before: Option<i64>,
    pub(super) last: i64,
}

impl Separators {
    /// Takes the separators from a column of `count` values, of which `value` returns the one at a position.
    pub(super) fn of(count: usize, value: impl Fn(usize) -> i64) -> Self {
        let last = |start: usize| value(count.min(start + STRETCH) - 1);
        let mut levels = vec![(0..count).step_by(STRETCH).map(last).collect::<Vec<i64>>()];
        while levels[0].len() > NODE {
            levels.insert(0, levels[0].chunks(NODE).map(|node| node[node.len() - 1]).collect());
        }
        Self { levels }
    }

    /// Returns the first stretch, of a column of `count` values, that has a value above `bound`; `None` if there is none.
    pub(super) fn first_above(&self, bound: i64, count: usize) -> Option<Stretch> {
        let number = self.levels.iter().fold(0, |node, level| {
            let separators = level.iter().skip(node * NODE).take(NODE);
            node * NODE + separators.filter(|separator| **separator <= bound).count()
        });
        let separators = self.levels.last()?;
        let last = *separators.get(number)?;
        let before = number.checked_sub(1).map(|before| separators[before]);
        let start = number * STRETCH;
        Some(Stretch { inner: start..count.min(start + STRETCH) - 1, before, last })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_stretch_above_a_bound_has_the_first_value_above_it(
            mut values in prop::collection::vec(0..400_i64, 0..20_000),
            bound in -1..401_i64,
        ) {
            values.sort_unstable();
            let separators = Separators::of(values.len(), |position| values[position]);
            let expected = values.partition_point(|value| *value <= bound);
            let Some(stretch) = separators.first_above(bound, values.len()) else {
                prop_assert_eq!(expected, values.len());
                return Ok(());
            };
            prop_assert!((stretch.inner.start..=stretch.inner.end).contains(&expected));
            prop_assert_eq!(stretch.last, values[stretch.inner.end]);
            prop_assert_eq!(stretch.before, stretch.inner.start.checked_sub(1).map(|before| values[before]));
        }
    }
}
