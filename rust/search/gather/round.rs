//! Rounds of questions and answers, with one limit on looks at documents for all shards together.

use prost::Message as _;

use super::attributes::AttributeGather;
use super::lookup::LookupGather;
use super::runs::RunGather;
use super::sessions::SessionGather;
use super::spans::SpanGather;
use super::wire::{Answer, Asked, OfTrace, Query, Question, Restriction, decode};
use super::{Found, Gather};
use crate::error::{Error, Result};
use crate::filter::{Filter, SpanFilter};
use crate::search::aggregate::{AggregateFront, Aggregation};
use crate::search::cancellation::{MAX_VERIFIED, too_many_looks};
use crate::search::facets::{FacetFront, FacetRequest};
use crate::search::page::{PageRequest, RunView};
use crate::search::spans::SpanPageRequest;
use crate::trace::values::ValuePart;

/// One search over all shards.
pub struct Gathering {
    query: Vec<u8>,
    shards: usize,
    search: Box<dyn Gather>,
    /// What was asked in this round and is not answered yet.
    asked: Vec<Option<Asked>>,
    /// The last answer of every shard in this round.
    answers: Vec<Option<Answer>>,
}

impl Gathering {
    fn new(query: &Query, shards: usize, search: impl Gather + 'static) -> Self {
        let query = query.encode_to_vec();
        Self { query, shards, search: Box::new(search), asked: Vec::new(), answers: Vec::new() }
    }

    /// Searches for a page of runs, as [`crate::search::runs`] does; with `is_newest` as [`crate::search::newest_runs`].
    pub fn runs(
        shards: usize,
        filter: &Filter,
        (request, is_newest): (PageRequest, bool),
        view: impl Into<RunView>,
    ) -> Self {
        let is_newest = is_newest && filter.reads_spans() && request.is_newest_first();
        Self::new(&query_of(filter), shards, RunGather::new(shards, (request, is_newest), view.into()))
    }

    /// Searches for a page of sessions, as [`crate::search::sessions`] does.
    pub fn sessions(shards: usize, filter: &Filter, request: PageRequest) -> Self {
        Self::new(&query_of(filter), shards, SessionGather::new(shards, request))
    }

    /// Searches for a page of spans, as [`crate::search::spans`] does; with `is_newest` as [`crate::search::newest_spans`].
    pub fn spans(
        shards: usize,
        (filter, spans): (&Filter, &SpanFilter),
        (request, is_newest): (impl Into<SpanPageRequest>, bool),
    ) -> Self {
        let query = Query { spans: Some(spans.canonical()), ..query_of(filter) };
        Self::new(&query, shards, SpanGather::new(shards, (request.into(), is_newest)))
    }

    /// Counts and measures, as [`crate::search::aggregate`] does.
    pub fn aggregate(shards: usize, aggregation: &Aggregation) -> Self {
        let (body, restrictions) = aggregation.source();
        let query = Query {
            aggregation: Some(body.to_vec()),
            restrictions: restrictions_of(restrictions),
            caller: aggregation.caller().to_owned(),
            ..query_of(&Filter::all())
        };
        Self::new(&query, shards, AggregateFront::new(shards, aggregation.clone()))
    }

    /// Counts facets, as [`crate::search::FacetPlan`] does.
    ///
    /// # Errors
    /// None for a filter that was compiled.
    pub fn facets(shards: usize, filter: &Filter, request: FacetRequest) -> Result<Self> {
        Ok(Self::new(&query_of(filter), shards, FacetFront::new(shards, filter, request)?))
    }

    /// Counts the keys of attributes, as [`crate::search::attribute_keys`] does.
    ///
    /// # Errors
    /// [`Error::Options`] for a limit that it does not take.
    pub fn attribute_keys(shards: usize, filter: &Filter, (prefix, limit): (&str, usize)) -> Result<Self> {
        Ok(Self::new(&query_of(filter), shards, AttributeGather::new(shards, prefix, limit)?))
    }

    /// Looks up one trace, which is on the only shard that is asked, as [`crate::search::trace`] does; with `is_damaged` as
    /// [`crate::search::damaged_trace`].
    pub fn trace(trace_id: &str, filter: &Filter, detail: &str, is_damaged: bool) -> Self {
        let of = OfTrace::Whole(super::wire::AskedWhole { detail: detail.to_owned(), is_damaged });
        Self::new(&query_of(filter), 1, LookupGather::new(trace_id, of))
    }

    /// Looks up one span as [`Gathering::trace`] does a trace; see [`crate::search::span`].
    pub fn span(trace_id: &str, span_id: &str, filter: &Filter, max_bytes: Option<usize>) -> Self {
        let max_bytes = max_bytes.map(|bytes| bytes as u64);
        let of = OfTrace::Span(super::wire::AskedSpan { span_id: span_id.to_owned(), max_bytes });
        Self::new(&query_of(filter), 1, LookupGather::new(trace_id, of))
    }

    /// Looks up a part of a value as [`Gathering::trace`] does a trace; see [`crate::search::value`].
    pub fn value(trace_id: &str, span_id: &str, filter: &Filter, wanted: &ValuePart<'_>) -> Self {
        let of = OfTrace::Value(super::wire::AskedValue {
            span_id: span_id.to_owned(),
            path: wanted.path.to_owned(),
            from: wanted.from as u64,
            max_bytes: wanted.max_bytes.map(|bytes| bytes as u64),
        });
        Self::new(&query_of(filter), 1, LookupGather::new(trace_id, of))
    }

