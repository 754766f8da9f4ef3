//! The facets of a leaf, and the values of its fields for facets over several leaves.

use std::sync::{Arc, PoisonError};

use super::plan::FacetPlan;
use super::{CountFacetsRequest, CountFacetsResponse, FacetMemoryRequest, FacetMemoryResponse, FacetRequest};
use crate::error::Result;
use crate::index::columns::Projection;
use crate::query::aggregate::{ValueCounts, Values, ValuesRequest};
use crate::query::cancellation::CancellationToken;
use crate::query::leaf::SnapshotLeaf;
use crate::query::messages::unexpected;
use crate::query::rows::selection::select;
use crate::schema::Field;

impl SnapshotLeaf<'_> {
    /// Returns the facets of this leaf, or the memory that counting them takes.
    pub(crate) fn facets(
        self,
        request: &CountFacetsRequest,
        cancel: &CancellationToken,
    ) -> Result<CountFacetsResponse> {
        let plan = FacetPlan::new(self.snapshot, &self.query.filter, FacetRequest::of_message(request)?)?;
        if request.is_estimate {
            return Ok(CountFacetsResponse { bytes: plan.bytes()?, ..CountFacetsResponse::default() });
        }
        let (matched, facets) = plan.run(cancel)?;
        Ok(CountFacetsResponse { bytes: 0, matched, facets })
    }

    pub(crate) fn values(self, request: &ValuesRequest, cancel: &CancellationToken) -> Result<Values> {
        let field = Field::from_key(&request.field).ok_or_else(unexpected)?;
        let known = self.cache.values.lock().unwrap_or_else(PoisonError::into_inner).get(&field).cloned();
        if let Some(known) = known {
            return known.values(request, cancel);
        }
        let projection = Projection::SORT_KEY.and(field);
        let counts = if request.excludes_own {
            let rest = self.query.filter.without(field)?.ok_or_else(unexpected)?;
            ValueCounts::new(select(self.snapshot, &rest, projection, cancel)?, field, cancel)?
        } else {
            ValueCounts::new(self.selected(projection, cancel)?, field, cancel)?
        };
        let counts = Arc::new(counts);
        self.cache.values.lock().unwrap_or_else(PoisonError::into_inner).insert(field, counts.clone());
        counts.values(request, cancel)
    }

    pub(crate) fn facet_memory(
        self,
        request: &FacetMemoryRequest,
        cancel: &CancellationToken,
    ) -> Result<FacetMemoryResponse> {
        /// A value takes a code and a row count, and a text while it is sent and merged.
        const BYTES_PER_VALUE: usize = 96;
        let fields = request.fields.iter().map(|key| Field::from_key(key).ok_or_else(unexpected));
        let fields: Vec<Field> = fields.collect::<Result<_>>()?;
        let projection = fields.iter().copied().fold(Projection::SORT_KEY, Projection::and);
        let (mut bytes, mut matched) = (0, 0);
        for part in self.snapshot.parts() {
            let columns = part.columns(projection)?;
            // The selected rows of the whole filter, and of the filter without the conditions on each field.
            bytes += (fields.len() + 1) * part.count() / 8;
            for field in &fields {
                bytes += BYTES_PER_VALUE * part.count().min(columns.distinct(*field) as usize + 1);
            }
        }
        for selection in self.selected(projection, cancel)? {
            matched += selection.count as u64;
        }
        Ok(FacetMemoryResponse { bytes: bytes as u64, matched })
    }
}
