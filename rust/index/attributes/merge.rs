//! Merges the attribute indexes of segments without reading documents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use arrow_buffer::ArrowNativeType as _;
use roaring::RoaringBitmap;

use super::AttributeIndex;
use super::layout::MAX_KEYS;
use super::write::{Resources, SortedAttributes, SortedKey};
use crate::index::MergedOrdinals;
use crate::priority;

/// Marks keys and values that no remaining span has.
const UNUSED: u32 = u32::MAX;

impl AttributeIndex {
    /// Writes the index of merged rows, byte for byte as their documents would give it. Returns `false` and
    /// writes nothing if there are keys beyond the limit.
    ///
    /// # Errors
    /// An error of `out`, or an error if there are 2^32 rows or more.
    pub fn merge(
        indexes: &[&Self],
        ordinals: &MergedOrdinals<'_>,
        source: &str,
        out: &mut dyn io::Write,
    ) -> io::Result<bool> {
        if indexes.iter().any(|index| !index.beyond.bitmap(0).is_empty()) {
            return Ok(false);
        }
        let mut inputs: Vec<Input<'_>> = indexes.iter().map(|index| Input::new(index)).collect();
        mark_resources(&mut inputs, ordinals);
        let mut by_name = BTreeMap::<&[u8], Vec<(usize, usize)>>::new();
        for (number, index) in indexes.iter().enumerate() {
            for key in 0..index.names.len() {
                by_name.entry(index.names.get(key)).or_default().push((number, key));
            }
        }
        let mut keys = Vec::new();
        for (name, own) in by_name {
            if let Some(key) = merged_key((name, keys.len()), &own, &mut inputs, ordinals) {
                keys.push(key);
            }
            priority::yield_cpu();
        }
        if keys.len() > MAX_KEYS {
            return Ok(false);
        }
        let root = |(input, row): (usize, usize)| {
            let root = indexes[input].roots.get(row);
            u32::try_from(root).unwrap_or(u32::MAX)
        };
        let merged = SortedAttributes {
            keys,
            resources: merged_resources(&inputs, ordinals),
            ordinals: ordinals.len(),
            roots: ordinals.rows().sources().map(root).collect(),
            beyond: RoaringBitmap::new(),
        };
        merged.write(source, out)?;
        Ok(true)
    }
}

/// One of the indexes to merge.
struct Input<'i> {
    index: &'i AttributeIndex,
    /// The merged number of each key.
    keys: Vec<u32>,
    /// The merged number of each value within its key. Until numbers are assigned, it is 0 for values in use.
    values: Vec<u32>,
}

impl<'i> Input<'i> {
    fn new(index: &'i AttributeIndex) -> Self {
        Self { index, keys: vec![UNUSED; index.names.len()], values: vec![UNUSED; index.values.len()] }
    }

    fn first_value(&self, key: usize) -> usize {
        self.index.first_values[key].as_usize()
    }

    /// Returns the pairs of a resource: a key, and the index of a value among all values.
    fn resource(&self, code: usize) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        let bounds = &self.index.resource_starts[code..code + 2];
        let pairs = self.index.resource_pairs[bounds[0].as_usize()..bounds[1].as_usize()].chunks_exact(2);
        pairs.map(|pair| (pair[0] as usize, self.first_value(pair[0] as usize) + pair[1] as usize))
    }
}

