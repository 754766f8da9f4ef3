//! A shard's side of a search: all questions are answered from one snapshot.

mod counts;
mod lookup;
mod pages;
mod sessions;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message as _;

use super::wire::{Answer, Answered, Asked, Query, Question, decode, unexpected};
use crate::bitmap::LiveRows;
use crate::caller;
use crate::error::{Error, Result};
use crate::filter::{Filter, SpanFilter};
use crate::index::columns::Projection;
use crate::schema::Field;
use crate::search::aggregate::{AggregateShard, Aggregation, ValueCounts};
use crate::search::cancellation::CancellationToken;
use crate::search::selection::{Selection, select};
use crate::storage::Snapshot;

/// One search in one snapshot, for as long as it is asked about.
pub struct PinnedSearch {
    snapshot: Arc<Snapshot>,
    filter: Filter,
    spans: Option<SpanFilter>,
    aggregation: Option<Aggregation>,
    kept: Mutex<Kept>,
}

/// What earlier questions have found.
#[derive(Default)]
struct Kept {
    /// By part: the rows that are selected.
    rows: Option<Vec<(usize, LiveRows)>>,
    spans: Option<Arc<SpanCounts>>,
    values: HashMap<Field, Arc<ValueCounts>>,
    aggregate: Option<Arc<AggregateShard>>,
}

/// The traces that have spans of a search.
struct SpanCounts {
    /// In result order: the part and row of each, and how many spans.
    traces: Vec<((usize, usize), usize)>,
    damage: Vec<String>,
}

impl PinnedSearch {
    /// Compiles a search, which [`super::Gathering::query`] describes, for one snapshot.
    ///
    /// # Errors
    /// [`Error::Busy`] if it cannot be read; [`Error::Filter`].
    pub fn new(snapshot: Arc<Snapshot>, query: &[u8]) -> Result<Self> {
        let query: Query = decode(query)?;
        let filter = query.filter()?;
        let spans = query.spans.as_ref();
        let spans = spans.map(|spans| SpanFilter::compile(spans.as_bytes())).transpose()?;
        let filter = spans.as_ref().map_or_else(|| filter.clone(), |spans| filter.with_span(spans));
        let aggregation = query.compiled_aggregation()?;
        Ok(Self { snapshot, filter, spans, aggregation, kept: Mutex::default() })
    }

    /// Returns the state that all questions are answered from.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Answers one question of a [`super::Gathering`], in the turns of its caller.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Busy`] if it cannot be read; what is wrong with the search or the store.
    pub fn answer(&self, question: &[u8], cancel: &CancellationToken) -> Result<Vec<u8>> {
        caller::serve(self.filter.caller());
        let Question { max_looks, asked } = decode(question)?;
        let cancel = cancel.with_looks(usize::try_from(max_looks).unwrap_or(usize::MAX));
        let answered = match self.answer_to(asked.ok_or_else(unexpected)?, &cancel) {
            Ok(answered) => Some(answered),
            Err(Error::TooLarge(_)) if cancel.looks().1 => None,
            Err(error) => return Err(error),
        };
        let looks = cancel.looks().0.into_iter().map(|documents| documents as u64).collect();
        Ok(Answer { looks, answered }.encode_to_vec())
    }

    fn answer_to(&self, asked: Asked, cancel: &CancellationToken) -> Result<Answered> {
        Ok(match asked {
            Asked::Keys(asked) => Answered::Keys(match (&self.spans, asked.is_newest) {
                (None, false) => self.run_keys(&asked, cancel)?,
                (None, true) => self.newest_run_keys(&asked, cancel)?,
                (Some(spans), false) => self.span_keys(spans, &asked, cancel)?,
                (Some(spans), true) => self.newest_span_keys(spans, &asked, cancel)?,
            }),
            Asked::Documents(asked) => Answered::Items(self.documents(&asked, cancel)?),
            Asked::Spans(asked) => Answered::Items(self.spans(&asked, cancel)?),
            Asked::Sessions(asked) => Answered::Sessions(self.sessions(&asked, cancel)?),
            Asked::SessionParts(asked) => Answered::SessionParts(self.session_parts(&asked, cancel)?),
            Asked::SessionDigests(asked) => Answered::SessionDigests(self.session_digests(&asked, cancel)?),
            Asked::Trace(asked) => Answered::Trace(self.trace(&asked)?),
            Asked::Aggregate(asked) => Answered::Aggregate(self.aggregate(&asked, cancel)?),
            Asked::Values(asked) => Answered::Values(self.values(&asked, cancel)?),
            Asked::FacetMemory(asked) => Answered::FacetMemory(self.facet_memory(&asked, cancel)?),
            Asked::AttributeKeys(asked) => Answered::AttributeKeys(self.attribute_keys(&asked, cancel)?),
        })
    }

    /// Returns the selected rows, which are found once.
    fn selected(&self, projection: Projection, cancel: &CancellationToken) -> Result<Vec<Selection<'_>>> {
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).rows.clone();
        let parts = self.snapshot.parts();
        if let Some(known) = known {
            let again =
                |(index, rows): (usize, LiveRows)| Selection::of((index, &parts[index]), rows, projection);
            return known.into_iter().map(again).collect();
        }
        let found = select(&self.snapshot, &self.filter, projection, cancel)?;
        let rows = found.iter().map(|selection| (selection.index, selection.rows.clone())).collect();
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).rows = Some(rows);
        Ok(found)
    }
}

/// Returns a number of a message as a size.
fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
