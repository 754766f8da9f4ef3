//! A few of the values of a sorted column, where they lie together in memory.
//!
//! A search that halves a column looks at a place far from the last one each time, and waits for memory when other work has used the
//! processor's caches meanwhile. Fences are searched as a tree, of which a node is a pair of cache lines: J. Rao and K. A. Ross, "Cache
//! Conscious Indexing for Decision-Support in Main Memory", VLDB 1999, pages 78 to 89.

use std::ops::Range;

/// Positions of a run, whose last value is its fence.
const RUN: usize = 256;

/// Fences of a node: two cache lines, which processors read together.
const NODE: usize = 16;

/// The last values of the runs of a sorted column.
#[derive(Debug)]
pub(super) struct Fences {
    /// From the root on: a level has the last fence of each node of the next one. The last level has the fence of each run.
    levels: Vec<Vec<i64>>,
}

/// A run of positions.
pub(super) struct Run {
    /// Its positions but for the last.
    pub(super) inner: Range<usize>,
    /// The last value before it, if it is not the first; and its own last value.
    pub(super) before: Option<i64>,
    pub(super) last: i64,
}

impl Fences {
    /// Takes the fences from a column of `count` values, of which `value` returns the one at a position.
    pub(super) fn of(count: usize, value: impl Fn(usize) -> i64) -> Self {
        let last = |start: usize| value(count.min(start + RUN) - 1);
        let mut levels = vec![(0..count).step_by(RUN).map(last).collect::<Vec<i64>>()];
        while levels[0].len() > NODE {
            levels.insert(0, levels[0].chunks(NODE).map(|node| node[node.len() - 1]).collect());
        }
        Self { levels }
    }

    /// Returns the first run, of a column of `count` values, that has a value above `bound`; `None` if there is none.
    pub(super) fn first_above(&self, bound: i64, count: usize) -> Option<Run> {
        let number = self.levels.iter().fold(0, |node, level| {
            let fences = level.iter().skip(node * NODE).take(NODE);
            node * NODE + fences.filter(|fence| **fence <= bound).count()
        });
        let fences = self.levels.last()?;
        let last = *fences.get(number)?;
        let before = number.checked_sub(1).map(|before| fences[before]);
        let start = number * RUN;
        Some(Run { inner: start..count.min(start + RUN) - 1, before, last })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_run_above_a_bound_has_the_first_value_above_it(
            mut values in prop::collection::vec(0..400_i64, 0..20_000),
            bound in -1..401_i64,
        ) {
            values.sort_unstable();
            let fences = Fences::of(values.len(), |position| values[position]);
            let expected = values.partition_point(|value| *value <= bound);
            let Some(run) = fences.first_above(bound, values.len()) else {
                prop_assert_eq!(expected, values.len());
                return Ok(());
            };
            prop_assert!((run.inner.start..=run.inner.end).contains(&expected));
            prop_assert_eq!(run.last, values[run.inner.end]);
            prop_assert_eq!(run.before, run.inner.start.checked_sub(1).map(|before| values[before]));
        }
    }
}
