//! How an index lies in bytes: sections one after another, then a table of them, then a tail.
//!
//! ```text
//! section, padded to 64 bytes | ... | table (JSON) | its length, 8 bytes | its CRC32C, 4 bytes | magic, 8 bytes
//! ```
//!
//! Numbers are little endian. The table says where each section stands, how wide its numbers are, and
//! its checksum; the checksums of a column are compared when the column is first asked about.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use serde::{Deserialize, Serialize};

use super::packed::Ints;
use crate::schema::Field;

/// Another number is another format, and such an index is built anew.
const FORMAT: u32 = 2;
const MAGIC: &[u8; 8] = b"SPANIDX\n";
/// What stands after the table.
const TAIL: usize = 20;
/// How many fields hold dictionary-coded text; they are the first ones in the table of fields.
pub(super) const TEXT_COLUMNS: usize = Field::TraceId as usize;
/// Sections begin at a multiple of this.
const ALIGNMENT: usize = 64;

/// What a section holds of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Piece {
    /// The distinct texts, sorted, one after another; or the ids of the rows.
    Values,
    /// Where each of them begins; where documents begin.
    Offsets,
    /// A code a row; the length of each document.
    Codes,
    /// Where the rows of each code begin in the order.
    Starts,
    /// The rows in the order of their values.
    Order,
    /// The codes that have a bitmap.
    FrequentCodes,
    /// Their bitmaps, one after another.
    FrequentBits,
    /// A number a row; the decoded size of each document.
    Whole,
    /// The least and the greatest number of every block of rows.
    Zones,
    /// One byte: whether the texts have no upper case and nothing beyond ASCII.
    LowerCase,
}

#[derive(Debug, Serialize, Deserialize)]
struct Section {
    column: usize,
    piece: Piece,
    offset: usize,
    bytes: usize,
    crc32c: u32,
    /// Bytes of one number.
    width: u8,
    /// What is added to each number.
    base: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Table {
    format: u32,
    identity: String,
    rows: u32,
    sections: Vec<Section>,
}

/// Writes the sections of an index.
pub(super) struct Writer<'a> {
    out: &'a mut dyn io::Write,
    offset: usize,
    sections: Vec<Section>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn io::Write) -> Self {
        Self { out, offset: 0, sections: Vec::new() }
    }

    /// Writes numbers, or bytes, as they are.
    pub(super) fn plain<T: ArrowNativeType>(
        &mut self,
        column: usize,
        piece: Piece,
        values: Vec<T>,
    ) -> io::Result<()> {
        let buffer = Buffer::from_vec(values);
        self.section(column, piece, (buffer.as_slice(), size_of::<T>(), 0))
    }

    /// Writes numbers as what each is above the least, as narrow as they fit.
    pub(super) fn narrow(
        &mut self,
        column: usize,
        piece: Piece,
        values: impl Iterator<Item = i64> + Clone,
    ) -> io::Result<()> {
        let base = values.clone().min().unwrap_or_default();
        let above = values.map(|value| value.wrapping_sub(base).cast_unsigned());
        self.above(column, piece, base, above)
    }

    /// Writes codes, as narrow as they fit.
    pub(super) fn codes(&mut self, column: usize, codes: &[u32]) -> io::Result<()> {
        self.above(column, Piece::Codes, 0, codes.iter().map(|code| u64::from(*code)))
    }

    fn above(
        &mut self,
        column: usize,
        piece: Piece,
        base: i64,
        above: impl Iterator<Item = u64> + Clone,
    ) -> io::Result<()> {
        let span = above.clone().max().unwrap_or_default();
        let width = [1, 2, 4].into_iter().find(|width| span >> (8 * width) == 0).unwrap_or(8);
        let mut bytes = Vec::new();
        above.for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()[..width]));
        self.section(column, piece, (&bytes, width, base))
    }

    fn section(
        &mut self,
        column: usize,
        piece: Piece,
        (bytes, width, base): (&[u8], usize, i64),
    ) -> io::Result<()> {
        self.out.write_all(bytes)?;
        let width = u8::try_from(width).unwrap_or(u8::MAX);
        let (offset, crc32c) = (self.offset, crc32c::crc32c(bytes));
        self.sections.push(Section { column, piece, offset, bytes: bytes.len(), crc32c, width, base });
        let padded = bytes.len().next_multiple_of(ALIGNMENT);
        self.out.write_all(&[0; ALIGNMENT][..padded - bytes.len()])?;
        self.offset += padded;
        Ok(())
    }

    /// Writes the table, after which the index is whole.
    pub(super) fn finish(self, identity: &str, rows: u32) -> io::Result<()> {
        let table = Table { format: FORMAT, identity: identity.to_owned(), rows, sections: self.sections };
        let text = serde_json::to_vec(&table)?;
        self.out.write_all(&text)?;
        self.out.write_all(&(text.len() as u64).to_le_bytes())?;
        self.out.write_all(&crc32c::crc32c(&text).to_le_bytes())?;
        self.out.write_all(MAGIC)
    }
}

