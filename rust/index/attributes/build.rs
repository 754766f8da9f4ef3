//! Builds the attribute index of a segment.

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
use crate::trace::view::{AttributeScope, TraceView};

/// The memory of a distinct value or resource in addition to its bytes, and of one attribute of a span, in
/// bytes.
const BYTES_PER_VALUE: usize = 64;
const BYTES_PER_ENTRY: usize = 8;
/// The memory of a span's resource code and of a row's run root, in bytes.
const BYTES_PER_ORDINAL: usize = 4;
const BYTES_PER_ROW: usize = 4;

/// Collects the attributes of a segment, row by row.
#[derive(Debug, Default)]
pub struct AttributeIndexBuilder {
    /// Key numbers by name: those for spans, then those for resources.
    known: [HashMap<Box<str>, u32, RandomState>; 2],
    keys: Vec<KeyBuilder>,
    resources: HashMap<Box<[u8]>, u32, RandomState>,
    /// For each resource: its attributes as (key, value) codes, and whether it has a key beyond the limit.
    resource_values: Vec<(Vec<(u32, u32)>, bool)>,
    resource_codes: Vec<u32>,
    roots: Vec<u32>,
    beyond: RoaringBitmap,
    ordinals: usize,
    value_bytes: usize,
    entries: usize,
    scratch: Vec<u8>,
}

/// The result of a key lookup.
#[derive(Debug, Clone, Copy)]
enum IndexedKey {
    /// The number of the key.
    Known(u32),
    /// The index already had [`MAX_KEYS`] other keys.
    Beyond,
}

/// The values, spans and rows of one key.
#[derive(Debug, Default)]
struct KeyBuilder {
    values: HashMap<Box<[u8]>, u32, RandomState>,
    ordinals: Vec<u32>,
    codes: Vec<u32>,
    rows: RoaringBitmap,
}

impl AttributeIndexBuilder {
    /// Returns the approximate memory use in bytes.
    pub fn bytes(&self) -> u64 {
        let ordinals = self.ordinals * BYTES_PER_ORDINAL + self.roots.len() * BYTES_PER_ROW;
        (self.value_bytes + self.entries * BYTES_PER_ENTRY + ordinals) as u64
    }

    /// Adds the next row; `None` if its document is unreadable.
    pub fn add(&mut self, view: Option<&TraceView<'_>>) {
        // As in the span table, a trace has no ordinals if one of its spans cannot be decoded.
        let is_sound =
            |view: &&TraceView<'_>| (0..view.len()).all(|ordinal| view.attributes(ordinal).is_ok());
        let row = u32::try_from(self.roots.len()).unwrap_or(u32::MAX);
        let view = view.filter(is_sound);
        let root = view.and_then(TraceView::run_root).map_or(0, |root| root + 1);
        self.roots.push(u32::try_from(root).unwrap_or(u32::MAX));
        if let Some(view) = view {
            // Every span was decoded above, so no error can occur.
            let _read = (0..view.len()).try_for_each(|ordinal| self.add_span(view, ordinal, row));
        }
    }

