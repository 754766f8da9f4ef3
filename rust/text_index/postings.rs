//! Lists of postings: the rows of a token, and the channels it is in.
//!
//! A posting is one number of variable length (LEB128): `(row - row before) << 3 | channels`. A list is ascending by row; a
//! row may be there more than once.

use crate::trace::view::Channel;

/// How many channels there are.
pub(super) const CHANNELS: usize = 3;
/// All channels.
pub(super) const ANY: u8 = 0b111;

/// Returns a channel as a bit, or several.
pub(super) fn channel_bits(channel: Channel) -> u8 {
    match channel {
        Channel::Input => 0b001,
        Channel::Output => 0b010,
        Channel::Error => 0b100,
        Channel::Any => ANY,
    }
}

/// Appends a number of variable length.
#[allow(clippy::cast_possible_truncation, reason = "seven bits")]
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7F {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number of variable length from the beginning of `bytes`, which must have one.
pub(super) fn take_number(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    for (index, byte) in bytes.iter().enumerate() {
        number |= u64::from(byte & 0x7F) << shift;
        if *byte <= 0x7F {
            *bytes = &bytes[index + 1..];
            return number;
        }
        shift += 7;
    }
    *bytes = &[];
    number
}

/// A list that is written.
#[derive(Debug, Default)]
pub(super) struct PostingList {
    bytes: Vec<u8>,
    postings: usize,
    last_row: u32,
}

impl PostingList {
    /// Appends a posting; its row is not less than the last one.
    pub(super) fn push(&mut self, row: u32, channels: u8) {
        push_number(&mut self.bytes, u64::from(row - self.last_row) << CHANNELS | u64::from(channels));
        self.postings += 1;
        self.last_row = row;
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.postings = 0;
        self.last_row = 0;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn postings(&self) -> usize {
        self.postings
    }
}

/// Reads a list: each row with its channels.
pub(super) struct Postings<'a> {
    bytes: &'a [u8],
    row: u64,
}

impl<'a> Postings<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, row: 0 }
    }
}

impl Iterator for Postings<'_> {
    type Item = (u32, u8);

    #[allow(clippy::cast_possible_truncation, reason = "rows have 32 bits, channels three")]
    fn next(&mut self) -> Option<(u32, u8)> {
        if self.bytes.is_empty() {
            return None;
        }
        let number = take_number(&mut self.bytes);
        self.row += number >> CHANNELS;
        Some((self.row as u32, number as u8 & ANY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let postings = [(0, 1), (0, 2), (1, 7), (16, 4), (1_000, 3), (u32::MAX, 1)];
        let mut list = PostingList::default();
        list.push(3, 1);
        list.clear();
        for (row, channels) in postings {
            list.push(row, channels);
        }
        assert_eq!(Postings::new(list.bytes()).collect::<Vec<_>>(), postings);
        assert_eq!(list.postings(), postings.len());
    }
}
