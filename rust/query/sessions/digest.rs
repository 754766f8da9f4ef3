//! Digests of texts. Equal texts have equal digests. A collision among 10^10 different texts has a probability of 1 in
//! 10^19.

pub(crate) const DIGEST_BYTES: usize = 16;

/// Returns the digest of a text.
pub(crate) fn digest(text: &[u8]) -> [u8; DIGEST_BYTES] {
    let hash = blake3::hash(text);
    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&hash.as_bytes()[..DIGEST_BYTES]);
    digest
}

/// Returns the index of the range that contains a digest, of `ranges` equal ranges.
#[allow(clippy::cast_possible_truncation, reason = "less than the number of ranges")]
pub(crate) fn range_of(digest: &[u8; DIGEST_BYTES], ranges: u32) -> u32 {
    let first = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    ((u64::from(first) * u64::from(ranges)) >> 32) as u32
}

/// Returns the concatenated digests in some bytes; `None` if the length is wrong.
pub(crate) fn read_digests(bytes: &[u8]) -> Option<impl Iterator<Item = u128> + '_> {
    let (digests, rest) = bytes.as_chunks::<DIGEST_BYTES>();
    rest.is_empty().then(|| digests.iter().map(|digest| u128::from_be_bytes(*digest)))
}
