//! Typed functions for queries of one store.

use super::aggregate::{AggregateResult, Aggregation};
use super::attributes::AttributeKeys;
use super::cancellation::CancellationToken;
use super::facets::{FacetRequest, Facets};
use super::merge::Response;
use super::page::{Page, PageRequest, RunView};
use super::request::{Query, Request};
use crate::error::{Error, Result};
use crate::filter::{Filter, SpanFilter};
use crate::otlp::{SpanId, TraceId};
use crate::storage::Snapshot;
use crate::trace::detail::Detail;
use crate::trace::values::ValuePart;

/// Returns a page of the traces that `filter` matches.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn runs(
    snapshot: &Snapshot,
    filter: &Filter,
    page: PageRequest,
    view: impl Into<RunView>,
    cancel: &CancellationToken,
) -> Result<Page> {
    let request = Request::Runs { page, view: view.into(), ends_when_full: false };
    page_of(&Query::new(filter.clone(), request), snapshot, cancel)
}

/// Returns a page of the newest traces that `filter` matches. Its total is a lower bound.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn newest_runs(
    snapshot: &Snapshot,
    filter: &Filter,
    page: PageRequest,
    view: impl Into<RunView>,
    cancel: &CancellationToken,
) -> Result<Page> {
    let request = Request::Runs { page, view: view.into(), ends_when_full: true };
    page_of(&Query::new(filter.clone(), request), snapshot, cancel)
}

/// Returns a page of the ids of the traces that `filter` matches, without reading documents.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn ids(
    snapshot: &Snapshot,
    filter: &Filter,
    page: PageRequest,
    cancel: &CancellationToken,
) -> Result<Page> {
    page_of(&Query::new(filter.clone(), Request::Ids { page }), snapshot, cancel)
}

/// Returns a page of the sessions of the traces that `filter` matches.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn sessions(
    snapshot: &Snapshot,
    filter: &Filter,
    page: PageRequest,
    cancel: &CancellationToken,
) -> Result<Page> {
    page_of(&Query::new(filter.clone(), Request::Sessions { page }), snapshot, cancel)
}

/// Returns a page of the spans that match `spans`, of the traces that `filter` matches.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn spans(
    snapshot: &Snapshot,
    (filter, spans): (&Filter, &SpanFilter),
    (page, with_matches): (PageRequest, bool),
    cancel: &CancellationToken,
) -> Result<Page> {
    let request = Request::Spans { page, with_matches, ends_when_full: false };
    page_of(&Query::of_spans(filter.clone(), spans.clone(), request), snapshot, cancel)
}

/// Returns a page of the newest spans that match. Its total is a lower bound.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn newest_spans(
    snapshot: &Snapshot,
    (filter, spans): (&Filter, &SpanFilter),
    (page, with_matches): (PageRequest, bool),
    cancel: &CancellationToken,
) -> Result<Page> {
    let request = Request::Spans { page, with_matches, ends_when_full: true };
    page_of(&Query::of_spans(filter.clone(), spans.clone(), request), snapshot, cancel)
}

/// Returns the `limit` most frequent attribute keys with a prefix among the traces that `filter` matches.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn attribute_keys(
    snapshot: &Snapshot,
    filter: &Filter,
    (prefix, limit): (&str, usize),
    cancel: &CancellationToken,
) -> Result<AttributeKeys> {
    let request = Request::Attributes { prefix: prefix.to_owned(), limit };
    match Query::new(filter.clone(), request).run(snapshot, cancel)? {
        Response::AttributeKeys(keys) => Ok(keys),
        _ => Err(another_kind()),
    }
}

/// Returns the facets of the traces that `filter` matches.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn facets(
    snapshot: &Snapshot,
    filter: &Filter,
    request: FacetRequest,
    cancel: &CancellationToken,
) -> Result<Facets> {
    match Query::new(filter.clone(), Request::Facets(request)).run(snapshot, cancel)? {
        Response::Facets(facets) => Ok(facets),
        _ => Err(another_kind()),
    }
}

/// Returns the numbers of an aggregation.
///
/// # Errors
/// The errors of [`Query::run`].
pub fn aggregate(
    snapshot: &Snapshot,
    aggregation: &Aggregation,
    cancel: &CancellationToken,
) -> Result<AggregateResult> {
    match Query::of_aggregation(aggregation.clone()).run(snapshot, cancel)? {
        Response::Aggregate(result) => Ok(result),
        _ => Err(another_kind()),
    }
}

/// Returns one trace as JSON; `None` if it does not exist or the filter does not match it.
///
/// # Errors
/// The errors of [`Query::run`]; damage found in the document, for which [`damaged_trace`] returns the row.
pub fn trace(
    snapshot: &Snapshot,
    trace_id: TraceId,
    filter: &Filter,
    detail: Detail,
) -> Result<Option<Vec<u8>>> {
    let request = Request::Trace { trace_id: trace_id.to_string(), detail, is_damaged: false };
    json_of(snapshot, filter, request)
}

/// Returns the row of a trace with a damaged document as JSON; `None` in the same cases as [`trace`].
///
/// # Errors
/// The errors of [`Query::run`].
pub fn damaged_trace(
    snapshot: &Snapshot,
    trace_id: TraceId,
    filter: &Filter,
    detail: Detail,
) -> Result<Option<Vec<u8>>> {
    let request = Request::Trace { trace_id: trace_id.to_string(), detail, is_damaged: true };
    json_of(snapshot, filter, request)
}

/// Returns one span as JSON, without its children; `None` in the same cases as [`trace`]. Values longer than
/// `max_bytes` are truncated.
///
/// # Errors
/// The errors of [`trace`].
pub fn span(
    snapshot: &Snapshot,
    trace_id: TraceId,
    span_id: SpanId,
    filter: &Filter,
    max_bytes: Option<usize>,
) -> Result<Option<Vec<u8>>> {
    let max_bytes = max_bytes.map(|bytes| bytes as u64);
    let (trace_id, span_id) = (trace_id.to_string(), span_id.to_string());
    json_of(snapshot, filter, Request::Span { trace_id, span_id, max_bytes })
}

/// Returns a part of one value of a span as JSON; `None` in the same cases as [`span`], or if the span has no such
/// value.
///
/// # Errors
/// The errors of [`trace`].
pub fn value(
    snapshot: &Snapshot,
    trace_id: TraceId,
    span_id: SpanId,
    filter: &Filter,
    part: &ValuePart<'_>,
) -> Result<Option<Vec<u8>>> {
    let request = Request::Value {
        trace_id: trace_id.to_string(),
        span_id: span_id.to_string(),
        path: part.path.to_owned(),
        from: part.from as u64,
        max_bytes: part.max_bytes.map(|bytes| bytes as u64),
    };
    json_of(snapshot, filter, request)
}

fn page_of(query: &Query, snapshot: &Snapshot, cancel: &CancellationToken) -> Result<Page> {
    match query.run(snapshot, cancel)? {
        Response::Page(page) => Ok(page),
        _ => Err(another_kind()),
    }
}

fn json_of(snapshot: &Snapshot, filter: &Filter, request: Request) -> Result<Option<Vec<u8>>> {
    match Query::new(filter.clone(), request).run(snapshot, &CancellationToken::default())? {
        Response::Trace(json) => Ok(json),
        _ => Err(another_kind()),
    }
}

fn another_kind() -> Error {
    Error::Options("the query returned another kind of response".into())
}