    fn add_span(&mut self, view: &TraceView<'_>, ordinal: usize, row: u32) -> Result<()> {
        let own = u32::try_from(self.ordinals).unwrap_or(u32::MAX);
        self.ordinals += 1;
        for attribute in view.attributes(ordinal)? {
            let key = match self.key_of(AttributeScope::Span, attribute) {
                Some(IndexedKey::Known(key)) => key,
                Some(IndexedKey::Beyond) => {
                    self.beyond.insert(own);
                    continue;
                }
                None => continue,
            };
            // The first value of a repeated key counts.
            if self.keys[key as usize].ordinals.last() == Some(&own) {
                continue;
            }
            let code = self.value_of(key, attribute.value);
            let column = &mut self.keys[key as usize];
            column.ordinals.push(own);
            column.codes.push(code);
            column.rows.insert(row);
            self.entries += 1;
        }
        let resource = self.resource_of(view.resource(ordinal));
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
    fn key_of(&mut self, scope: AttributeScope, attribute: &AttributeRef<'_>) -> Option<IndexedKey> {
        Some(self.key_named(scope as usize, indexed_key(attribute)?))
    }

    fn key_named(&mut self, scope: usize, key: &str) -> IndexedKey {
        let known = &mut self.known[scope];
        if let Some(code) = known.get(key) {
            return IndexedKey::Known(*code);
        }
        if self.keys.len() == MAX_KEYS {
            return IndexedKey::Beyond;
        }
        let code = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.value_bytes += 2 * key.len() + size_of::<KeyBuilder>() + BYTES_PER_VALUE;
        known.insert(key.into(), code);
        self.keys.push(KeyBuilder::default());
        IndexedKey::Known(code)
    }

    fn value_of(&mut self, key: u32, value: ValueRef<'_>) -> u32 {
        encode(value, &mut self.scratch);
        match self.keys[key as usize].values.get(self.scratch.as_slice()) {
            Some(code) => *code,
            None => self.value_coded(key, self.scratch.as_slice().into()),
        }
    }

    /// Returns the number of a value of a key.
    fn value_coded(&mut self, key: u32, value: Box<[u8]>) -> u32 {
        let values = &mut self.keys[key as usize].values;
        let (next, bytes) = (u32::try_from(values.len()).unwrap_or(u32::MAX), value.len());
        let code = *values.entry(value).or_insert(next);
        if code == next {
            self.value_bytes += 2 * bytes + BYTES_PER_VALUE;
        }
        code
    }

    fn resource_of(&mut self, resource: &[u8]) -> u32 {
        if let Some(code) = self.resources.get(resource) {
            return *code;
        }
        let (mut values, mut is_beyond) = (Vec::<(u32, u32)>::new(), false);
        for attribute in attributes_of_resource(resource).filter_map(std::result::Result::ok) {
            match self.key_of(AttributeScope::Resource, &attribute) {
                Some(IndexedKey::Known(key)) if !values.iter().any(|(own, _)| *own == key) => {
                    values.push((key, self.value_of(key, attribute.value)));
                }
                Some(IndexedKey::Beyond) => is_beyond = true,
                Some(IndexedKey::Known(_)) | None => {}
            }
        }
        self.resource_coded(resource.into(), || (values, is_beyond))
    }

    /// Returns the number of a resource. `values` returns its keys and values, and whether it has a key
    /// beyond the limit.
    fn resource_coded(
        &mut self,
        resource: Box<[u8]>,
        values: impl FnOnce() -> (Vec<(u32, u32)>, bool),
    ) -> u32 {
        let (next, bytes) = (u32::try_from(self.resource_values.len()).unwrap_or(u32::MAX), resource.len());
        let code = *self.resources.entry(resource).or_insert(next);
        if code == next {
            let (values, is_beyond) = values();
            self.value_bytes += bytes + 8 * values.len() + BYTES_PER_VALUE;
            self.resource_values.push((values, is_beyond));
        }
        code
    }

    /// Appends the rows of another builder, as if they had been added to this one.
    ///
    /// Returns `false` if there are keys beyond the limit, because the combined index would then differ. The
    /// builder must not be used after that.
    #[must_use]
    pub fn append(&mut self, later: Self) -> bool {
        let Some(keys) = self.keys_of(&later) else { return false };
        let mut values = Vec::with_capacity(keys.len());
        for (key, later) in keys.iter().zip(later.keys) {
            values.push(self.append_key(*key, later));
        }
        let here = |(key, value): (u32, u32)| (keys[key as usize], values[key as usize][value as usize]);
        let resources = in_order(later.resources).into_iter().zip(later.resource_values);
        let resources: Vec<u32> = resources
            .map(|(resource, (pairs, _))| {
                self.resource_coded(resource, || (pairs.into_iter().map(here).collect(), false))
            })
            .collect();
        self.resource_codes.extend(later.resource_codes.into_iter().map(|code| resources[code as usize]));
        self.ordinals += later.ordinals;
        self.roots.extend(later.roots);
        true
    }

    /// Returns this builder's number for each key of another builder; `None` if there are keys beyond the
    /// limit.
    fn keys_of(&mut self, later: &Self) -> Option<Vec<u32>> {
        let mut keys = vec![0; later.keys.len()];
        let mut names: Vec<(u32, usize, &str)> = Vec::with_capacity(keys.len());
        for (scope, known) in later.known.iter().enumerate() {
            names.extend(known.iter().map(|(name, key)| (*key, scope, &**name)));
        }
        names.sort_unstable();
        for (key, scope, name) in names {
            let IndexedKey::Known(own) = self.key_named(scope, name) else { return None };
            keys[key as usize] = own;
        }
        later.beyond.is_empty().then_some(keys)
    }

    /// Appends a key of another builder. Returns this builder's number for each of its values.
    fn append_key(&mut self, key: u32, later: KeyBuilder) -> Vec<u32> {
        let values: Vec<u32> =
            in_order(later.values).into_iter().map(|value| self.value_coded(key, value)).collect();
        let first_ordinal = u32::try_from(self.ordinals).unwrap_or(u32::MAX);
        let first_row = u32::try_from(self.roots.len()).unwrap_or(u32::MAX);
        let own = &mut self.keys[key as usize];
        self.entries += later.ordinals.len();
        own.ordinals.extend(later.ordinals.into_iter().map(|ordinal| ordinal.saturating_add(first_ordinal)));
        own.codes.extend(later.codes.into_iter().map(|code| values[code as usize]));
        own.rows.extend(later.rows.into_iter().map(|row| row.saturating_add(first_row)));
        values
    }

    /// Writes the index. [`super::AttributeIndex::open`] expects the same `source`.
    ///
    /// # Errors
    /// An error of `out`, or an error if there are 4 Gi spans or rows or more.
    pub fn finish(mut self, source: &str, out: &mut dyn io::Write) -> io::Result<()> {
        let known =
            [AttributeScope::Span, AttributeScope::Resource].into_iter().zip(std::mem::take(&mut self.known));
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
        let (ordinals, roots, beyond) = (self.ordinals, self.roots, self.beyond);
        SortedAttributes { keys, resources, ordinals, roots, beyond }.write(source, out)
    }
}

/// Returns the keys of a map in the order of their numbers, which start at 0 without gaps.
fn in_order(numbered: HashMap<Box<[u8]>, u32, RandomState>) -> Vec<Box<[u8]>> {
    let mut in_order = vec![Box::default(); numbered.len()];
    for (key, number) in numbered {
        in_order[number as usize] = key;
    }
    in_order
}

impl KeyBuilder {
    /// Returns the key with its values sorted, and a map from insertion order to sorted order.
    fn sorted(self, name: String) -> (SortedKey<'static>, Vec<u32>) {
        let mut values: Vec<(Box<[u8]>, u32)> = self.values.into_iter().collect();
        values.sort_unstable();
        let mut code_of = vec![0; values.len()];
        for (at, (_, came)) in (0..).zip(&values) {
            code_of[*came as usize] = at;
        }
        let codes = self.codes.into_iter().map(|code| code_of[code as usize]).collect();
        let values = values.into_iter().map(|(value, _)| Cow::Owned(value.into_vec())).collect();
        (SortedKey { name, values, ordinals: self.ordinals, codes, rows: self.rows }, code_of)
    }
}
