//! Writes an attribute index.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

use ahash::RandomState;
use roaring::RoaringBitmap;

use super::key_spans;
use super::layout::{ATTRIBUTE_INDEX, AttributeColumn};
use crate::index::{SectionKind, SectionWriter};

/// The alignment of a key's ordinals and codes: the size of their widest form.
const ALIGNMENT: usize = 8;

/// The attributes of a segment in file order.
#[derive(Debug, Default)]
pub(super) struct SortedAttributes<'v> {
    /// The keys, sorted by name.
    pub(super) keys: Vec<SortedKey<'v>>,
    pub(super) resources: Resources,
    /// The number of spans.
    pub(super) ordinals: usize,
    /// For each row, the position of its run root among its spans, plus 1; 0 if the trace has no spans.
    pub(super) roots: Vec<u32>,
    /// The ordinals of spans that have a key beyond the limit.
    pub(super) beyond: RoaringBitmap,
}

/// A key with its values sorted.
#[derive(Debug)]
pub(super) struct SortedKey<'v> {
    pub(super) name: String,
    pub(super) values: Vec<Cow<'v, [u8]>>,
    /// The ordinals of spans that have the key.
    pub(super) ordinals: Vec<u32>,
    /// The value number of each of these spans.
    pub(super) codes: Vec<u32>,
    pub(super) rows: RoaringBitmap,
}

/// The distinct resources of spans, in the order of their first use. Resources with the same attributes are
/// one.
#[derive(Debug, Default)]
pub(super) struct Resources {
    /// The code of each resource by its number in the source.
    known: HashMap<u32, u32, RandomState>,
    /// The code of each distinct list of (key, value) pairs.
    codes: HashMap<Box<[u32]>, u32, RandomState>,
    starts: Vec<u64>,
    pairs: Vec<u32>,
    by_ordinal: Vec<u32>,
}

impl Resources {
    /// Appends the resource of the next span. `number` identifies it in its source; `pairs` returns its (key,
    /// value) pairs.
    pub(super) fn push(&mut self, number: u32, pairs: impl FnOnce() -> Vec<u32>) {
        let Self { known, codes, starts, pairs: all, by_ordinal } = self;
        let code = *known.entry(number).or_insert_with(|| {
            let pairs = pairs();
            let next = u32::try_from(codes.len()).unwrap_or(u32::MAX);
            *codes.entry(pairs.into()).or_insert_with_key(|pairs| {
                starts.push(all.len() as u64);
                all.extend_from_slice(pairs);
                next
            })
        });
        by_ordinal.push(code);
    }

    fn write(mut self, writer: &mut SectionWriter<'_>) -> io::Result<()> {
        let column = AttributeColumn::Resources as usize;
        self.starts.push(self.pairs.len() as u64);
        writer.plain(column, SectionKind::Starts, self.starts)?;
        writer.plain(column, SectionKind::Order, self.pairs)?;
        writer.codes(column, &self.by_ordinal)
    }
}

