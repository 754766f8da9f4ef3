//! Combines checksums, so that each byte of a group is read only once.

/// The CRC32C polynomial with its lowest power in the highest bit, like the checksum itself.
const POLYNOMIAL: u32 = 0x82f6_3b78;
const ONE: u32 = 1 << 31;

/// The minimum size for a combination, which takes a third of a microsecond. Fewer bytes are checksummed
/// faster.
const MIN_COMBINED_BYTES: usize = 4096;

/// Entry `n` is x to the power of 8 · 2^n. Multiplying by it advances a checksum by 2^n bytes.
static SHIFTS: [u32; usize::BITS as usize] = shifts();

/// Returns the checksum of concatenated content: `before` is the checksum of the first part, and `own` is the
/// checksum of `content`.
///
/// `crc32c::crc32c_combine` returns the same value in 50 to 100 µs, which is enough to checksum 256 KB.
pub(super) fn append(before: u32, content: &[u8], own: u32) -> u32 {
    if content.len() < MIN_COMBINED_BYTES {
        return crc32c::crc32c_append(before, content);
    }
    let bits = SHIFTS.iter().enumerate().filter(|(bit, _)| content.len() >> bit & 1 == 1);
    let shift = bits.fold(ONE, |shift, (_, power)| product(*power, shift));
    product(shift, before) ^ own
}

/// Returns the product of two polynomials over GF(2), modulo the CRC32C polynomial.
const fn product(mut left: u32, mut right: u32) -> u32 {
    let mut sum = 0;
    while left != 0 {
        if left & ONE != 0 {
            sum ^= right;
        }
        right = (right >> 1) ^ if right & 1 == 1 { POLYNOMIAL } else { 0 };
        left <<= 1;
    }
    sum
}

const fn shifts() -> [u32; usize::BITS as usize] {
    let mut shifts = [0; usize::BITS as usize];
    // x to the power of 8.
    let mut power = ONE >> 8;
    let mut bit = 0;
    while bit < shifts.len() {
        shifts[bit] = power;
        power = product(power, power);
        bit += 1;
    }
    shifts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MIN_COMBINED_BYTES, append};

    proptest! {
        #[test]
        fn a_combined_checksum_is_that_of_the_whole(
            before in proptest::collection::vec(any::<u8>(), 0..100),
            pattern in proptest::collection::vec(any::<u8>(), 1..50),
            length in 0..10 * MIN_COMBINED_BYTES,
        ) {
            let content: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();
            let combined = append(crc32c::crc32c(&before), &content, crc32c::crc32c(&content));
            let whole = [before, content].concat();
            prop_assert_eq!(combined, crc32c::crc32c(&whole));
        }
    }

    #[test]
    fn large_contents_are_combined_as_well() {
        for length in [MIN_COMBINED_BYTES, 1 << 16, (1 << 24) - 1, 1 << 24, (1 << 25) + 12_345] {
            let content = vec![0x5a; length];
            let own = crc32c::crc32c(&content);
            assert_eq!(
                append(0xdead_beef, &content, own),
                crc32c::crc32c_append(0xdead_beef, &content),
                "{length}"
            );
        }
    }
}
