//! A leaf: the part of a query that runs on one snapshot of one store.
//!
//! Each kind of query adds its own responses in its `leaf.rs`. The root exchanges [`LeafRequest`]s and
//! [`LeafResponse`]s with its leaves: as values in one process, and through [`super::wire`] across processes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ahash::RandomState;

use crate::bitmap::{LiveRows, RowSet};
use crate::error::Result;
use crate::filter::{Filter, SpanFilter};
use crate::index::columns::Projection;
use crate::otlp::TraceId;
use crate::query::aggregate::{Aggregation, PartialAggregation, PreparedAggregation, ValueCounts};
use crate::query::cancellation::CancellationToken;
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};
use crate::query::rows::selection::{Selection, select};
use crate::query::spans::SpanCounts;
use crate::schema::Field;
use crate::storage::Snapshot;

/// The part of a query that every leaf needs.
#[derive(Debug, Clone)]
pub(crate) struct LeafQuery {
    /// The filter of the traces, without the condition on spans.
    pub(crate) filter: Filter,
    /// The filter that selects rows. If `spans` is set, it also requires a matching span.
    pub(crate) selecting: Filter,
    /// The condition on spans, if the rows of the query are spans.
    pub(crate) spans: Option<SpanFilter>,
    pub(crate) aggregation: Option<Aggregation>,
}

impl LeafQuery {
    pub(crate) fn new(filter: Filter) -> Self {
        Self { selecting: filter.clone(), filter, spans: None, aggregation: None }
    }

    /// Returns the query for the spans of these traces that match a condition.
    pub(crate) fn of_spans(filter: Filter, spans: SpanFilter) -> Self {
        Self { selecting: filter.with_span(&spans), filter, spans: Some(spans), aggregation: None }
    }

    pub(crate) fn of_aggregation(aggregation: Aggregation) -> Self {
        Self { aggregation: Some(aggregation), ..Self::new(Filter::all()) }
    }
}

/// The position of a trace: the index of its part in the snapshot, and its row there.
pub(crate) type Position = (usize, usize);

/// Results of earlier rounds that later rounds use.
#[derive(Default)]
pub(crate) struct LeafCache {
    /// True if several rounds may read the selected rows. A single leaf reads them in one round, so copying them would
    /// be a waste.
    keeps_rows: bool,
    /// The selected rows by part.
    rows: Mutex<Option<Vec<(usize, LiveRows)>>>,
    /// The positions of traces whose keys were sent.
    positions: Mutex<HashMap<TraceId, Position, RandomState>>,
    pub(crate) spans: Mutex<Option<Arc<SpanCounts>>>,
    pub(crate) values: Mutex<HashMap<Field, Arc<ValueCounts>>>,
    pub(crate) partial: Mutex<Option<Arc<PartialAggregation>>>,
    pub(crate) prepared: Mutex<Option<Arc<PreparedAggregation>>>,
}

impl LeafCache {
    /// Returns the cache of one leaf of several.
    pub(crate) fn for_rounds() -> Self {
        Self { keeps_rows: true, ..Self::default() }
    }
}

/// One query in one snapshot.
#[derive(Clone, Copy)]
pub(crate) struct SnapshotLeaf<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) query: &'a LeafQuery,
    pub(crate) cache: &'a LeafCache,
}

impl<'a> SnapshotLeaf<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, query: &'a LeafQuery, cache: &'a LeafCache) -> Self {
        Self { snapshot, query, cache }
    }

    /// Returns the response to one request.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`]; the errors of the query and the store.
    pub(crate) fn respond(self, request: LeafRequest, cancel: &CancellationToken) -> Result<LeafResponse> {
        Ok(match request {
            LeafRequest::Keys(request) => LeafResponse::Keys(match &self.query.spans {
                None => self.run_keys(&request, cancel)?,
                Some(spans) => self.span_keys(spans, &request, cancel)?,
            }),
            LeafRequest::Documents(request) => LeafResponse::Items(self.documents(&request, cancel)?),
            LeafRequest::Spans(request) => LeafResponse::Items(self.spans(&request, cancel)?),
            LeafRequest::Sessions(request) => LeafResponse::Sessions(self.sessions(&request, cancel)?),
            LeafRequest::SessionParts(request) => {
                LeafResponse::SessionParts(self.session_parts(&request, cancel)?)
            }
            LeafRequest::SessionDigests(request) => {
                LeafResponse::SessionDigests(self.session_digests(&request, cancel)?)
            }
            LeafRequest::Lookup(request) => LeafResponse::Lookup(self.look_up(&request)?),
            LeafRequest::Aggregate(request) => LeafResponse::Aggregate(self.aggregate(&request, cancel)?),
            LeafRequest::Values(request) => LeafResponse::Values(self.values(&request, cancel)?),
            LeafRequest::Facets(request) => LeafResponse::Facets(self.facets(&request, cancel)?),
            LeafRequest::FacetMemory(request) => {
                LeafResponse::FacetMemory(self.facet_memory(&request, cancel)?)
            }
            LeafRequest::AttributeKeys(request) => {
                LeafResponse::AttributeKeys(self.attribute_keys(&request, cancel)?)
            }
        })
    }

    /// Returns the selected rows. They are selected once per query.
    pub(crate) fn selected(
        self,
        projection: Projection,
        cancel: &CancellationToken,
    ) -> Result<Vec<Selection<'a>>> {
        let known = self.cache.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let parts = self.snapshot.parts();
        if let Some(known) = known {
            let reselect =
                |(index, rows): (usize, LiveRows)| Selection::of((index, &parts[index]), rows, projection);
            return known.into_iter().map(reselect).collect();
        }
        let selections = select(self.snapshot, &self.query.selecting, projection, cancel)?;
        if !self.cache.keeps_rows {
            return Ok(selections);
        }
        let rows = selections.iter().map(|selection| (selection.index, selection.rows.clone())).collect();
        *self.cache.rows.lock().unwrap_or_else(PoisonError::into_inner) = Some(rows);
        Ok(selections)
    }

    /// Returns a selection of no rows that has the sort keys of a part.
    pub(crate) fn sort_keys(self, part: usize) -> Result<Selection<'a>> {
        let own = &self.snapshot.parts()[part];
        Selection::of((part, own), LiveRows::new(RowSet::NONE, own.invisible()), Projection::SORT_KEY)
    }

    /// Remembers the positions of traces, so that [`Self::position_of`] need not search for them.
    pub(crate) fn remember(self, positions: impl Iterator<Item = (TraceId, Position)>) {
        self.cache.positions.lock().unwrap_or_else(PoisonError::into_inner).extend(positions);
    }

    /// Returns the position of a trace that an earlier response named, by the bytes of its id.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if the snapshot does not have it.
    pub(crate) fn position_of(self, trace_id: &[u8]) -> Result<Position> {
        let trace_id = TraceId::from_bytes(trace_id).ok_or_else(unexpected)?;
        let known =
            self.cache.positions.lock().unwrap_or_else(PoisonError::into_inner).get(&trace_id).copied();
        known.or_else(|| self.snapshot.find(trace_id)).ok_or_else(unexpected)
    }
}