    /// Returns what the search is, for [`super::PinnedSearch::new`] of every shard.
    pub fn query(&self) -> &[u8] {
        &self.query
    }

    /// Returns a question for every shard that is asked something; `None` once everything is known.
    ///
    /// # Errors
    /// What is wrong with the search; [`Error::Busy`] if answers contradict each other.
    pub fn questions(&mut self) -> Result<Option<Vec<Option<Vec<u8>>>>> {
        let mut max_looks = MAX_VERIFIED;
        if self.asked.iter().all(Option::is_none) {
            let Some(asked) = self.search.next_round()? else { return Ok(None) };
            self.answers = vec![None; asked.len()];
            self.asked = asked;
            max_looks = (MAX_VERIFIED / self.shards.max(1)).max(1);
        }
        let question = |asked: &Option<Asked>| {
            let asked = Some(asked.clone()?);
            Some(Question { max_looks: max_looks as u64, asked }.encode_to_vec())
        };
        Ok(Some(self.asked.iter().map(question).collect()))
    }

    /// Takes the answers to [`Gathering::questions`], in that order.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if all shards together would look at too many documents, and what else is wrong with the search;
    /// [`Error::Busy`] if an answer is missing or answers another question.
    pub fn take(&mut self, answers: &[Option<Vec<u8>>]) -> Result<()> {
        for (shard, asked) in self.asked.iter_mut().enumerate().filter(|(_, asked)| asked.is_some()) {
            let Some(Some(answer)) = answers.get(shard) else {
                return Err(Error::Busy("a shard has not answered".into()));
            };
            let answer: Answer = decode(answer)?;
            if answer.answered.is_some() {
                *asked = None;
            }
            self.answers[shard] = Some(answer);
        }
        self.check_looks()?;
        if self.asked.iter().any(Option::is_some) {
            // These may look at more than their share, for the others look at less.
            return Ok(());
        }
        for (shard, answer) in std::mem::take(&mut self.answers).into_iter().enumerate() {
            if let Some(answered) = answer.and_then(|answer| answer.answered) {
                self.search.take(shard, answered)?;
            }
        }
        Ok(())
    }

    fn check_looks(&self) -> Result<()> {
        let looks = || self.answers.iter().flatten().map(|answer| &answer.looks);
        let most = looks().map(Vec::len).max().unwrap_or_default();
        for stage in 0..most {
            let documents: u64 = looks().filter_map(|looks| looks.get(stage)).sum();
            let documents = usize::try_from(documents).unwrap_or(usize::MAX);
            if documents > MAX_VERIFIED {
                return Err(too_many_looks(documents));
            }
        }
        Ok(())
    }

    /// Returns how much memory all shards together take at most from now on, in bytes, once that is known.
    pub fn max_bytes(&self) -> Option<u64> {
        self.search.max_bytes()
    }

    /// Returns what was found. Call it once [`Gathering::questions`] returns none.
    ///
    /// # Errors
    /// What is wrong with the search.
    pub fn found(&mut self) -> Result<Found> {
        self.search.found()
    }
}

/// Returns a filter with its restrictions as a message, from which [`filter_of`] returns it again.
pub fn encode_filter(filter: &Filter) -> Vec<u8> {
    query_of(filter).encode_to_vec()
}

/// Returns the filter of a message, restricted before all else.
///
/// # Errors
/// [`Error::Busy`] if it cannot be read; [`Error::Filter`].
pub fn filter_of(query: &[u8]) -> Result<Filter> {
    decode::<Query>(query)?.filter()
}

impl Query {
    /// Returns the filter, restricted before all else.
    ///
    /// # Errors
    /// [`Error::Filter`].
    pub(super) fn filter(&self) -> Result<Filter> {
        let filter = Filter::compile(self.filter.as_bytes())?.for_tenant(&self.caller);
        let mut restrictions = self.restrictions.iter();
        Ok(restrictions.try_fold(filter, |filter, own| filter.restrict(&own.field, &own.value))?)
    }

    /// Returns the aggregation, if the search is one, restricted before all else.
    ///
    /// # Errors
    /// [`Error::Request`], [`Error::Filter`].
    pub(super) fn compiled_aggregation(&self) -> Result<Option<Aggregation>> {
        let Some(body) = &self.aggregation else { return Ok(None) };
        let mut restrictions = self.restrictions.iter();
        let aggregation = Aggregation::compile(body)?.for_tenant(&self.caller);
        restrictions.try_fold(aggregation, |own, by| own.restrict(&by.field, &by.value)).map(Some)
    }
}

fn query_of(filter: &Filter) -> Query {
    let caller = filter.caller().to_owned();
    let (filter, restrictions) = filter.unrestricted();
    Query { filter, restrictions: restrictions_of(restrictions), spans: None, aggregation: None, caller }
}

fn restrictions_of(restrictions: &[(String, String)]) -> Vec<Restriction> {
    let restriction =
        |(field, value): &(String, String)| Restriction { field: field.clone(), value: value.clone() };
    restrictions.iter().map(restriction).collect()
}
