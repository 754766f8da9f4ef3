//! The numbers of an aggregation on a leaf.

use std::sync::{Arc, PoisonError};

use super::leaves::{StepRequest, StepResponse, WholeAggregate};
use super::{AggregateRequest, AggregateResponse, Aggregation, PartialAggregation, PreparedAggregation};
use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::leaf::SnapshotLeaf;
use crate::query::messages::unexpected;

impl SnapshotLeaf<'_> {
    /// Returns the response to one step of an aggregation.
    pub(crate) fn aggregate(
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
            _ => return self.partial(aggregation, cancel)?.respond(request, cancel),
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

    /// Returns the aggregation of one leaf of several. Its rows are selected once per query.
    fn partial(
        self,
        aggregation: &Aggregation,
        cancel: &CancellationToken,
    ) -> Result<Arc<PartialAggregation>> {
        let known = self.cache.partial.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let leaf = Arc::new(PartialAggregation::new(self.snapshot, aggregation.clone(), cancel)?);
        *self.cache.partial.lock().unwrap_or_else(PoisonError::into_inner) = Some(leaf.clone());
        Ok(leaf)
    }
}