impl SortedAttributes<'_> {
    /// Writes the index. [`super::AttributeIndex::open`] expects the same `source`.
    ///
    /// # Errors
    /// An error of `out`, or an error if there are 4 Gi spans or rows or more.
    pub(super) fn write(self, source: &str, out: &mut dyn io::Write) -> io::Result<()> {
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, "expected fewer than 2^32 spans");
        u32::try_from(self.ordinals).map_err(invalid)?;
        let rows = u32::try_from(self.roots.len()).map_err(invalid)?;
        let keys = &self.keys;
        let mut writer = SectionWriter::new(ATTRIBUTE_INDEX, out);
        write_texts(&mut writer, AttributeColumn::Names, keys.iter().map(|key| key.name.as_bytes()))?;
        let values = keys.iter().flat_map(|key| key.values.iter().map(|value| &value[..]));
        write_texts(&mut writer, AttributeColumn::Values, values)?;
        let firsts = std::iter::once(0).chain(keys.iter().scan(0, |first, key| {
            *first += u64::try_from(key.values.len()).unwrap_or(u64::MAX);
            Some(*first)
        }));
        writer.plain(AttributeColumn::Values as usize, SectionKind::Starts, firsts.collect::<Vec<u64>>())?;
        self.write_ordinals(&mut writer)?;
        write_codes(&mut writer, keys)?;
        write_bitmaps(&mut writer, AttributeColumn::Rows, keys.iter().map(|key| &key.rows))?;
        writer.plain(
            AttributeColumn::Rows as usize,
            SectionKind::Whole,
            keys.iter().map(|key| key.rows.len()).collect(),
        )?;
        self.resources.write(&mut writer)?;
        let roots = self.roots.iter().map(|root| i64::from(*root));
        writer.packed(AttributeColumn::Roots as usize, SectionKind::Whole, roots)?;
        write_bitmaps(&mut writer, AttributeColumn::Beyond, std::iter::once(&self.beyond))?;
        writer.finish(source, rows)
    }

    /// Writes the ordinals of each key and their number.
    fn write_ordinals(&self, writer: &mut SectionWriter<'_>) -> io::Result<()> {
        let (mut content, mut offsets) = (Vec::new(), vec![0_u64]);
        for key in &self.keys {
            key_spans::write(key.ordinals.iter().copied(), self.ordinals, &mut content);
            content.resize(content.len().next_multiple_of(ALIGNMENT), 0);
            offsets.push(content.len() as u64);
        }
        let column = AttributeColumn::Ordinals as usize;
        writer.plain(column, SectionKind::Values, content)?;
        writer.plain(column, SectionKind::Offsets, offsets)?;
        let counts = self.keys.iter().map(|key| key.ordinals.len() as u64).collect();
        writer.plain(column, SectionKind::Whole, counts)
    }
}

/// Writes texts and their offsets.
fn write_texts<'t>(
    writer: &mut SectionWriter<'_>,
    column: AttributeColumn,
    texts: impl Iterator<Item = &'t [u8]>,
) -> io::Result<()> {
    let (mut content, mut offsets) = (Vec::new(), vec![0_u64]);
    for text in texts {
        content.extend_from_slice(text);
        offsets.push(content.len() as u64);
    }
    writer.plain(column as usize, SectionKind::Values, content)?;
    writer.plain(column as usize, SectionKind::Offsets, offsets)
}

fn write_bitmaps<'b>(
    writer: &mut SectionWriter<'_>,
    column: AttributeColumn,
    bitmaps: impl Iterator<Item = &'b RoaringBitmap>,
) -> io::Result<()> {
    let (mut content, mut offsets) = (Vec::new(), vec![0_u64]);
    for bitmap in bitmaps {
        bitmap.serialize_into(&mut content)?;
        offsets.push(content.len() as u64);
    }
    writer.plain(column as usize, SectionKind::Values, content)?;
    writer.plain(column as usize, SectionKind::Offsets, offsets)
}

/// Writes the value codes of each key, as narrow as its number of values allows. A key with a single value
/// needs no codes.
fn write_codes(writer: &mut SectionWriter<'_>, keys: &[SortedKey<'_>]) -> io::Result<()> {
    let (mut content, mut offsets, mut widths) = (Vec::<u8>::new(), Vec::new(), Vec::new());
    for key in keys {
        let width: u8 = match key.values.len() {
            0..=1 => 0,
            2..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        content.resize(content.len().next_multiple_of(ALIGNMENT), 0);
        offsets.push(content.len() as u64);
        widths.push(width);
        let bytes = key.codes.iter().map(|code| code.to_le_bytes());
        bytes.for_each(|bytes| content.extend_from_slice(&bytes[..width.into()]));
    }
    let column = AttributeColumn::Codes as usize;
    writer.plain(column, SectionKind::Values, content)?;
    writer.plain(column, SectionKind::Offsets, offsets)?;
    writer.plain(column, SectionKind::Whole, widths)
}
