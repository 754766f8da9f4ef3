//! UUIDs with one posting, 16 bytes each, in ascending order.
//!
//! Most tokens with one posting are UUIDs. A piece with a letter after `f` is in no UUID, and dashes limit
//! the positions of a piece. Most words are therefore never searched here, and a piece of an id is compared
//! with binary digits.

use std::io;

use arrow_buffer::Buffer;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};

use super::postings::{ANY, CHANNELS, Posting};
use super::rows::ChannelRows;
use crate::index::PackedInts;
use crate::index::layout::{SectionKind, SectionWriter, Sections};
use crate::text::{ID_BYTES, ID_DIGITS, IdPiece, digit, id_at};

/// The length of a UUID in text form.
pub(super) const TEXT_BYTES: usize = 36;
/// The positions of its dashes. Source: RFC 9562, section 4.
const DASHES: [usize; 4] = [8, 13, 18, 23];
/// The number of UUIDs between two cancellation checks of a search.
const UUIDS_PER_CHECK: usize = 1 << 14;

/// Parses a UUID in lower case with its dashes.
pub(super) fn parse(token: &[u8]) -> Option<u128> {
    if token.len() != TEXT_BYTES {
        return None;
    }
    token.iter().enumerate().try_fold(0, |number, (position, byte)| match digit(*byte) {
        None if *byte == b'-' && DASHES.contains(&position) => Some(number),
        Some(digit) if !DASHES.contains(&position) => Some(number << 4 | u128::from(digit)),
        _ => None,
    })
}

/// Returns the text form of a UUID.
pub(super) fn text(uuid: u128) -> [u8; TEXT_BYTES] {
    let mut digits = (0..ID_DIGITS).rev().map(|position| (uuid >> (4 * position) & 0xF) as usize);
    std::array::from_fn(|position| {
        let digit = if DASHES.contains(&position) { None } else { digits.next() };
        digit.map_or(b'-', |digit| b"0123456789abcdef"[digit])
    })
}

/// Writes UUIDs, which are pushed in ascending order.
#[derive(Debug, Default)]
pub(super) struct UuidsWriter {
    uuids: Vec<u8>,
    postings: Vec<i64>,
}

impl UuidsWriter {
    pub(super) fn push(&mut self, uuid: u128, (row, channels): Posting) {
        self.uuids.extend_from_slice(&uuid.to_be_bytes());
        self.postings.push(i64::from(row) << CHANNELS | i64::from(channels));
    }

    /// Writes the UUIDs as a column.
    pub(super) fn write(self, column: usize, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.plain(column, SectionKind::Values, self.uuids)?;
        sections.packed(column, SectionKind::Codes, self.postings.into_iter())
    }
}

/// The UUIDs with one posting of an open index.
#[derive(Debug)]
pub(super) struct Uuids {
    bytes: Buffer,
    postings: PackedInts,
    count: usize,
}

