//! Builds the index of a segment's attributes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

use ahash::RandomState;
use roaring::RoaringBitmap;

use super::layout::{MAX_KEYS, indexed_key, name_of};
use super::value::encode;
use super::write::{Resources, SortedAttributes, SortedKey};
use crate::error::Result;
use crate::otlp::span_ref::{AttributeRef, ValueRef, attributes_of_resource};
use crate::trace::view::{Scope, TraceView};

/// What a distinct value or resource takes beside its bytes, and what a span takes for each of its attributes, in bytes.
const BYTES_PER_VALUE: usize = 64;
const BYTES_PER_ENTRY: usize = 8;
/// The resource of a span, and the run root of a row.
const BYTES_PER_PLACE: usize = 4;
const BYTES_PER_ROW: usize = 4;

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
        let known = [Scope::Span, Scope::Resource].into_iter().zip(std::mem::take(&mut self.known));
        let mut names: Vec<(String, u32)> = known
            .flat_map(|(scope, keys)| keys.into_iter().map(move |(key, code)| (name_of(scope, &key), code)))
            .collect();
        names.sort_unstable();
        let mut order = vec![0; names.len()];
        let mut keys = Vec::with_capacity(names.len());
        let mut codes = Vec::with_capacity(names.len());
        for (at, (name, key)) in (0..).zip(names) {
            order[key as usize] = at;
            let (sorted, code_of) = std::mem::take(&mut self.keys[key as usize]).sorted(name);
            keys.push(sorted);
            codes.push(code_of);
        }
        let mut resources = Resources::default();
        let in_order = |(key, value): &(u32, u32)| {
            let key = order[*key as usize];
            [key, codes[key as usize][*value as usize]]
        };
        for resource in &self.resource_codes {
            let (values, _) = &self.resource_values[*resource as usize];
            resources.push(*resource, || values.iter().flat_map(in_order).collect());
        }
        let (places, roots, beyond) = (self.places, self.roots, self.beyond);
        SortedAttributes { keys, resources, places, roots, beyond }.write(source, out)
    }
}

impl KeyBuilder {
    /// Returns the key with its values in order, and the number there of each value by that in the order in which it came.
    fn sorted(self, name: String) -> (SortedKey<'static>, Vec<u32>) {
        let mut values: Vec<(Box<[u8]>, u32)> = self.values.into_iter().collect();
        values.sort_unstable();
        let mut code_of = vec![0; values.len()];
        for (at, (_, came)) in (0..).zip(&values) {
            code_of[*came as usize] = at;
        }
        let codes = self.codes.into_iter().map(|code| code_of[code as usize]).collect();
        let values = values.into_iter().map(|(value, _)| Cow::Owned(value.into_vec())).collect();
        (SortedKey { name, values, places: self.places, codes, rows: self.rows }, code_of)
    }
}
