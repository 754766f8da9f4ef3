//! The kinds of queries, and how each is started.

use std::sync::Arc;

use serde::Deserialize;

use super::aggregate::{AggregateMerge, Aggregation};
use super::attributes::AttributesMerge;
use super::cancellation::CancellationToken;
use super::facets::{FacetRequest, FacetsMerge};
use super::leaf::LeafQuery;
use super::lookup::{LookupMerge, LookupPart, LookupRequest, OneSpan, OneValue, WholeTrace};
use super::merge::Response;
use super::page::{ItemView, PageRequest, RunView, Sort};
use super::root::Root;
use super::runs::RunsMerge;
use super::sessions::SessionsMerge;
use super::spans::SpansMerge;
use crate::error::{Error, Result};
use crate::filter::{Filter, SpanFilter};
use crate::storage::Snapshot;
use crate::trace::detail::Detail;

/// A query: a filter, and a request that says which results of the matching traces to return.
#[derive(Debug, Clone)]
pub struct Query {
    leaf: Arc<LeafQuery>,
    request: Request,
}

/// The results of a query. As JSON, an object with one member, such as `{"sessions": {"page": {"number": 1, "limit": 20}}}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// A page of traces.
    Runs {
        /// The page and its order.
        page: PageRequest,
        /// The content of each item.
        view: RunView,
        /// True to end the search once the page is full. The total is then a lower bound. Without effect if the rows
        /// alone decide the filter, or in another order than newest first.
        #[serde(default)]
        ends_when_full: bool,
    },
    /// A page of trace ids.
    Ids {
        /// The page and its order.
        page: PageRequest,
    },
    /// A page of sessions, newest last trace first.
    Sessions {
        /// The page.
        page: PageRequest,
    },
    /// A page of spans: newest trace first, then in tree order.
    Spans {
        /// The page.
        page: PageRequest,
        /// True to show the texts and other spans that made the condition match.
        #[serde(default)]
        with_matches: bool,
        /// True to end the search once the page is full. The total is then a lower bound.
        #[serde(default)]
        ends_when_full: bool,
    },
    /// The most frequent values of fields.
    Facets(FacetRequest),
    /// The most frequent attribute keys.
    Attributes {
        /// The prefix of the keys.
        #[serde(default)]
        prefix: String,
        /// The maximum number of keys, 1 to 1,000.
        limit: usize,
    },
    /// An aggregation of traces.
    Aggregate,
    /// One trace.
    Trace {
        /// Its id in hexadecimal digits.
        trace_id: String,
        /// The level of detail.
        #[serde(default)]
        detail: Detail,
        /// True to read only the row of a trace whose document is damaged.
        #[serde(default)]
        is_damaged: bool,
    },
    /// One span, without its children.
    Span {
        /// The id of the trace in hexadecimal digits.
        trace_id: String,
        /// The id of the span in hexadecimal digits.
        span_id: String,
        /// Longer values are truncated.
        #[serde(default)]
        max_bytes: Option<u64>,
    },
    /// A part of one value of a span.
    Value {
        /// The id of the trace in hexadecimal digits.
        trace_id: String,
        /// The id of the span in hexadecimal digits.
        span_id: String,
        /// The path of the value in the span.
        path: String,
        /// The first byte of the part.
        from: u64,
        /// The maximum size of the part, in bytes.
        #[serde(default)]
        max_bytes: Option<u64>,
    },
}

impl Request {
    /// Returns the request in some JSON.
    ///
    /// # Errors
    /// [`Error::Options`] if it is not one, or a member is invalid.
    pub fn from_json(source: &[u8]) -> Result<Self> {
        serde_json::from_slice(source).map_err(|error| Error::Options(error.to_string()))
    }
}

impl Query {
    /// Returns a query for the traces that `filter` matches.
    pub fn new(filter: Filter, request: Request) -> Self {
        Self { leaf: Arc::new(LeafQuery::new(filter)), request }
    }

    /// Returns a query for the spans that match `spans`, of the traces that `filter` matches.
    pub fn of_spans(filter: Filter, spans: SpanFilter, request: Request) -> Self {
        Self { leaf: Arc::new(LeafQuery::of_spans(filter, spans)), request }
    }

