//! A hash table that finds which of many values a value equals, by a key of 64 bits.

/// The bytes of the filter. It fits into the first-level cache, and its false-positive rate is 1 in 13 for
/// the longest lists.
const FILTER_BYTES: usize = 1 << FILTER_BITS;
const FILTER_BITS: u32 = 14;

/// A filter of keys without false negatives.
#[derive(Debug)]
pub(super) struct KeyFilter(Box<[u8; FILTER_BYTES]>);

impl KeyFilter {
    /// Returns the filter for `keys`.
    pub(super) fn new(keys: impl IntoIterator<Item = u64>) -> Self {
        let mut filter = Box::new([0; FILTER_BYTES]);
        for key in keys {
            let (byte, bit) = position_of(key);
            filter[byte] |= bit;
        }
        Self(filter)
    }

    /// Returns `true` if a key may be in the set. It takes no branch, so that many keys are tested at once.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    pub(super) fn may_have(&self, key: u64) -> bool {
        let (byte, bit) = position_of(key);
        self.0[byte] & bit != 0
    }
}

/// A hash table of entries, behind a filter that rejects most other keys.
#[derive(Debug)]
pub(super) struct KeyTable {
    filter: KeyFilter,
    /// The key and the number of an entry; `EMPTY` for a free slot.
    slots: Vec<(u64, u32)>,
}

const EMPTY: u32 = u32::MAX;

impl KeyTable {
    /// Returns the table for `keys`, which are numbered in their order. At most half of the slots are used.
    pub(super) fn new(keys: &[u64]) -> Self {
        let mut slots = vec![(0, EMPTY); (keys.len() * 2).next_power_of_two().max(2)];
        for (number, key) in (0..).zip(keys) {
            let mut slot = slot_of(*key, slots.len());
            while slots[slot].1 != EMPTY {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = (*key, number);
        }
        Self { filter: KeyFilter::new(keys.iter().copied()), slots }
    }

    pub(super) fn filter(&self) -> &KeyFilter {
        &self.filter
    }

    /// Returns `true` if `is_same` is true for the number of an entry with this key.
    #[inline]
    pub(super) fn has(&self, key: u64, mut is_same: impl FnMut(usize) -> bool) -> bool {
        if !self.filter.may_have(key) {
            return false;
        }
        let mut slot = slot_of(key, self.slots.len());
        loop {
            let (own, number) = self.slots[slot];
            if number == EMPTY {
                return false;
            }
            if own == key && is_same(number as usize) {
                return true;
            }
            slot = (slot + 1) % self.slots.len();
        }
    }
}

/// Mixes all bits of a key into the upper half.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn mixed(key: u64) -> u64 {
    (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the byte of the filter that has the bit of a key, and the bit.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
#[allow(clippy::cast_possible_truncation, reason = "as many bits as the filter has bytes are left")]
fn position_of(key: u64) -> (usize, u8) {
    let mixed = mixed(key);
    ((mixed >> (u64::BITS - FILTER_BITS)) as usize, 1 << (mixed >> (u64::BITS - FILTER_BITS - 3) & 7))
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the length is a power of two of at most 32 bits")]
fn slot_of(key: u64, slots: usize) -> usize {
    (mixed(key) >> 16) as usize & (slots - 1)
}
