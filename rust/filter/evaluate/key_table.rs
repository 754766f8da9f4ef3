//! Finds which of many values one equals, by a key of 64 bits.

/// The bytes of the filter: few enough for the first cache, and enough bits that of the longest lists one key in thirteen
/// passes by chance.
const FILTER_BYTES: usize = 1 << FILTER_BITS;
const FILTER_BITS: u32 = 14;

/// A set of keys that has a few others too.
#[derive(Debug)]
pub(super) struct KeyFilter(Box<[u8; FILTER_BYTES]>);

impl KeyFilter {
    /// Returns the filter of `keys`.
    pub(super) fn new(keys: impl IntoIterator<Item = u64>) -> Self {
        let mut filter = Box::new([0; FILTER_BYTES]);
        for key in keys {
            let (byte, bit) = place_of(key);
            filter[byte] |= bit;
        }
        Self(filter)
    }

    /// Whether it may be one of the keys. This takes no branch, so that many keys are tested at once.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    pub(super) fn may_have(&self, key: u64) -> bool {
        let (byte, bit) = place_of(key);
        self.0[byte] & bit != 0
    }
}

/// A table of entries by key, behind a filter that most keys do not pass.
#[derive(Debug)]
pub(super) struct KeyTable {
    filter: KeyFilter,
    /// The key and number of an entry; `EMPTY` for none.
    slots: Vec<(u64, u32)>,
}

const EMPTY: u32 = u32::MAX;

impl KeyTable {
    /// Returns the table of `keys`, which are numbered in their order. At most one in two slots is taken.
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

    /// Returns the filter in front of the table.
    pub(super) fn filter(&self) -> &KeyFilter {
        &self.filter
    }

    /// Whether `is_same` is true of the number of an entry with this key.
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

/// Spreads the bits of a key over the upper half.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn mixed(key: u64) -> u64 {
    (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the byte of the filter where a key has its bit, and the bit.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
#[allow(clippy::cast_possible_truncation, reason = "as many bits as the filter has bytes are left")]
fn place_of(key: u64) -> (usize, u8) {
    let mixed = mixed(key);
    ((mixed >> (u64::BITS - FILTER_BITS)) as usize, 1 << (mixed >> (u64::BITS - FILTER_BITS - 3) & 7))
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the length is a power of two of at most 32 bits")]
fn slot_of(key: u64, slots: usize) -> usize {
    (mixed(key) >> 16) as usize & (slots - 1)
}
