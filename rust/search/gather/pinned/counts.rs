//! Values of fields, keys of attributes, and aggregations.

use std::sync::{Arc, PoisonError};

use super::PinnedSearch;
use crate::error::Result;
use crate::index::columns::Projection;
use crate::schema::Field;
use crate::search::aggregate::{
    AggregateShard, AnsweredAggregate, AskedAggregate, AskedValues, ValueCounts, Values,
};
use crate::search::attributes::count_keys;
use crate::search::cancellation::CancellationToken;
use crate::search::gather::wire::{
    AskedAttributeKeys, AskedFacetMemory, FacetMemory, KeysOfAttributes, unexpected,
};
use crate::search::selection::select;

impl PinnedSearch {
    pub(super) fn aggregate(
        &self,
        asked: &AskedAggregate,
        cancel: &CancellationToken,
    ) -> Result<AnsweredAggregate> {
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).aggregate.clone();
        if let Some(known) = known {
            return known.answer(asked, cancel);
        }
        let aggregation = self.aggregation.clone().ok_or_else(unexpected)?;
        let shard = Arc::new(AggregateShard::new(&self.snapshot, aggregation, cancel)?);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).aggregate = Some(shard.clone());
        shard.answer(asked, cancel)
    }

    pub(super) fn values(&self, asked: &AskedValues, cancel: &CancellationToken) -> Result<Values> {
        let field = Field::from_key(&asked.field).ok_or_else(unexpected)?;
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).values.get(&field).cloned();
        if let Some(known) = known {
            return known.values(asked, cancel);
        }
        let projection = Projection::SORT_KEY.and(field);
        let counts = if asked.excludes_own {
            let rest = self.filter.without(field)?.ok_or_else(unexpected)?;
            ValueCounts::new(select(&self.snapshot, &rest, projection, cancel)?, field, cancel)?
        } else {
            ValueCounts::new(self.selected(projection, cancel)?, field, cancel)?
        };
        let counts = Arc::new(counts);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).values.insert(field, counts.clone());
        counts.values(asked, cancel)
    }

    pub(super) fn facet_memory(
        &self,
        asked: &AskedFacetMemory,
        cancel: &CancellationToken,
    ) -> Result<FacetMemory> {
        /// A used value is a code and a number of rows; while it is sent and added up, a text, too.
        const BYTES_PER_VALUE: usize = 96;
        let fields = asked.fields.iter().map(|key| Field::from_key(key).ok_or_else(unexpected));
        let fields: Vec<Field> = fields.collect::<Result<_>>()?;
        let projection = fields.iter().copied().fold(Projection::SORT_KEY, Projection::and);
        let (mut bytes, mut matched) = (0, 0);
        for part in self.snapshot.parts() {
            let columns = part.columns(projection)?;
            // The selected rows, of the whole filter and without the conditions on each field.
            bytes += (fields.len() + 1) * part.count() / 8;
            for field in &fields {
                bytes += BYTES_PER_VALUE * part.count().min(columns.distinct(*field) as usize + 1);
            }
        }
        for selection in self.selected(projection, cancel)? {
            matched += selection.count as u64;
        }
        Ok(FacetMemory { bytes: bytes as u64, matched })
    }

    pub(super) fn attribute_keys(
        &self,
        asked: &AskedAttributeKeys,
        cancel: &CancellationToken,
    ) -> Result<KeysOfAttributes> {
        let counted = count_keys(&self.snapshot, &self.filter, &asked.prefix, cancel)?;
        let (matched, uncounted) = (counted.matched, counted.uncounted);
        let (keys, counts) = counted.counts.into_iter().unzip();
        Ok(KeysOfAttributes { keys, counts, matched, uncounted })
    }
}
