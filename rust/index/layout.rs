//! The binary layout of an index and of similar files: sections, a section table, and a tail.
//!
//! ```text
//! section, padded to 64 bytes | ... | table (JSON) | its length, 8 bytes | its CRC32C, 4 bytes | magic, 8 bytes
//! ```
//!
//! Numbers are little endian. The table records the offset of each section, the width of its numbers, and its
//! checksum. The checksums of a column are verified before its first use.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use serde::{Deserialize, Serialize};

use super::packed::{PackedInts, pack};
use crate::priority;
use crate::schema::{FIELDS, Field};

/// A type of section file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileKind {
    /// The last eight bytes of such a file.
    pub(crate) magic: [u8; 8],
    /// The version of the section contents. A file of another version is rebuilt.
    pub(crate) format: u32,
}

pub(super) const INDEX: FileKind = FileKind { magic: *b"SPANIDX\n", format: 5 };

/// The length of the tail after the table, in bytes.
const TAIL_BYTES: usize = 20;
/// The number of fields with dictionary-coded text, which are the first ones in the table of fields.
pub(super) const TEXT_COLUMNS: usize = Field::TraceId as usize;
/// The column of sessions, after the columns of the fields and of the documents.
pub(super) const SESSIONS_COLUMN: usize = FIELDS.len() + 1;
/// The alignment of sections, in bytes.
const ALIGNMENT: usize = 64;

/// The content of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SectionKind {
    /// The distinct texts, sorted and concatenated; or the ids of the rows.
    Values,
    /// The offset of each text; or the offset of each document.
    Offsets,
    /// A code per row; or the stored length of each document.
    Codes,
    /// The start of each code's rows in `Order`.
    Starts,
    /// The rows sorted by their values.
    Order,
    /// The codes that have a bitmap.
    FrequentCodes,
    /// The bitmaps of these codes, concatenated.
    FrequentBits,
    /// A number per row; or the decoded size of each document.
    Whole,
    /// The minimum and maximum of every zone of rows.
    Zones,
    /// One byte: 1 if all texts are ASCII without upper case.
    LowerCase,
    /// For each bit of the block signatures, a bitmap of the text blocks that have it.
    Signatures,
}

#[derive(Debug, Serialize, Deserialize)]
struct Section {
    column: usize,
    #[serde(rename = "piece")]
    kind: SectionKind,
    offset: usize,
    bytes: usize,
    crc32c: u32,
    /// The width of one number, in bytes.
    width: u8,
    /// The base that is added to each stored number.
    base: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct SectionTable {
    format: u32,
    identity: String,
    rows: u32,
    sections: Vec<Section>,
}

impl SectionTable {
    /// Returns the table at the end of a file, and its offset; `None` if it is damaged or of another type.
    fn at_end_of(kind: FileKind, bytes: &[u8]) -> Option<(Self, usize)> {
        let (rest, tail) = bytes.split_at_checked(bytes.len().checked_sub(TAIL_BYTES)?)?;
        let checksum = u32::from_le_bytes(tail[8..12].try_into().ok()?);
        let start = rest.len().checked_sub(table_bytes(bytes)?)?;
        let text = &rest[start..];
        if tail[12..] != kind.magic || crc32c::crc32c(text) != checksum {
            return None;
        }
        Some((serde_json::from_slice(text).ok()?, start))
    }

    fn is_of(&self, kind: FileKind, identity: &str) -> bool {
        self.format == kind.format && self.identity == identity
    }
}

/// Returns the length of the table according to the tail of a file.
fn table_bytes(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.get(bytes.len().checked_sub(TAIL_BYTES)?..)?;
    usize::try_from(u64::from_le_bytes(tail[..8].try_into().ok()?)).ok()
}

pub(crate) struct SectionWriter<'a> {
    out: &'a mut dyn io::Write,
    kind: FileKind,
    offset: usize,
    sections: Vec<Section>,
}

impl<'a> SectionWriter<'a> {
    pub(crate) fn new(kind: FileKind, out: &'a mut dyn io::Write) -> Self {
        Self { out, kind, offset: 0, sections: Vec::new() }
    }

    /// Writes numbers or bytes unchanged.
    pub(crate) fn plain<T: ArrowNativeType>(
        &mut self,
        column: usize,
        kind: SectionKind,
        values: Vec<T>,
    ) -> io::Result<()> {
        let buffer = Buffer::from_vec(values);
        self.section(column, kind, (buffer.as_slice(), size_of::<T>(), 0))
    }

    /// Writes integers as offsets from their minimum, as narrow as possible.
    pub(crate) fn packed(
        &mut self,
        column: usize,
        kind: SectionKind,
        values: impl Iterator<Item = i64> + Clone,
    ) -> io::Result<()> {
        let base = values.clone().min().unwrap_or_default();
        let offsets = values.map(|value| value.wrapping_sub(base).cast_unsigned());
        self.write_offsets(column, kind, base, offsets)
    }

    /// Writes codes, as narrow as possible.
    pub(crate) fn codes(&mut self, column: usize, codes: &[u32]) -> io::Result<()> {
        self.write_offsets(column, SectionKind::Codes, 0, codes.iter().map(|code| u64::from(*code)))
    }