impl Uuids {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let bytes = sections.buffer(column, SectionKind::Values)?;
        let count = bytes.len() / ID_BYTES;
        let postings = sections.packed(column, SectionKind::Codes, count)?;
        (bytes.len() % ID_BYTES == 0).then_some(Self { bytes, postings, count })
    }

    /// Returns the UUIDs in ascending order, each with its posting.
    pub(super) fn all(&self) -> impl Iterator<Item = (u128, Posting)> {
        (0..self.count).map(|index| (self.uuid(index), self.posting(index)))
    }

    /// Adds the rows that have a UUID with `piece` to sets. A zero byte at the start or the end of the piece
    /// matches the same end of the UUID. Returns `None` if the search was cancelled.
    pub(super) fn add_rows(
        &self,
        piece: &[u8],
        sets: &mut [ChannelRows],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<()> {
        let Some(piece) = piece_of_uuid(piece) else { return Some(()) };
        let level = Level::new();
        let (mut begin, mut end) = (0, self.count);
        if let Some((mask, digits)) = piece.prefix() {
            begin = self.partition_point(|uuid| uuid & mask < digits);
            end = self.partition_point(|uuid| uuid & mask <= digits);
        }
        for first in (begin..end).step_by(UUIDS_PER_CHECK) {
            if is_cancelled() {
                return None;
            }
            if sets.iter_mut().all(ChannelRows::is_full) {
                break;
            }
            let end = end.min(first + UUIDS_PER_CHECK);
            dispatch!(level, simd => self.add_some(simd, &piece, (first, end), sets));
        }
        Some(())
    }

    /// Adds the rows of the UUIDs in a range that have the piece.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is compiled once for each kind of processor, inside its caller"
    )]
    fn add_some<S: Simd>(&self, simd: S, piece: &IdPiece, some: (usize, usize), sets: &mut [ChannelRows]) {
        piece.find(simd, &self.bytes, some, |index| {
            let posting = self.posting(index);
            for set in &mut *sets {
                set.add_posting(posting);
            }
        });
    }

    fn uuid(&self, index: usize) -> u128 {
        id_at(&self.bytes, index)
    }

    #[allow(clippy::cast_possible_truncation, reason = "rows have 32 bits, channels three")]
    fn posting(&self, index: usize) -> Posting {
        let number = self.postings.get(index);
        ((number >> CHANNELS) as u32, number as u8 & ANY)
    }

    /// Returns the first UUID for which `is_before` is false. The predicate is monotonic.
    fn partition_point(&self, is_before: impl Fn(u128) -> bool) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.uuid(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// Converts a piece of a token to a piece of a UUID; `None` if it cannot be in a UUID.
fn piece_of_uuid(piece: &[u8]) -> Option<IdPiece> {
    let (begins, ends) = (piece.first() == Some(&0), piece.last() == Some(&0));
    let written = &piece[usize::from(begins)..piece.len() - usize::from(ends)];
    if !written.iter().all(|byte| *byte == b'-' || digit(*byte).is_some()) {
        return None;
    }
    let last = TEXT_BYTES.checked_sub(written.len())?;
    let is_dash = |position: usize| DASHES.contains(&position);
    let starts = (0..=last)
        .filter(|start| (!begins || *start == 0) && (!ends || *start == last))
        .filter(|start| {
            written.iter().zip(*start..).all(|(byte, position)| is_dash(position) == (*byte == b'-'))
        })
        .map(|start| start - DASHES.iter().filter(|dash| **dash < start).count());
    let digits: Vec<u8> = written.iter().filter_map(|byte| digit(*byte)).collect();
    IdPiece::of(&digits, starts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// UUIDs that have many digits in common.
    fn uuid() -> impl Strategy<Value = u128> {
        let digit = prop_oneof![Just(0_u128), Just(1), Just(0xA), 0..16_u128];
        prop::collection::vec(digit, ID_DIGITS)
            .prop_map(|digits| digits.into_iter().fold(0, |uuid, digit| uuid << 4 | digit))
    }

    fn written(uuid: u128) -> String {
        String::from_utf8(text(uuid).to_vec()).expect("ASCII")
    }

    #[test]
    fn only_the_usual_form_is_a_uuid() {
        let usual = "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1";
        assert_eq!(parse(usual.as_bytes()), Some(0x0F1E_2D3C_4B5A_4978_8695_A4B3_C2D1_E0F1));
        for other in [
            &usual[1..],
            &usual.replace('-', "0"),
            &usual.replace('f', "F"),
            &usual.replace('f', "g"),
            &usual.replace("3c-4", "3-c4"),
        ] {
            assert_eq!(parse(other.as_bytes()), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn a_uuid_is_read_as_it_is_written(uuid in any::<u128>()) {
            prop_assert_eq!(parse(&text(uuid)), Some(uuid));
        }

        #[test]
        fn the_uuids_that_contain_a_piece_are_found(
            uuids in prop::collection::btree_set(uuid(), 1..40),
            (chosen, start, length) in (any::<prop::sample::Index>(), 0..38_usize, 1..=38_usize),
            other in prop_oneof![4 => Just(None), 1 => "[01a-]{1,4}".prop_map(Some), 1 => "[0-9a-g-]{1,38}".prop_map(Some)],
        ) {
            let uuids: Vec<u128> = uuids.into_iter().collect();
            let bounded: Vec<String> = uuids.iter().map(|uuid| format!("\0{}\0", written(*uuid))).collect();
            let own = &chosen.get(&bounded)[start.min(37)..(start + length).min(38)];
            let piece = other.unwrap_or_else(|| own.to_owned());
            prop_assume!(!piece.trim_matches('\0').is_empty());
            let rows: Vec<u64> = (0..uuids.len() as u64).map(|row| row << CHANNELS | 1).collect();
            let bytes: Vec<u8> = uuids.iter().flat_map(|uuid| uuid.to_be_bytes()).collect();
            let index = Uuids { bytes: Buffer::from_vec(bytes), postings: PackedInts::of(&rows), count: uuids.len() };
            let mut sets = [ChannelRows::new(ANY, vec![u64::MAX])];
            index.add_rows(piece.as_bytes(), &mut sets, &|| false).expect("not cancelled");
            let [found] = sets.map(ChannelRows::into_words);
            let expected = bounded.iter().enumerate().filter(|(_, text)| text.contains(&piece));
            prop_assert_eq!(found, vec![expected.fold(0, |rows, (row, _)| rows | 1_u64 << row)], "{:?}", piece);
        }
    }
}