    /// Returns a query for an aggregation, which has its own filter.
    pub fn of_aggregation(aggregation: Aggregation) -> Self {
        Self { leaf: Arc::new(LeafQuery::of_aggregation(aggregation)), request: Request::Aggregate }
    }

    /// Returns the id of the only trace that the query reads, in hexadecimal digits.
    pub fn trace_id(&self) -> Option<&str> {
        match &self.request {
            Request::Trace { trace_id, .. }
            | Request::Span { trace_id, .. }
            | Request::Value { trace_id, .. } => Some(trace_id),
            _ => None,
        }
    }

    /// Returns the root of the query over some leaves. A query of one trace has only the leaf that may have it.
    ///
    /// # Errors
    /// [`Error::Options`] if the request is invalid, or needs a condition on spans or an aggregation.
    pub fn root(&self, leaves: usize) -> Result<Root> {
        let query = self.leaf.clone();
        let newest = |page: &PageRequest, ends_when_full: bool| {
            ends_when_full && query.selecting.reads_spans() && page.is_newest_first()
        };
        let lookup = |trace_id: &str, part: LookupPart| {
            let request = LookupRequest { trace_id: trace_id.to_owned(), part: Some(part) };
            Root::new(self.leaf.clone(), 1, LookupMerge::new(request))
        };
        Ok(match self.request.clone() {
            Request::Runs { page, view, ends_when_full } => {
                let is_newest = newest(&page, ends_when_full);
                Root::new(query, leaves, RunsMerge::new(leaves, page, is_newest, ItemView::Run(view)))
            }
            Request::Ids { page } => {
                Root::new(query, leaves, RunsMerge::new(leaves, page, false, ItemView::Id))
            }
            Request::Sessions { page } => Root::new(query, leaves, SessionsMerge::new(leaves, page)),
            Request::Spans { .. } if query.spans.is_none() => {
                return Err(Error::Options("a search for spans needs a condition on spans".into()));
            }
            Request::Spans { page, with_matches, ends_when_full } => {
                let page = page.sorted(Sort::NEWEST_FIRST);
                Root::new(query, leaves, SpansMerge::new(leaves, page, ends_when_full, with_matches))
            }
            Request::Facets(request) => {
                let merge = FacetsMerge::new(leaves, &query.filter, request)?;
                Root::new(query, leaves, merge)
            }
            Request::Attributes { prefix, limit } => {
                Root::new(query, leaves, AttributesMerge::new(leaves, prefix, limit)?)
            }
            Request::Aggregate => {
                let aggregation = query.aggregation.clone();
                let aggregation =
                    aggregation.ok_or_else(|| Error::Options("expected an aggregation".into()))?;
                Root::new(query, leaves, AggregateMerge::new(leaves, aggregation))
            }
            Request::Trace { trace_id, detail, is_damaged } => {
                let whole = WholeTrace { detail: detail.word().to_owned(), is_damaged };
                lookup(&trace_id, LookupPart::Whole(whole))
            }
            Request::Span { trace_id, span_id, max_bytes } => {
                lookup(&trace_id, LookupPart::Span(OneSpan { span_id, max_bytes }))
            }
            Request::Value { trace_id, span_id, path, from, max_bytes } => {
                lookup(&trace_id, LookupPart::Value(OneValue { span_id, path, from, max_bytes }))
            }
        })
    }

    /// Returns the response of one store in this process. `reserve` is called with the maximum memory of facets and
    /// aggregations in bytes, before it is used. A trace with a damaged document is marked as damaged.
    ///
    /// # Errors
    /// The errors of `reserve`; [`Error::Options`] if the request is invalid; [`Error::TooLarge`] if the documents of a
    /// page exceed [`super::set_page_memory_limit`], or if too many documents must be checked; [`Error::Cancelled`];
    /// damage found in the rows.
    pub fn run_within(
        &self,
        snapshot: &Snapshot,
        reserve: &dyn Fn(u64) -> Result<()>,
        cancel: &CancellationToken,
    ) -> Result<Response> {
        self.root(1)?.run(snapshot, reserve, cancel)
    }

    /// Returns the response of one store in this process, without a limit on the memory of facets and aggregations.
    ///
    /// # Errors
    /// The errors of [`Query::run_within`].
    pub fn run(&self, snapshot: &Snapshot, cancel: &CancellationToken) -> Result<Response> {
        self.run_within(snapshot, &|_| Ok(()), cancel)
    }
}
