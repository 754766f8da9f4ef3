//! Builds the index of a segment's attributes.

use std::collections::HashMap;
use std::io;

use ahash::RandomState;
use roaring::RoaringBitmap;

use super::layout::{ATTRIBUTE_INDEX, Column, MAX_KEYS, indexed_key, name_of};
use super::places;
use super::value::encode;
use crate::error::Result;
use crate::index::{SectionKind, SectionWriter};
use crate::otlp::span_ref::{AttributeRef, ValueRef, attributes_of_resource};
use crate::trace::view::{Scope, TraceView};

/// What a distinct value or resource takes beside its bytes, and what a span takes for each of its attributes, in bytes.
const BYTES_PER_VALUE: usize = 64;
const BYTES_PER_ENTRY: usize = 8;
/// The resource of a span, and the run root of a row.
const BYTES_PER_PLACE: usize = 4;
const BYTES_PER_ROW: usize = 4;
/// Places and codes of a key begin at multiples of this, which is that of their widest form.
const ALIGNMENT: usize = 8;

/// Collects the attributes of a segment, row by row.
#[derive(Debug, Default)]
pub struct AttributeIndexBuilder {
    /// The numbers of the keys of spans, and of those of resources.
    known: [HashMap<Box<str>, u32, RandomState>; 2],
    keys: Vec<KeyBuilder>,
    resources: HashMap<Box<[u8]>, u32, RandomState>,
    /// By resource: the key and the value of each attribute, as codes; whether it has a key beyond the limit.
    resource_values: Vec<(Vec<(u32, u32)>, bool)>,
    resource_codes: Vec<u32>,
    roots: Vec<u32>,
    beyond: RoaringBitmap,
    places: usize,
    value_bytes: usize,
    entries: usize,
    scratch: Vec<u8>,
}

/// A key that an index can have.
#[derive(Debug, Clone, Copy)]
enum Key {
    /// Its number.
    Known(u32),
    /// There were too many before it.
    Beyond,
}

/// What is collected of one key.
#[derive(Debug, Default)]
struct KeyBuilder {
    values: HashMap<Box<[u8]>, u32, RandomState>,
    places: Vec<u32>,
    codes: Vec<u32>,
    rows: RoaringBitmap,
}

impl AttributeIndexBuilder {
    /// Returns about how many bytes of memory it takes.
    pub fn bytes(&self) -> u64 {
        let places = self.places * BYTES_PER_PLACE + self.roots.len() * BYTES_PER_ROW;
        (self.value_bytes + self.entries * BYTES_PER_ENTRY + places) as u64
    }

    /// Adds the next row; `None` if its document could not be read.
    pub fn add(&mut self, view: Option<&TraceView<'_>>) {
        // As in the span table, a trace of which one span cannot be decoded has no places.
        let is_sound = |view: &&TraceView<'_>| (0..view.len()).all(|place| view.attributes(place).is_ok());
        let row = u32::try_from(self.roots.len()).unwrap_or(u32::MAX);
        let view = view.filter(is_sound);
        let root = view.and_then(TraceView::run_root).map_or(0, |root| root + 1);
        self.roots.push(u32::try_from(root).unwrap_or(u32::MAX));
        if let Some(view) = view {
            // Every span has been read above.
            let _read = (0..view.len()).try_for_each(|place| self.add_span(view, place, row));
        }
    }

    fn add_span(&mut self, view: &TraceView<'_>, place: usize, row: u32) -> Result<()> {
        let own = u32::try_from(self.places).unwrap_or(u32::MAX);
        self.places += 1;
        for attribute in view.attributes(place)? {
            let key = match self.key_of(Scope::Span, attribute) {
                Some(Key::Known(key)) => key,
                Some(Key::Beyond) => {
                    self.beyond.insert(own);
                    continue;
                }
                None => continue,
            };
            // The first value of a key counts.
            if self.keys[key as usize].places.last() == Some(&own) {
                continue;
            }
            let code = self.value_of(key, attribute.value);
            let column = &mut self.keys[key as usize];
            column.places.push(own);
            column.codes.push(code);
            column.rows.insert(row);
            self.entries += 1;
        }
        let resource = self.resource_of(view.resource(place));
        self.resource_codes.push(resource);
        let (values, is_beyond) = &self.resource_values[resource as usize];
        for (key, _) in values {
            self.keys[*key as usize].rows.insert(row);
        }
        if *is_beyond {
            self.beyond.insert(own);
        }
        Ok(())
    }

