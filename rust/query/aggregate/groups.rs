//! The groups of an aggregation: the top values of each field, and the group of each row.
//!
//! Every row has a slot: the position of its value among the top values, or the last position for all other values.
//! With two fields, the slot is the position in the product of both.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::bitmap::RowBlock;
use crate::error::Result;
use crate::query::aggregate::parts::Part;
use crate::query::aggregate::request::By;
use crate::query::aggregate::texts::{CodeMap, PartCode, UsedTexts, merge, used_texts};
use crate::query::cancellation::CancellationToken;
use crate::schema::Field;

/// The groups of the selected rows.
pub(super) struct Groups {
    pub(super) fields: Vec<GroupedField>,
}

/// The top values of one field, which have groups of their own.
pub(super) struct GroupedField {
    pub(super) field: Field,
    /// The top values, most rows first; `None` stands for rows without a value.
    pub(super) values: Vec<Option<String>>,
    /// The number of all values, including a missing one.
    pub(super) total: usize,
    /// The position of each code among the top values, by part.
    positions: Vec<CodeMap>,
}

/// A value with its number of rows. The greatest candidate comes first: most rows, then the least text. A missing value
/// comes last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<'a> {
    rows: u64,
    text: Reverse<(bool, &'a [u8])>,
}

impl Groups {
    /// Finds the groups of the selected rows of `parts`.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn new(parts: &[Part], by: &[By], cancel: &CancellationToken) -> Result<Self> {
        let fields = by.iter().map(|by| GroupedField::new(parts, *by, cancel));
        Ok(Self { fields: fields.collect::<Result<_>>()? })
    }

    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        self.fields.iter().map(GroupedField::positions).product()
    }

    /// Writes the slot of each of `rows` to `slots`. `codes` is scratch space.
    pub(super) fn slots_of(
        &self,
        part: (usize, &Part),
        rows: &RowBlock<'_>,
        slots: &mut Vec<u32>,
        codes: &mut Vec<u32>,
    ) {
        slots.clear();
        for field in &self.fields {
            codes.clear();
            part.1.columns.decode_codes(field.field, rows, codes);
            field.positions[part.0].map(codes);
            if slots.is_empty() {
                slots.append(codes);
            } else {
                let width = u32::try_from(field.positions()).unwrap_or(u32::MAX);
                slots
                    .iter_mut()
                    .zip(codes.iter())
                    .for_each(|(slot, position)| *slot = *slot * width + position);
            }
        }
    }

    /// Returns the slot of one row.
    pub(super) fn slot_of(&self, part: (usize, &Part), row: u32) -> usize {
        let position = |field: &GroupedField| {
            field.positions[part.0].number(part.1.columns.text_code(field.field, row)) as usize
        };
        self.fields.iter().fold(0, |slot, field| slot * field.positions() + position(field))
    }

    /// Returns the position of a slot's value among the top values of each field; `None` if it is beyond the limit.
    pub(super) fn positions_of(&self, slot: usize) -> Vec<Option<usize>> {
        let mut rest = slot;
        let mut positions: Vec<Option<usize>> = self
            .fields
            .iter()
            .rev()
            .map(|field| {
                let position = rest % field.positions();
                rest /= field.positions();
                (position < field.values.len()).then_some(position)
            })
            .collect();
        positions.reverse();
        positions
    }

    /// Returns the memory that the groups take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.fields.iter().flat_map(|field| &field.positions).map(CodeMap::bytes).sum()
    }
}

impl GroupedField {
    /// Returns a field with these top values, of `total` values. It has no rows yet.
    pub(super) fn of_values(field: Field, values: Vec<Option<String>>, total: usize) -> Self {
        Self { field, values, total, positions: Vec::new() }
    }

    /// Returns this field with the rows of `parts`, which use the texts in `used`.
    pub(super) fn in_parts(mut self, parts: &[Part], used: &[UsedTexts]) -> Self {
        let others = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        let map = |(part, used): (&Part, &UsedTexts)| {
            let code = |value: &Option<String>| {
                let Some(value) = value else { return Some(part.columns.distinct(self.field)) };
                let text = |code: u32| part.columns.text_of_code(self.field, code);
                let index = used.counts.binary_search_by(|(code, _)| text(*code).cmp(value.as_bytes()));
                index.ok().map(|position| used.counts[position].0)
            };
            let positions = self.values.iter().zip(0..);
            let mut positions: Vec<(u32, u32)> =
                positions.filter_map(|(value, position)| Some((code(value)?, position))).collect();
            positions.sort_unstable();
            CodeMap::new(part, self.field, positions, others)
        };
        self.positions = parts.iter().zip(used).map(map).collect();
        self
    }

    fn new(parts: &[Part], by: By, cancel: &CancellationToken) -> Result<Self> {
        let used = used_texts(parts, by.field, cancel)?;
        let mut top: BinaryHeap<Reverse<(Candidate<'_>, Vec<PartCode>)>> = BinaryHeap::new();
        let mut total = 0;
        let missing: u64 = used.iter().map(|used| used.missing).sum();
        let codes_of_missing = (0..parts.len()).map(|part| (part, parts[part].columns.distinct(by.field)));
        if missing > 0 {
            let candidate = Candidate { rows: missing, text: Reverse((true, &[])) };
            top.push(Reverse((candidate, codes_of_missing.collect())));
            total += 1;
        }
        // The texts live as long as the parts, so candidates can reference the index.
        let text_of = |(part, code): PartCode| parts[part].columns.text_of_code(by.field, code);
        merge(parts, by.field, &used, cancel, |_, codes, rows| {
            total += 1;
            let Some(first) = codes.first() else { return };
            let candidate = Candidate { rows, text: Reverse((false, text_of(*first))) };
            if top.len() < by.limit {
                top.push(Reverse((candidate, codes.to_vec())));
            } else if let Some(mut least) = top.peek_mut()
                && least.0.0 < candidate
            {
                *least = Reverse((candidate, codes.to_vec()));
            }
        })?;
        let top = top.into_sorted_vec();
        let mut positions: Vec<Vec<(u32, u32)>> = vec![Vec::new(); parts.len()];
        let mut values = Vec::with_capacity(top.len());
        for (position, Reverse((candidate, codes))) in (0u32..).zip(top) {
            let Reverse((is_missing, text)) = candidate.text;
            values.push((!is_missing).then(|| String::from_utf8_lossy(text).into_owned()));
            for (part, code) in codes {
                positions[part].push((code, position));
            }
        }
        let others = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let maps = parts.iter().zip(positions).map(|(part, mut positions)| {
            positions.sort_unstable();
            CodeMap::new(part, by.field, positions, others)
        });
        Ok(Self { field: by.field, values, total, positions: maps.collect() })
    }

    /// Returns the number of positions: the top values, and one for all other values if there are any.
    fn positions(&self) -> usize {
        self.values.len() + usize::from(self.total > self.values.len())
    }
}
