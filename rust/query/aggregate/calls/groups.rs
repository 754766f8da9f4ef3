//! The groups of model calls, and the pass that counts the calls of each.

use std::cmp::Reverse;

use ahash::HashMap;

use crate::bitmap::{LiveRows, RowBlock};
use crate::error::Result;
use crate::query::aggregate::calls::made::{CallReader, Models, PartCalls};
use crate::query::aggregate::calls::measure::CallSums;
use crate::query::aggregate::parts::{Chunk, Part, chunks};
use crate::query::aggregate::passes::CHUNKS_PER_THREAD;
use crate::query::aggregate::plan::{Subset, subsets_of_calls};
use crate::query::aggregate::request::Aggregation;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::{fold_rounds, threads};

/// What a number of a response takes, with its comma, and a name of a model beside its groups.
const NUMBER_BYTES: usize = 64;
const GROUP_BYTES: usize = 1_024;

/// The calls of the selected traces, and the groups that they are in.
pub(in crate::query::aggregate) struct CallGroups {
    calls: Vec<PartCalls>,
    models: Models,
    pub(in crate::query::aggregate) kept: KeptModels,
    /// By number of a model: its group, the last one if it has none of its own.
    slots: Vec<usize>,
    /// The traces of each `where`, those of none first, and for each measure which they are.
    pub(in crate::query::aggregate) subsets: Vec<Subset>,
    pub(super) of_measures: Vec<usize>,
}

/// The models that have a group of their own.
#[derive(Debug, Default)]
pub(in crate::query::aggregate) struct KeptModels {
    /// Their names, those of most calls first; `None` is that of calls that name none.
    pub(in crate::query::aggregate) names: Vec<Option<String>>,
    /// How many models have calls.
    pub(in crate::query::aggregate) total: usize,
}

impl KeptModels {
    /// Returns at most `limit` models, from all that have calls with their numbers.
    pub(in crate::query::aggregate) fn of(mut counted: Vec<(Option<String>, u64)>, limit: usize) -> Self {
        counted.sort_by(|(one, calls), (other, other_calls)| {
            let key = |name: &Option<String>, calls: u64| (Reverse(calls), name.is_none());
            key(one, *calls).cmp(&key(other, *other_calls)).then_with(|| one.cmp(other))
        });
        let total = counted.len();
        Self { names: counted.into_iter().take(limit).map(|(name, _)| name).collect(), total }
    }
}

/// Sums of every group, by subset and slot.
pub(in crate::query::aggregate) type SumsBySubset = Vec<Vec<CallSums>>;

impl CallGroups {
    /// Finds the calls of the selected rows of `parts`, and their groups.
    ///
    /// # Errors
    /// [`crate::error::Error::TooLarge`] if too many documents would have to be read, [`crate::error::Error::Cancelled`].
    pub(in crate::query::aggregate) fn new(
        parts: &[Part],
        aggregation: &Aggregation,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let groups = Self::read(parts, aggregation, cancel)?;
        let counted = groups.counted(parts, cancel)?;
        Ok(groups.keeping(KeptModels::of(counted, aggregation.by_model.unwrap_or_default())))
    }

    /// Finds the calls of the selected rows of `parts`, each model in a group of its own.
    ///
    /// # Errors
    /// As [`CallGroups::new`].
    pub(in crate::query::aggregate) fn read(
        parts: &[Part],
        aggregation: &Aggregation,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let documents: Result<Vec<usize>> = parts.iter().map(Part::documents_of_calls).collect();
        cancel.expect_few(documents?.into_iter().sum())?;
        let (calls, models) = PartCalls::of(parts, cancel)?;
        let (subsets, of_measures) = subsets_of_calls(aggregation);
        let slots = (0..models.names.len()).collect();
        Ok(Self { calls, models, kept: KeptModels::default(), slots, subsets, of_measures })
    }

    /// Returns the models that have calls, while each is in a group of its own, with their numbers.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(in crate::query::aggregate) fn counted(
        &self,
        parts: &[Part],
        cancel: &CancellationToken,
    ) -> Result<Vec<(Option<String>, u64)>> {
        let mut sums = vec![CallSums::default(); self.models.names.len()];
        self.fold(parts, &chunks(parts, None), (&[], cancel), |_, chunk| merge(&mut sums, &chunk[0]))?;
        let counted = self.models.names.iter().zip(sums).filter(|(_, sums)| sums.has_calls());
        Ok(counted.map(|(name, sums)| (name.clone(), sums.calls)).collect())
    }

    /// Returns these calls in the groups of the kept models, and one of all others.
    pub(in crate::query::aggregate) fn keeping(self, kept: KeptModels) -> Self {
        let slots: HashMap<&Option<String>, usize> = kept.names.iter().zip(0..).collect();
        let other = kept.names.len();
        let slots = self.models.names.iter().map(|name| slots.get(name).copied().unwrap_or(other)).collect();
        Self { kept, slots, ..self }
    }

    /// Returns the memory that so many groups take at most, in bytes, with the response.
    pub(in crate::query::aggregate) fn max_bytes(
        &self,
        groups: usize,
        buckets: usize,
        measures: usize,
    ) -> usize {
        let calls: usize = self.calls.iter().map(PartCalls::bytes).sum();
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
    pub(in crate::query::aggregate) fn fold(
        &self,
        parts: &[Part],
        chunks: &[Chunk],
        (rows, cancel): (&[Vec<LiveRows>], &CancellationToken),
        mut fold: impl FnMut(usize, SumsBySubset),
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