    /// Returns the number of a key; `None` if the key is not indexed or has no value.
    fn key_of(&mut self, scope: Scope, attribute: &AttributeRef<'_>) -> Option<Key> {
        let key = indexed_key(attribute)?;
        let known = &mut self.known[scope as usize];
        if let Some(code) = known.get(key) {
            return Some(Key::Known(*code));
        }
        if self.keys.len() == MAX_KEYS {
            return Some(Key::Beyond);
        }
        let code = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.value_bytes += 2 * key.len() + size_of::<KeyBuilder>() + BYTES_PER_VALUE;
        known.insert(key.into(), code);
        self.keys.push(KeyBuilder::default());
        Some(Key::Known(code))
    }

    fn value_of(&mut self, key: u32, value: ValueRef<'_>) -> u32 {
        encode(value, &mut self.scratch);
        let values = &mut self.keys[key as usize].values;
        if let Some(code) = values.get(self.scratch.as_slice()) {
            return *code;
        }
        let code = u32::try_from(values.len()).unwrap_or(u32::MAX);
        self.value_bytes += 2 * self.scratch.len() + BYTES_PER_VALUE;
        values.insert(self.scratch.as_slice().into(), code);
        code
    }

    fn resource_of(&mut self, resource: &[u8]) -> u32 {
        if let Some(code) = self.resources.get(resource) {
            return *code;
        }
        let (mut values, mut is_beyond) = (Vec::<(u32, u32)>::new(), false);
        for attribute in attributes_of_resource(resource).filter_map(std::result::Result::ok) {
            match self.key_of(Scope::Resource, &attribute) {
                Some(Key::Known(key)) if !values.iter().any(|(own, _)| *own == key) => {
                    values.push((key, self.value_of(key, attribute.value)));
                }
                Some(Key::Beyond) => is_beyond = true,
                Some(Key::Known(_)) | None => {}
            }
        }
        self.value_bytes += resource.len() + 8 * values.len() + BYTES_PER_VALUE;
        let code = u32::try_from(self.resource_values.len()).unwrap_or(u32::MAX);
        self.resources.insert(resource.into(), code);
        self.resource_values.push((values, is_beyond));
        code
    }

