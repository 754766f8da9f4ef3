//! The groups of model calls, and the pass that counts the calls of each group.

use std::cmp::Reverse;

use ahash::HashMap;

use crate::bitmap::{LiveRows, RowBlock};
use crate::error::Result;
use crate::query::aggregate::calls::measure::CallSums;
use crate::query::aggregate::calls::part_calls::{CallReader, Models, PartCalls};
use crate::query::aggregate::parts::{Chunk, Part, chunks};
use crate::query::aggregate::passes::CHUNKS_PER_THREAD;
use crate::query::aggregate::plan::{Subset, subsets_of_calls};
use crate::query::aggregate::request::Aggregation;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::{par_fold_chunked, threads};

/// The size of a number in a response with its comma, and of a group's model name and members.
const NUMBER_BYTES: usize = 64;
const GROUP_BYTES: usize = 1_024;

/// The model calls of the selected traces, and their groups.
pub(crate) struct CallGroups {
    calls: Vec<PartCalls>,
    models: Models,
    pub(crate) grouped: GroupedModels,
    /// The group of each model, by model number. Models without a group of their own have the last one.
    slots: Vec<usize>,
    /// The traces of each `where`, starting with all traces, and the subset of each measure.
    pub(crate) subsets: Vec<Subset>,
    pub(super) of_measures: Vec<usize>,
}

/// The models that have a group of their own.
#[derive(Debug, Default)]
pub(crate) struct GroupedModels {
    /// The names, most calls first; `None` stands for calls without a model.
    pub(crate) names: Vec<Option<String>>,
    /// The number of models with calls.
    pub(crate) total: usize,
}

impl GroupedModels {
    /// Returns at most `limit` models from all models with their numbers of calls.
    pub(crate) fn of(mut counted: Vec<(Option<String>, u64)>, limit: usize) -> Self {
        counted.sort_by(|(one, calls), (other, other_calls)| {
            let key = |name: &Option<String>, calls: u64| (Reverse(calls), name.is_none());
            key(one, *calls).cmp(&key(other, *other_calls)).then_with(|| one.cmp(other))
        });
        let total = counted.len();
        Self { names: counted.into_iter().take(limit).map(|(name, _)| name).collect(), total }
    }
}

/// The sums of every group, by subset and slot.
pub(crate) type SumsBySubset = Vec<Vec<CallSums>>;

impl CallGroups {
    /// Finds the calls of the selected rows of `parts`, and their groups.
    ///
    /// # Errors
    /// [`crate::error::Error::TooLarge`] if too many documents must be read; [`crate::error::Error::Cancelled`].
    pub(crate) fn new(parts: &[Part], aggregation: &Aggregation, cancel: &CancellationToken) -> Result<Self> {
        let groups = Self::read(parts, aggregation, cancel)?;
        let counted = groups.counted(parts, cancel)?;
        Ok(groups.with_groups(GroupedModels::of(counted, aggregation.by_model.unwrap_or_default())))
    }

    /// Finds the calls of the selected rows of `parts`, with each model in a group of its own.
    ///
    /// # Errors
    /// The errors of [`CallGroups::new`].
    pub(crate) fn read(
        parts: &[Part],
        aggregation: &Aggregation,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let documents: Result<Vec<usize>> = parts.iter().map(Part::documents_of_calls).collect();
        cancel.admit_checks(documents?.into_iter().sum())?;
        let (calls, models) = PartCalls::of(parts, cancel)?;
        let (subsets, of_measures) = subsets_of_calls(aggregation);
        let slots = (0..models.names.len()).collect();
        Ok(Self { calls, models, grouped: GroupedModels::default(), slots, subsets, of_measures })
    }

    /// Returns the models that have calls, with their numbers of calls. Each model must be in a group of its own.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn counted(
        &self,
        parts: &[Part],
        cancel: &CancellationToken,
    ) -> Result<Vec<(Option<String>, u64)>> {
        let mut sums = vec![CallSums::default(); self.models.names.len()];
        self.fold(parts, &chunks(parts, None), (&[], cancel), |_, chunk| merge(&mut sums, &chunk[0]))?;
        let counted = self.models.names.iter().zip(sums).filter(|(_, sums)| sums.has_calls());
        Ok(counted.map(|(name, sums)| (name.clone(), sums.calls)).collect())
    }

    /// Returns these calls in the groups of the given models, and one group for all other models.
    pub(crate) fn with_groups(self, grouped: GroupedModels) -> Self {
        let slots: HashMap<&Option<String>, usize> = grouped.names.iter().zip(0..).collect();
        let other = grouped.names.len();
        let slots = self.models.names.iter().map(|name| slots.get(name).copied().unwrap_or(other)).collect();
        Self { grouped, slots, ..self }
    }

    /// Returns the maximum memory of `groups` groups and their response, in bytes.
    pub(crate) fn max_bytes(&self, groups: usize, buckets: usize, measures: usize) -> usize {
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

    /// Calls `fold` with the bucket of each chunk and the sums of its calls. `rows` are the rows of every subset except
    /// the first.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn fold(
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
        par_fold_chunked(chunks, CHUNKS_PER_THREAD, of_chunk, |(bucket, sums)| fold(bucket, sums))
    }
}

pub(super) fn merge(sums: &mut [CallSums], others: &[CallSums]) {
    sums.iter_mut().zip(others).for_each(|(sum, other)| sum.merge(other));
}
