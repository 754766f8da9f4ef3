//! The groups of model calls, and the pass that counts the calls of each.

use std::cmp::Reverse;

use super::super::parts::{Chunk, Part, chunks};
use super::super::passes::CHUNKS_PER_THREAD;
use super::super::plan::{Subset, subsets_of_calls};
use super::super::request::Aggregation;
use super::made::{CallReader, Models, PartCalls};
use super::measure::CallSums;
use crate::error::Result;
use crate::index::{LiveRows, RowBlock};
use crate::search::cancellation::CancellationToken;
use crate::search::pool::{fold_rounds, threads};

/// What a number of a response takes, with its comma, and a name of a model beside its groups.
const NUMBER_BYTES: usize = 64;
const GROUP_BYTES: usize = 1_024;

/// The calls of the selected traces, and the groups that they are in.
pub(in crate::search::aggregate) struct CallGroups {
    calls: Vec<PartCalls>,
    pub(super) models: Models,
    /// The models with a group of their own, those of most calls first.
    pub(super) kept: Vec<u32>,
    /// By number of a model: its group, the last one if it has none of its own.
    slots: Vec<usize>,
    /// How many models have calls.
    pub(super) total: usize,
    /// The traces of each `where`, those of none first, and for each measure which they are.
    pub(super) subsets: Vec<Subset>,
    pub(super) of_measures: Vec<usize>,
}

/// Sums of every group, by subset and slot.
pub(super) type Sums = Vec<Vec<CallSums>>;

impl CallGroups {
    /// Finds the calls of the selected rows of `parts`, and their groups.
    ///
    /// # Errors
    /// [`crate::error::Error::TooLarge`] if too many documents would have to be read, [`crate::error::Error::Cancelled`].
    pub(in crate::search::aggregate) fn new(
        parts: &[Part],
        aggregation: &Aggregation,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let documents: Result<Vec<usize>> = parts.iter().map(Part::documents_of_calls).collect();
        cancel.expect_few(documents?.into_iter().sum())?;
        let (calls, models) = PartCalls::of(parts, cancel)?;
        let (subsets, of_measures) = subsets_of_calls(aggregation);
        let slots = (0..models.names.len()).collect();
        let mut groups = Self { calls, models, kept: Vec::new(), slots, total: 0, subsets, of_measures };
        let mut sums = vec![CallSums::default(); groups.models.names.len()];
        let whole = chunks(parts, None);
        groups.fold(parts, &whole, (&[], cancel), |_, chunk| merge(&mut sums, &chunk[0]))?;
        let mut counted: Vec<u32> = (0..).take(sums.len()).collect();
        counted.retain(|model| sums[*model as usize].has_calls());
        let name = |model: u32| groups.models.names[model as usize].as_deref();
        counted.sort_by_key(|model| {
            (Reverse(sums[*model as usize].calls), name(*model).is_none(), name(*model))
        });
        groups.total = counted.len();
        counted.truncate(aggregation.by_model.unwrap_or_default());
        let other = counted.len();
        groups.slots = vec![other; groups.models.names.len()];
        for (slot, model) in counted.iter().enumerate() {
            groups.slots[*model as usize] = slot;
        }
        groups.kept = counted;
        Ok(groups)
    }

    /// Returns the memory that is taken at most, in bytes, with the response.
    pub(in crate::search::aggregate) fn max_bytes(&self, buckets: usize, measures: usize) -> usize {
        let calls: usize = self.calls.iter().map(PartCalls::bytes).sum();
        let groups = self.kept.len() + 1;
        let sums = self.subsets.len()
            * groups
            * size_of::<CallSums>()
            * (buckets + 2 + threads() * CHUNKS_PER_THREAD);
        calls
            + self.models.bytes()
            + size_of_val(self.slots.as_slice())
            + sums
            + groups * (GROUP_BYTES + NUMBER_BYTES * measures * (buckets + 1))
    }

    /// Calls `fold` with the bucket of each chunk and the sums of its calls; `rows` are those of every subset but the first.
    pub(super) fn fold(
        &self,
        parts: &[Part],
        chunks: &[Chunk],
        (rows, cancel): (&[Vec<LiveRows>], &CancellationToken),
        mut fold: impl FnMut(usize, Sums),
    ) -> Result<()> {
        let readers: Vec<CallReader<'_>> = self.calls.iter().map(PartCalls::reader).collect();
        let slots = self.slots.iter().max().map_or(1, |last| last + 1);
        let of_chunk = |(_, chunk): (usize, &Chunk)| {
            cancel.check()?;
            let mut sums = vec![vec![CallSums::default(); slots]; rows.len() + 1];
            for (part, window) in &chunk.windows {
                let mut visit = |row: u32| {
                    readers[*part].for_each(row, |model, counted, cost| {
                        let slot = self.slots[model as usize];
                        sums[0][slot].add(counted, cost);
                        for (sums, rows) in sums[1..].iter_mut().zip(rows) {
                            if rows[*part].contains(row) {
                                sums[slot].add(counted, cost);
                            }
                        }
                    });
                };
                parts[*part].rows.for_each_block(window.clone(), |rows| match rows {
                    RowBlock::Range(range) => range.clone().for_each(&mut visit),
                    RowBlock::List(rows) => rows.iter().copied().for_each(&mut visit),
                });
            }
            Ok((chunk.bucket, sums))
        };
        fold_rounds(chunks, CHUNKS_PER_THREAD, of_chunk, |(bucket, sums)| fold(bucket, sums))
    }
}

/// Adds sums.
pub(super) fn merge(sums: &mut [CallSums], others: &[CallSums]) {
    sums.iter_mut().zip(others).for_each(|(sum, other)| sum.merge(other));
}
