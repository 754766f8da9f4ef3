//! The numbers of an aggregation on a leaf.

use std::sync::{Arc, PoisonError};

use super::shards::{StepRequest, StepResponse, WholeAggregate};
use super::{AggregateLeaf, AggregateRequest, AggregateResponse, Aggregation, PreparedAggregation};
use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::leaf::SnapshotLeaf;
use crate::query::messages::unexpected;

impl SnapshotLeaf<'_> {
    /// Returns the response to one step of an aggregation.
    pub(in crate::query) fn aggregate(
        self,
        request: &AggregateRequest,
        cancel: &CancellationToken,
    ) -> Result<AggregateResponse> {
        let aggregation = self.query.aggregation.as_ref().ok_or_else(unexpected)?;
        let step = match request.step {
            Some(StepRequest::Prepare(_)) => {
                StepResponse::Memory(self.prepared(aggregation, cancel)?.max_bytes() as u64)
            }
            Some(StepRequest::Whole(_)) => {
                let result = self.prepared(aggregation, cancel)?.run(cancel)?;
                StepResponse::Whole(WholeAggregate { data: result.data, matched: result.matched })
            }
            _ => return self.share(aggregation, cancel)?.answer(request, cancel),
        };
        Ok(AggregateResponse { step: Some(step) })
    }

    /// Returns the aggregation of the only leaf. It is prepared once per query.
    fn prepared(
        self,
        aggregation: &Aggregation,
        cancel: &CancellationToken,
    ) -> Result<Arc<PreparedAggregation>> {
        let known = self.cache.prepared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let prepared = Arc::new(PreparedAggregation::new(self.snapshot, aggregation, cancel)?);
        *self.cache.prepared.lock().unwrap_or_else(PoisonError::into_inner) = Some(prepared.clone());
        Ok(prepared)
    }

    /// Returns the share of this leaf of several in an aggregation. Its rows are selected once per query.
    fn share(self, aggregation: &Aggregation, cancel: &CancellationToken) -> Result<Arc<AggregateLeaf>> {
        let known = self.cache.aggregate.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let leaf = Arc::new(AggregateLeaf::new(self.snapshot, aggregation.clone(), cancel)?);
        *self.cache.aggregate.lock().unwrap_or_else(PoisonError::into_inner) = Some(leaf.clone());
        Ok(leaf)
    }
}