/// Marks the values in use by resources of remaining spans.
fn mark_resources(inputs: &mut [Input<'_>], ordinals: &MergedOrdinals<'_>) {
    let resources = |input: &Input<'_>| vec![false; input.index.resource_starts.len().saturating_sub(1)];
    let mut used: Vec<Vec<bool>> = inputs.iter().map(resources).collect();
    for (input, ordinal) in ordinals.sources() {
        used[input][inputs[input].index.resource_codes.code(ordinal) as usize] = true;
    }
    for (input, used) in inputs.iter_mut().zip(used) {
        let used = used.iter().enumerate().filter(|(_, is_used)| **is_used);
        let values: Vec<usize> =
            used.flat_map(|(code, _)| input.resource(code).map(|(_, value)| value)).collect();
        for value in values {
            input.values[value] = 0;
        }
    }
}

/// Merges a key that some inputs have under these numbers. Returns `None` if no remaining span has it.
fn merged_key<'i>(
    (name, number): (&[u8], usize),
    own: &[(usize, usize)],
    inputs: &mut [Input<'i>],
    ordinals: &MergedOrdinals<'_>,
) -> Option<SortedKey<'i>> {
    // The ordinal of each span, and the input and index of its value.
    let (mut spans, mut rows) = (Vec::new(), Vec::new());
    for (input, key) in own.iter().copied() {
        let Input { index, values, .. } = &mut inputs[input];
        let first = index.first_values[key].as_usize();
        let codes = index.codes_of(key);
        let entries = index.ordinals_of(key);
        for (at, ordinal) in entries.iter().flat_map(|entries| entries.iter()).enumerate() {
            let Some(target) = ordinals.target(input, ordinal) else { continue };
            let value = first + codes.as_ref().map_or(0, |codes| codes.code(at) as usize);
            values[value] = 0;
            spans.push((target, input, value));
        }
        rows.extend(index.rows.bitmap(key).iter().filter_map(|row| ordinals.rows().target(input, row)));
    }
    let values = number_values(own, inputs);
    if values.is_empty() {
        return None;
    }
    for (input, key) in own {
        inputs[*input].keys[*key] = u32::try_from(number).unwrap_or(UNUSED);
    }
    // The entries of each input ascend, so the sort is a merge.
    spans.sort_by_key(|(ordinal, ..)| *ordinal);
    rows.sort_unstable();
    Some(SortedKey {
        name: String::from_utf8_lossy(name).into_owned(),
        values,
        ordinals: spans.iter().map(|(ordinal, ..)| *ordinal).collect(),
        codes: spans.iter().map(|(_, input, value)| inputs[*input].values[*value]).collect(),
        rows: rows.into_iter().collect(),
    })
}

/// Numbers the values in use of a key and returns them sorted.
fn number_values<'i>(own: &[(usize, usize)], inputs: &mut [Input<'i>]) -> Vec<Cow<'i, [u8]>> {
    let mut used = Vec::new();
    for (input, key) in own.iter().copied() {
        let Input { index, values, .. } = &inputs[input];
        let index: &'i AttributeIndex = index;
        let of_key = index.first_values[key].as_usize()..index.first_values[key + 1].as_usize();
        let own = of_key.filter(|value| values[*value] != UNUSED);
        used.extend(own.map(|value| (index.values.get(value), input, value)));
    }
    used.sort();
    let mut distinct: Vec<Cow<'i, [u8]>> = Vec::new();
    for (value, input, number) in used {
        if distinct.last().is_none_or(|last| **last != *value) {
            distinct.push(Cow::Borrowed(value));
        }
        inputs[input].values[number] = u32::try_from(distinct.len() - 1).unwrap_or(UNUSED);
    }
    distinct
}

fn merged_resources(inputs: &[Input<'_>], ordinals: &MergedOrdinals<'_>) -> Resources {
    let before = inputs.iter().scan(0_u32, |sum, input| {
        let own = u32::try_from(input.index.resource_starts.len()).unwrap_or(u32::MAX);
        Some(std::mem::replace(sum, sum.saturating_add(own)))
    });
    let before: Vec<u32> = before.collect();
    let mut resources = Resources::default();
    for (number, ordinal) in ordinals.sources() {
        let input = &inputs[number];
        let code = input.index.resource_codes.code(ordinal);
        let pairs = || {
            let pairs = input.resource(code as usize);
            pairs.flat_map(|(key, value)| [input.keys[key], input.values[value]]).collect()
        };
        resources.push(before[number] + code, pairs);
    }
    resources
}