    fn write_offsets(
        &mut self,
        column: usize,
        kind: SectionKind,
        base: i64,
        offsets: impl Iterator<Item = u64> + Clone,
    ) -> io::Result<()> {
        let (bytes, width) = pack(offsets);
        self.section(column, kind, (&bytes, width, base))
    }

    fn section(
        &mut self,
        column: usize,
        kind: SectionKind,
        (bytes, width, base): (&[u8], usize, i64),
    ) -> io::Result<()> {
        priority::yield_cpu();
        self.out.write_all(bytes)?;
        let width = u8::try_from(width).unwrap_or(u8::MAX);
        let (offset, crc32c) = (self.offset, crc32c::crc32c(bytes));
        self.sections.push(Section { column, kind, offset, bytes: bytes.len(), crc32c, width, base });
        let padded = bytes.len().next_multiple_of(ALIGNMENT);
        self.out.write_all(&[0; ALIGNMENT][..padded - bytes.len()])?;
        self.offset += padded;
        Ok(())
    }

    /// Writes the table and the tail, which complete the file.
    pub(crate) fn finish(self, identity: &str, rows: u32) -> io::Result<()> {
        let table = SectionTable {
            format: self.kind.format,
            identity: identity.to_owned(),
            rows,
            sections: self.sections,
        };
        let text = serde_json::to_vec(&table)?;
        self.out.write_all(&text)?;
        self.out.write_all(&(text.len() as u64).to_le_bytes())?;
        self.out.write_all(&crc32c::crc32c(&text).to_le_bytes())?;
        self.out.write_all(&self.kind.magic)
    }
}

/// An open section file.
#[derive(Debug)]
pub(crate) struct Sections {
    content: Buffer,
    table: SectionTable,
    /// The columns whose checksums have been verified, as a bit set.
    verified: AtomicU32,
}

impl Sections {
    /// Reads the section table.
    ///
    /// Returns `None` if it is damaged, of another type, built for another identity or refers to bytes
    /// outside the file.
    pub(crate) fn open(kind: FileKind, content: Buffer, identity: &str) -> Option<Self> {
        let (table, start) = SectionTable::at_end_of(kind, content.as_slice())?;
        let is_inside = |section: &Section| {
            let end = section.offset.checked_add(section.bytes);
            section.offset.is_multiple_of(ALIGNMENT) && end.is_some_and(|end| end <= start)
        };
        let is_ours = table.is_of(kind, identity);
        (is_ours && table.sections.iter().all(is_inside)).then(|| Self {
            content,
            table,
            verified: AtomicU32::new(0),
        })
    }

    /// Returns `true` if a file that ends with `end` can probably be opened for `identity`. Only the end is
    /// checked.
    pub(crate) fn may_end_with(kind: FileKind, end: &[u8], identity: &str) -> bool {
        let table = table_bytes(end);
        let is_beyond = table.is_some_and(|bytes| bytes > end.len().saturating_sub(TAIL_BYTES));
        is_beyond || SectionTable::at_end_of(kind, end).is_some_and(|(table, _)| table.is_of(kind, identity))
    }

    pub(crate) fn rows(&self) -> u32 {
        self.table.rows
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.content.len() as u64
    }

    pub(crate) fn content(&self) -> &[u8] {
        self.content.as_slice()
    }

    /// Returns `true` if the sections of these columns (a bit set) match their checksums.
    pub(crate) fn are_sound(&self, columns: u32) -> bool {
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

    fn section(&self, column: usize, kind: SectionKind) -> Option<&Section> {
        self.table.sections.iter().find(|section| section.column == column && section.kind == kind)
    }

    /// Returns a section as bytes.
    pub(crate) fn buffer(&self, column: usize, kind: SectionKind) -> Option<Buffer> {
        let section = self.section(column, kind)?;
        Some(self.content.slice_with_length(section.offset, section.bytes))
    }

    /// Returns a section of numbers that were written unchanged.
    pub(crate) fn plain<T: ArrowNativeType>(
        &self,
        column: usize,
        kind: SectionKind,
    ) -> Option<ScalarBuffer<T>> {
        let section = self.section(column, kind)?;
        let is_whole = usize::from(section.width) == size_of::<T>() && section.bytes % size_of::<T>() == 0;
        is_whole.then(|| self.content.slice_with_length(section.offset, section.bytes).into())
    }

    /// Returns the number of integers in a section.
    pub(crate) fn numbers(&self, column: usize, kind: SectionKind) -> Option<usize> {
        self.section(column, kind).map(|section| section.bytes / usize::from(section.width.max(1)))
    }

    /// Returns a section of `count` packed integers.
    pub(crate) fn packed(&self, column: usize, kind: SectionKind, count: usize) -> Option<PackedInts> {
        let section = self.section(column, kind)?;
        let buffer = self.content.slice_with_length(section.offset, section.bytes);
        let is_whole = count.checked_mul(usize::from(section.width)) == Some(section.bytes);
        PackedInts::new(buffer, section.width, section.base).filter(|_| is_whole)
    }
}
