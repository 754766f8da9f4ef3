//! Merges a page of spans: their keys, as for runs, then the spans of the page.

use super::{SpanRange, SpansRequest};
use crate::error::Result;
use crate::query::keys::{ItemKey, KeyMerge};
use crate::query::merge::{Merge, Response};
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};
use crate::query::page::{PageRequest, json_array};
use crate::query::rows::selection::SORT_KEY_BYTES;
use crate::query::runs::Documents;

/// The size of the index of a span among the matching spans of its trace. The index follows the key of the trace.
pub(crate) const NUMBER_BYTES: usize = size_of::<u32>();

/// Merges a page of spans.
pub(crate) struct SpansMerge {
    with_matches: bool,
    keys: KeyMerge,
    /// The leaf of each trace of the page, and the range of its spans on the page, once they are known.
    traces: Option<Vec<(usize, SpanRange)>>,
    documents: Documents,
}

impl SpansMerge {
    /// Starts a page. With `is_newest`, the total is a lower bound.
    pub(crate) fn new(leaves: usize, page: PageRequest, is_newest: bool, with_matches: bool) -> Self {
        let keys = KeyMerge::new(leaves, page, is_newest);
        Self { with_matches, keys, traces: None, documents: Documents::default() }
    }
}

impl Merge for SpansMerge {
    fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        if self.traces.is_some() {
            return Ok(None);
        }
        if let Some(requests) = self.keys.next_round()? {
            return Ok(Some(requests));
        }
        let page = by_trace(self.keys.page());
        let with_matches = self.with_matches;
        let request = |leaf: usize| {
            let own = page.iter().filter(|(owner, _)| *owner == leaf);
            let traces: Vec<SpanRange> = own.map(|(_, trace)| trace.clone()).collect();
            (!traces.is_empty()).then_some(LeafRequest::Spans(SpansRequest { traces, with_matches }))
        };
        let requests: Vec<_> = (0..self.keys.leaves()).map(request).collect();
        self.traces = Some(page);
        Ok(requests.iter().any(Option::is_some).then_some(requests))
    }

    fn add(&mut self, leaf: usize, response: LeafResponse) -> Result<()> {
        match response {
            LeafResponse::Keys(keys) => self.keys.add(leaf, keys),
            LeafResponse::Items(items) => {
                self.documents.add(leaf, items);
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn finish(&mut self) -> Result<Response> {
        let traces = self.traces.take().unwrap_or_default();
        let (mut items, damage) = self.documents.in_order(traces.iter().map(|(leaf, _)| *leaf))?;
        items.retain(|spans| !spans.is_empty());
        Ok(Response::Page(self.keys.finish(json_array(&items), damage)))
    }
}

/// Groups the spans of a page by their traces, in order.
fn by_trace(page: Vec<(usize, ItemKey)>) -> Vec<(usize, SpanRange)> {
    let mut traces: Vec<(usize, SpanRange)> = Vec::new();
    for (leaf, item) in page {
        let Some((trace, number)) = item.key.split_last_chunk::<NUMBER_BYTES>() else { continue };
        let number = u64::from(u32::from_be_bytes(*number));
        let trace_id = &trace[SORT_KEY_BYTES - 16..];
        if let Some((_, last)) = traces.last_mut().filter(|(_, last)| last.trace_id == trace_id) {
            last.to = number + 1;
        } else {
            let range = SpanRange { trace_id: trace_id.to_vec(), from: number, to: number + 1 };
            traces.push((leaf, range));
        }
    }
    traces
}