/// The sections of an opened index.
#[derive(Debug)]
pub(super) struct Sections {
    content: Buffer,
    table: Table,
    /// The columns that were compared with their checksums, as a set.
    verified: AtomicU32,
}

impl Sections {
    /// Reads the table; `None` if there is none for `identity`, or it names what is not there.
    pub(super) fn open(content: Buffer, identity: &str) -> Option<Self> {
        let bytes = content.as_slice();
        let (rest, tail) = bytes.split_at_checked(bytes.len().checked_sub(TAIL)?)?;
        let length = u64::from_le_bytes(tail[..8].try_into().ok()?);
        let checksum = u32::from_le_bytes(tail[8..12].try_into().ok()?);
        let start = rest.len().checked_sub(usize::try_from(length).ok()?)?;
        let text = &rest[start..];
        if &tail[12..] != MAGIC || crc32c::crc32c(text) != checksum {
            return None;
        }
        let table: Table = serde_json::from_slice(text).ok()?;
        let is_inside = |section: &Section| {
            let end = section.offset.checked_add(section.bytes);
            section.offset.is_multiple_of(ALIGNMENT) && end.is_some_and(|end| end <= start)
        };
        let is_ours = table.format == FORMAT && table.identity == identity;
        (is_ours && table.sections.iter().all(is_inside)).then(|| Self {
            content,
            table,
            verified: AtomicU32::new(0),
        })
    }

    pub(super) fn rows(&self) -> u32 {
        self.table.rows
    }

    pub(super) fn bytes(&self) -> u64 {
        self.content.len() as u64
    }

    /// Whether the sections of these columns match their checksums.
    pub(super) fn are_sound(&self, columns: u32) -> bool {
        let mut missing = columns & !self.verified.load(Ordering::Acquire);
        while missing != 0 {
            let column = missing.trailing_zeros() as usize;
            let own = self.table.sections.iter().filter(|section| section.column == column);
            if !own.into_iter().all(|section| crc32c::crc32c(self.slice(section)) == section.crc32c) {
                return false;
            }
            self.verified.fetch_or(1 << column, Ordering::AcqRel);
            missing &= missing - 1;
        }
        true
    }

    fn slice(&self, section: &Section) -> &[u8] {
        &self.content.as_slice()[section.offset..section.offset + section.bytes]
    }

    fn section(&self, column: usize, piece: Piece) -> Option<&Section> {
        self.table.sections.iter().find(|section| section.column == column && section.piece == piece)
    }

    /// Returns a section as bytes.
    pub(super) fn buffer(&self, column: usize, piece: Piece) -> Option<Buffer> {
        let section = self.section(column, piece)?;
        Some(self.content.slice_with_length(section.offset, section.bytes))
    }

    /// Returns a section as numbers that lie there as they are.
    pub(super) fn plain<T: ArrowNativeType>(&self, column: usize, piece: Piece) -> Option<ScalarBuffer<T>> {
        let section = self.section(column, piece)?;
        let is_whole = usize::from(section.width) == size_of::<T>() && section.bytes % size_of::<T>() == 0;
        is_whole.then(|| self.content.slice_with_length(section.offset, section.bytes).into())
    }

    /// Returns a section of `count` narrow numbers.
    pub(super) fn ints(&self, column: usize, piece: Piece, count: usize) -> Option<Ints> {
        let section = self.section(column, piece)?;
        let buffer = self.content.slice_with_length(section.offset, section.bytes);
        let is_whole = count.checked_mul(usize::from(section.width)) == Some(section.bytes);
        Ints::new(buffer, section.width, section.base).filter(|_| is_whole)
    }
}
