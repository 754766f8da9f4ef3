//! Gathers a page of spans: their keys, as for runs, then the spans of the page.

use super::page_cut::ItemKey;
use super::runs::{Documents, KeyGather};
use super::wire::{Answered, Asked, AskedSpans, SpansOfTrace, unexpected};
use super::{Found, Gather};
use crate::error::Result;
use crate::search::page::json_array;
use crate::search::selection::SORT_KEY_BYTES;
use crate::search::spans::SpanPageRequest;

/// The bytes of the place of a span among those of its trace, which follow the key of the trace.
pub(super) const PLACE_BYTES: usize = size_of::<u32>();

/// A search for a page of spans.
pub(super) struct SpanGather {
    request: SpanPageRequest,
    keys: KeyGather,
    /// The page, once it is known: of each trace its shard, and which of its spans.
    page: Option<Vec<(usize, SpansOfTrace)>>,
    documents: Documents,
}

impl SpanGather {
    /// Searches `shards` shards for a page; for the newest spans alone with `is_newest`.
    pub(super) fn new(shards: usize, (request, is_newest): (SpanPageRequest, bool)) -> Self {
        let keys = KeyGather::new(shards, (request.page, is_newest));
        Self { request, keys, page: None, documents: Documents::default() }
    }
}

impl Gather for SpanGather {
    fn next_round(&mut self) -> Result<Option<Vec<Option<Asked>>>> {
        if self.page.is_some() {
            return Ok(None);
        }
        if let Some(asked) = self.keys.next_round()? {
            return Ok(Some(asked));
        }
        let page = by_trace(self.keys.page());
        let with_matches = self.request.with_matches;
        let asked = (0..self.keys.shards).map(|shard| {
            let own = page.iter().filter(|(owner, _)| *owner == shard);
            let traces: Vec<SpansOfTrace> = own.map(|(_, trace)| trace.clone()).collect();
            (!traces.is_empty()).then_some(Asked::Spans(AskedSpans { traces, with_matches }))
        });
        let asked: Vec<_> = asked.collect();
        self.page = Some(page);
        Ok(asked.iter().any(Option::is_some).then_some(asked))
    }

    fn take(&mut self, shard: usize, answered: Answered) -> Result<()> {
        match answered {
            Answered::Keys(keys) => self.keys.take(shard, keys),
            Answered::Items(items) => {
                self.documents.add(shard, items);
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn found(&mut self) -> Result<Found> {
        let page = self.page.take().unwrap_or_default();
        let (mut items, damage) = self.documents.in_order(page.iter().map(|(shard, _)| *shard))?;
        items.retain(|spans| !spans.is_empty());
        Ok(Found::Page(self.keys.finished(json_array(&items), damage, self.request.page)))
    }
}

/// Returns the spans of a page by their traces, in order.
fn by_trace(page: Vec<(usize, ItemKey)>) -> Vec<(usize, SpansOfTrace)> {
    let mut traces: Vec<(usize, SpansOfTrace)> = Vec::new();
    for (shard, item) in page {
        let Some((trace, [a, b, c, d])) = item.key.split_last_chunk::<PLACE_BYTES>() else { continue };
        let place = u64::from(u32::from_be_bytes([*a, *b, *c, *d]));
        let trace_id = &trace[SORT_KEY_BYTES - 16..];
        match traces.last_mut().filter(|(_, last)| last.trace_id == trace_id) {
            Some((_, last)) => last.to = place + 1,
            None => {
                traces
                    .push((shard, SpansOfTrace { trace_id: trace_id.to_vec(), from: place, to: place + 1 }));
            }
        }
    }
    traces
}