    /// Writes the index of what was added. [`super::AttributeIndex::open`] expects the same `source`.
    ///
    /// # Errors
    /// An error of `out`; more spans or rows than an index can hold, 4 Gi each.
    pub fn finish(mut self, source: &str, out: &mut dyn io::Write) -> io::Result<()> {
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, "expected fewer than 2^32 spans");
        u32::try_from(self.places).map_err(invalid)?;
        let rows = u32::try_from(self.roots.len()).map_err(invalid)?;
        let mut writer = SectionWriter::new(ATTRIBUTE_INDEX, out);
        let known = [Scope::Span, Scope::Resource].into_iter().zip(std::mem::take(&mut self.known));
        let mut names: Vec<(String, u32)> = known
            .flat_map(|(scope, keys)| keys.into_iter().map(move |(key, code)| (name_of(scope, &key), code)))
            .collect();
        names.sort_unstable();
        write_texts(&mut writer, Column::Names, names.iter().map(|(name, _)| name.as_bytes()))?;
        let mut order = vec![0; names.len()];
        let mut keys = Vec::with_capacity(names.len());
        for (at, (_, key)) in (0..).zip(&names) {
            order[*key as usize] = at;
            keys.push(std::mem::take(&mut self.keys[*key as usize]).sorted());
        }
        let values = keys.iter().flat_map(|key| key.values.iter().map(|value| &value[..]));
        write_texts(&mut writer, Column::Values, values)?;
        let firsts = std::iter::once(0).chain(keys.iter().scan(0, |first, key| {
            *first += u64::try_from(key.values.len()).unwrap_or(u64::MAX);
            Some(*first)
        }));
        writer.plain(Column::Values as usize, SectionKind::Starts, firsts.collect::<Vec<u64>>())?;
        self.write_places(&mut writer, &keys)?;
        write_codes(&mut writer, &keys)?;
        write_bitmaps(&mut writer, Column::Rows, keys.iter().map(|key| &key.rows))?;
        writer.plain(
            Column::Rows as usize,
            SectionKind::Whole,
            keys.iter().map(|key| key.rows.len()).collect(),
        )?;
        self.write_resources(&mut writer, &order, &keys)?;
        let roots = self.roots.iter().map(|root| i64::from(*root));
        writer.packed(Column::Roots as usize, SectionKind::Whole, roots)?;
        write_bitmaps(&mut writer, Column::Beyond, std::iter::once(&self.beyond))?;
        writer.finish(source, rows)
    }

    /// Writes the places of each key, and how many they are.
    fn write_places(&self, writer: &mut SectionWriter<'_>, keys: &[SortedKey]) -> io::Result<()> {
        let (mut content, mut offsets) = (Vec::new(), vec![0_u64]);
        for key in keys {
            places::write(key.places.iter().copied(), self.places, &mut content);
            content.resize(content.len().next_multiple_of(ALIGNMENT), 0);
            offsets.push(content.len() as u64);
        }
        let column = Column::Places as usize;
        writer.plain(column, SectionKind::Values, content)?;
        writer.plain(column, SectionKind::Offsets, offsets)?;
        let counts = keys.iter().map(|key| key.places.len() as u64).collect();
        writer.plain(column, SectionKind::Whole, counts)
    }

    /// Writes the resources: of each the places of its keys in the order of names, and the codes of its values.
    fn write_resources(
        &self,
        writer: &mut SectionWriter<'_>,
        order: &[u32],
        keys: &[SortedKey],
    ) -> io::Result<()> {
        let (mut starts, mut pairs) = (vec![0_u64], Vec::new());
        for (values, _) in &self.resource_values {
            for (key, value) in values {
                let key = order[*key as usize];
                pairs.extend([key, keys[key as usize].code_of[*value as usize]]);
            }
            starts.push(pairs.len() as u64);
        }
        let column = Column::Resources as usize;
        writer.plain(column, SectionKind::Starts, starts)?;
        writer.plain(column, SectionKind::Order, pairs)?;
        writer.codes(column, &self.resource_codes)
    }
}

/// A key with its values in order.
#[derive(Debug)]
struct SortedKey {
    values: Vec<Box<[u8]>>,
    /// By the number of a value in the order in which it came: its number here.
    code_of: Vec<u32>,
    places: Vec<u32>,
    codes: Vec<u32>,
    rows: RoaringBitmap,
}

impl KeyBuilder {
    fn sorted(self) -> SortedKey {
        let mut values: Vec<(Box<[u8]>, u32)> = self.values.into_iter().collect();
        values.sort_unstable();
        let mut code_of = vec![0; values.len()];
        for (at, (_, came)) in (0..).zip(&values) {
            code_of[*came as usize] = at;
        }
        let codes = self.codes.into_iter().map(|code| code_of[code as usize]).collect();
        let values = values.into_iter().map(|(value, _)| value).collect();
        SortedKey { values, code_of, places: self.places, codes, rows: self.rows }
    }
}

/// Writes texts, and where each begins.
fn write_texts<'t>(
    writer: &mut SectionWriter<'_>,
    column: Column,
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
    column: Column,
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

/// Writes the codes of each key, as narrow as its values allow: none where there is one value only.
fn write_codes(writer: &mut SectionWriter<'_>, keys: &[SortedKey]) -> io::Result<()> {
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
    let column = Column::Codes as usize;
    writer.plain(column, SectionKind::Values, content)?;
    writer.plain(column, SectionKind::Offsets, offsets)?;
    writer.plain(column, SectionKind::Whole, widths)
}
