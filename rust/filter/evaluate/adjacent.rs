//! Evaluates text probes on many adjacent texts, each from one offset to the next.

use arrow_array::OffsetSizeTrait;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};

use super::texts::{BytesProbe, HEAD, TextSlice};
use super::words::{Verdict, bits_of};

/// The maximum number of open texts of a word that are compared as a whole. More texts are all probed,
/// without a branch for each.
const FEW: u32 = 16;

/// Concatenated texts, and their offsets: one more than there are texts.
#[derive(Clone, Copy)]
pub(super) struct Adjacent<'t, O> {
    pub(super) bytes: &'t [u8],
    pub(super) offsets: &'t [O],
}

impl<'t, O: OffsetSizeTrait> Adjacent<'t, O> {
    /// Returns the text at an index.
    #[inline]
    pub(super) fn text(self, number: usize) -> TextSlice<'t> {
        let start = self.offsets[number].as_usize();
        (self.bytes, start, self.offsets[number + 1].as_usize() - start)
    }

    /// Keeps the texts of `open` that have `length` bytes.
    pub(super) fn keep_of_length(self, length: usize, open: &mut [u64]) {
        match O::from_usize(length) {
            Some(length) => dispatch!(Level::new(), simd => self.keep_of_length_by(simd, length, open)),
            None => open.fill(0),
        }
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn keep_of_length_by<S: Simd>(self, simd: S, length: O, open: &mut [u64]) {
        for (number, open) in open.iter_mut().enumerate() {
            *open &= lengths(simd, self.word(number), length);
        }
    }

    /// Sets `matching` to the texts of `open` that a probe accepts, and `possible` to the texts that need a full
    /// comparison.
    ///
    /// Samples are taken by code for any processor. Code for newer processors would use gather instructions,
    /// which are much slower.
    pub(super) fn each<L: BytesProbe>(
        self,
        open: &[u64],
        (matching, possible): (&mut [u64], &mut [u64]),
        probe: &L,
    ) {
        for (number, ((open, matching), possible)) in open.iter().zip(matching).zip(possible).enumerate() {
            (*matching, *possible) = (0, *open);
            if open.count_ones() <= FEW {
                continue;
            }
            let offsets = self.word(number);
            let mut samples = [0; 64];
            if let Some((texts, length)) = self.alike(offsets) {
                let each = samples.iter_mut().zip(texts.chunks_exact(length));
                each.for_each(|(sample, text)| *sample = probe.sample((text, 0, length)));
            } else if L::IS_FOR_ANY_LENGTH {
                for ((sample, start), end) in samples.iter_mut().zip(offsets).zip(&offsets[1..]) {
                    let (start, end) = (start.as_usize(), end.as_usize());
                    *sample = probe.sample((self.bytes, start, end.saturating_sub(start)));
                }
            } else {
                continue;
            }
            let (all, some) = dispatch!(Level::new(), simd => verdicts(simd, &samples, probe));
            (*matching, *possible) = (all & open, some & open);
        }
    }

    /// Returns the offsets of the texts of a word.
    #[inline]
    fn word(self, number: usize) -> &'t [O] {
        &self.offsets[number * 64..self.offsets.len().min(number * 64 + 65)]
    }

    /// Returns the bytes and the length of texts that all have the same length, as ids have. The position of
    /// each text is then known without its offset.
    #[allow(clippy::needless_bitwise_bool, reason = "branchless, so that many lengths are compared at once")]
    fn alike(self, offsets: &[O]) -> Option<(&'t [u8], usize)> {
        let [first, second, .., last] = offsets else { return None };
        let length = *second - *first;
        let is_alike =
            offsets.iter().zip(&offsets[1..]).fold(true, |all, (start, end)| all & (*end - *start == length));
        if !is_alike || length.as_usize() < HEAD {
            return None;
        }
        // Without `max` the compiler cannot tell that no text is shorter, and would check each of them.
        Some((&self.bytes[first.as_usize()..last.as_usize()], length.as_usize().max(HEAD)))
    }
}

/// Returns the samples whose verdict is `Yes`, and the samples whose verdict is `Maybe`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn verdicts<S: Simd>(simd: S, samples: &[u64; 64], probe: &impl BytesProbe) -> (u64, u64) {
    let mut verdicts = [0; 64];
    verdicts.iter_mut().zip(samples).for_each(|(verdict, sample)| *verdict = probe.verdict(*sample) as u8);
    (bits_of(simd, &verdicts, Verdict::Yes as u8), bits_of(simd, &verdicts, Verdict::Maybe as u8))
}

/// Returns the texts, up to 64, that have `length` bytes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled once for each kind of processor, inside its caller")]
fn lengths<S: Simd, O: OffsetSizeTrait>(simd: S, offsets: &[O], length: O) -> u64 {
    let mut flags = [0; 64];
    let texts = flags.iter_mut().zip(offsets).zip(offsets.iter().skip(1));
    texts.for_each(|((flag, start), end)| *flag = u8::from(*end - *start == length));
    bits_of(simd, &flags, 1)
}
