//! Fence keys of a sorted column: every 256th value, stored contiguously.
//!
//! A binary search of the column itself probes distant positions, each a cache miss if other work has evicted
//! the column. Fence keys are searched as a tree with nodes of two cache lines: J. Rao and K. A. Ross, "Cache
//! Conscious Indexing for Decision-Support in Main Memory", VLDB 1999, pages 78 to 89.

use std::ops::Range;

use super::boundary::{Boundary, sort_key};

/// The number of positions in a block. The last value of a block is its fence key.
const BLOCK: usize = 256;

/// The number of fence keys in a node: two cache lines, which processors load together.
const NODE: usize = 16;

/// The last values of the blocks of a sorted column.
#[derive(Debug)]
pub(super) struct FenceKeys {
    /// The levels of the tree from the root. Each level has the last fence key of each node of the next
    /// level. The last level has the fence key of each block.
    levels: Vec<Vec<i64>>,
}

/// A run of adjacent positions.
pub(super) struct FenceBlock {
    /// All positions except the last.
    pub(super) inner: Range<usize>,
    /// The last value before the block (`None` for the first block), and the last value of the block.
    pub(super) before: Option<i64>,
    pub(super) last: i64,
}

impl FenceKeys {
    /// Reads the fence keys of a column with `count` values. `value` returns the value at a position.
    pub(super) fn of(count: usize, value: impl Fn(usize) -> i64) -> Self {
        let last = |start: usize| value(count.min(start + BLOCK) - 1);
        let mut levels = vec![(0..count).step_by(BLOCK).map(last).collect::<Vec<i64>>()];
        while levels[0].len() > NODE {
            levels.insert(0, levels[0].chunks(NODE).map(|node| node[node.len() - 1]).collect());
        }
        Self { levels }
    }

    /// Returns the first block whose last value is not `is_before`, in a column with `count` values. `None`
    /// if there is no such block.
    pub(super) fn first_block(&self, count: usize, is_before: impl Fn(i64) -> bool) -> Option<FenceBlock> {
        let number = self.levels.iter().fold(0, |node, level| {
            let fence_keys = level.iter().skip(node * NODE).take(NODE);
            node * NODE + fence_keys.filter(|fence_key| is_before(**fence_key)).count()
        });
        let fence_keys = self.levels.last()?;
        let last = *fence_keys.get(number)?;
        let before = number.checked_sub(1).map(|before| fence_keys[before]);
        let start = number * BLOCK;
        Some(FenceBlock { inner: start..count.min(start + BLOCK) - 1, before, last })
    }
}

/// The last texts of the blocks of a sorted text column. Each is stored as the first eight bytes after the
/// prefix that all texts share.
#[derive(Debug)]
pub(super) struct TextFenceKeys {
    common: Box<[u8]>,
    fence_keys: FenceKeys,
}

impl TextFenceKeys {
    /// Reads the fence keys of a column with `count` texts. `text` returns the text at a position.
    pub(super) fn of<'a>(count: usize, text: impl Fn(usize) -> &'a [u8]) -> Self {
        let ends = count.checked_sub(1).map(|last| (text(0), text(last)));
        let (first, last) = ends.unwrap_or_default();
        let common = first.iter().zip(last).take_while(|(one, other)| one == other).count();
        let fence_keys = FenceKeys::of(count, |position| ordered(sort_key(text(position), common)));
        Self { common: first[..common].into(), fence_keys }
    }

    /// Returns a short range of positions in a column with `count` texts. The first text after the boundary
    /// is in the range or directly after it.
    pub(super) fn around(&self, boundary: Boundary<'_>, count: usize) -> Range<usize> {
        let Some(key) = boundary.sort_key(&self.common).map(ordered) else {
            let is_before_all = boundary.precedes(&self.common);
            return if is_before_all { 0..0 } else { count..count };
        };
        let first = self.fence_keys.first_block(count, |fence_key| fence_key < key);
        let last = self.fence_keys.first_block(count, |fence_key| fence_key <= key);
        first.map_or(count, |first| first.inner.start)..last.map_or(count, |last| last.inner.end)
    }
}

/// Converts a key to a signed number with the same order.
fn ordered(key: u64) -> i64 {
    (key ^ 1 << 63).cast_signed()
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
            let fence_keys = FenceKeys::of(values.len(), |position| values[position]);
            let expected = values.partition_point(|value| *value <= bound);
            let Some(block) = fence_keys.first_block(values.len(), |fence_key| fence_key <= bound) else {
                prop_assert_eq!(expected, values.len());
                return Ok(());
            };
            prop_assert!((block.inner.start..=block.inner.end).contains(&expected));
            prop_assert_eq!(block.last, values[block.inner.end]);
            prop_assert_eq!(block.before, block.inner.start.checked_sub(1).map(|before| values[before]));
        }

        #[test]
        fn the_first_text_after_a_boundary_is_around_it(
            common in "[ab]{0,3}",
            rests in prop::collection::btree_set("[ab\u{10ffff}]{0,12}", 0..1_500),
            other in "[abc\u{10ffff}]{0,14}",
        ) {
            let texts: Vec<String> = rests.iter().map(|rest| format!("{common}{rest}")).collect();
            let fence_keys = TextFenceKeys::of(texts.len(), |position| texts[position].as_bytes());
            let below = format!("{common}{other}");
            let some = texts.get(texts.len() / 3).unwrap_or(&other).as_bytes();
            for text in [other.as_bytes(), below.as_bytes(), some, &some[..some.len() / 2]] {
                for boundary in [Boundary::Before(text), Boundary::After(text), Boundary::AfterPrefix(text)] {
                    let expected = texts.partition_point(|text| !boundary.precedes(text.as_bytes()));
                    let around = fence_keys.around(boundary, texts.len());
                    prop_assert!((around.start..=around.end).contains(&expected), "{boundary:?}: {expected} {around:?}");
                }
            }
        }
    }
}
