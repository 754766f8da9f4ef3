//! Finds which of many values one equals, by a key of 64 bits.

/// So many bits for each key keep all but one in sixteen values away from the slots.
const FILTER_BITS: usize = 16;

/// A table of entries by key. A filter in front of it, small enough for the first cache, keeps most keys away.
#[derive(Debug)]
pub(super) struct KeyTable {
    filter: Vec<u64>,
    filter_shift: u32,
    /// The key and number of an entry; `EMPTY` for none.
    slots: Vec<(u64, u32)>,
}

const EMPTY: u32 = u32::MAX;

impl KeyTable {
    /// Returns the table of `keys`, which are numbered in their order. At most one in two slots is taken.
    pub(super) fn new(keys: &[u64]) -> Self {
        let bits = (keys.len() * FILTER_BITS).next_power_of_two().max(64);
        let mut slots = vec![(0, EMPTY); (keys.len() * 2).next_power_of_two().max(2)];
        let mut filter = vec![0; bits / 64];
        let filter_shift = 64 - bits.trailing_zeros();
        for (number, key) in (0..).zip(keys) {
            let bit = bit_of(*key, filter_shift);
            filter[bit / 64] |= 1 << (bit % 64);
            let mut slot = slot_of(*key, slots.len());
            while slots[slot].1 != EMPTY {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = (*key, number);
        }
        Self { filter, filter_shift, slots }
    }

    /// Whether `is_same` is true of the number of an entry with this key.
    #[inline]
    pub(super) fn has(&self, key: u64, mut is_same: impl FnMut(usize) -> bool) -> bool {
        let bit = bit_of(key, self.filter_shift);
        if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
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

/// Spreads the bits of a key over the upper half.
#[inline]
fn mixed(key: u64) -> u64 {
    (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "what is left has as many bits as the filter's length")]
fn bit_of(key: u64, shift: u32) -> usize {
    (mixed(key) >> shift) as usize
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the length is a power of two of at most 32 bits")]
fn slot_of(key: u64, slots: usize) -> usize {
    (mixed(key) >> 16) as usize & (slots - 1)
}
