//! The keys and the contents of spans.

use std::sync::{Arc, PoisonError};

use super::SpansRequest;
use super::merge::NUMBER_BYTES;
use super::walk::{SpanCounts, SpanWalk, indexes_of, projection};
use crate::error::Result;
use crate::filter::SpanFilter;
use crate::otlp::TraceId;
use crate::query::cancellation::CancellationToken;
use crate::query::keys::{Keys, KeysRequest, position};
use crate::query::leaf::SnapshotLeaf;
use crate::query::messages::{size, unexpected};
use crate::query::rows::newest::{Newest, newest};
use crate::query::rows::page_rows::PageRow;
use crate::query::rows::selection::Selection;
use crate::query::runs::ItemList;

impl SnapshotLeaf<'_> {
    /// Returns the keys of a window of spans.
    pub(crate) fn span_keys(
        self,
        spans: &SpanFilter,
        request: &KeysRequest,
        cancel: &CancellationToken,
    ) -> Result<Keys> {
        if request.is_newest {
            return self.newest_span_keys(spans, request, cancel);
        }
        let selections = self.selected(projection(), cancel)?;
        let indexes = indexes_of(&selections, &self.query.filter)?;
        let mut walk = SpanWalk::new((&selections, &indexes), spans, false, cancel)?;
        let counts = self.span_counts(&mut walk)?;
        let mut keys = Keys { count: counts.total, damage: counts.damage.clone(), ..Keys::default() };
        if request.first >= counts.total {
            return Ok(keys);
        }
        walk.resume(&counts);
        let mut window = KeyWindow::new(self, &selections, request);
        walk.count(size(request.end), |row, count| window.add(&mut keys, row, count))?;
        for damage in walk.damage() {
            if !keys.damage.contains(&damage) {
                keys.damage.push(damage);
            }
        }
        Ok(keys)
    }

    /// Counts all spans. They are counted once per query.
    fn span_counts(self, walk: &mut SpanWalk<'_, '_>) -> Result<Arc<SpanCounts>> {
        let known = self.cache.spans.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let counts = Arc::new(walk.count_all()?);
        *self.cache.spans.lock().unwrap_or_else(PoisonError::into_inner) = Some(counts.clone());
        Ok(counts)
    }

    /// Returns the keys of a window of the newest spans, without finding all of them.
    fn newest_span_keys(
        self,
        spans: &SpanFilter,
        request: &KeysRequest,
        cancel: &CancellationToken,
    ) -> Result<Keys> {
        let max_spans = size(request.end);
        // Each of these traces has a span that matches.
        let Newest { selections, frontier } =
            newest(self.snapshot, &self.query.selecting, max_spans, cancel)?;
        let indexes = indexes_of(&selections, &self.query.filter)?;
        let mut walk = SpanWalk::new((&selections, &indexes), spans, false, cancel)?;
        let mut keys = Keys::default();
        let mut window = KeyWindow::new(self, &selections, request);
        let is_all = walk.count(max_spans, |row, count| window.add(&mut keys, row, count))?;
        keys.count = window.before;
        keys.damage = walk.damage();
        let last = window.last.map(|(selection, row)| selections[selection].key(row).to_bytes().to_vec());
        keys.frontier = match frontier {
            Some(row) if is_all => Some(self.trace_key(row)?),
            None if is_all => None,
            _ => last,
        };
        // The key of a trace is less than the keys of its spans, and all these spans are known.
        let end = [u8::MAX; NUMBER_BYTES];
        keys.frontier = keys.frontier.map(|trace| [trace.as_slice(), &end].concat());
        Ok(keys)
    }

    /// Returns spans as items of a page.
    pub(crate) fn spans(self, request: &SpansRequest, cancel: &CancellationToken) -> Result<ItemList> {
        let Some(spans) = &self.query.spans else { return Err(unexpected()) };
        let (mut selections, mut traces) = (Vec::<Selection<'_>>::new(), Vec::new());
        for trace in &request.traces {
            let (part, row) = self.position_of(&trace.trace_id)?;
            let known = selections.iter().position(|selection| selection.index == part);
            let selection = known.unwrap_or(selections.len());
            if known.is_none() {
                selections.push(self.sort_keys(part)?);
            }
            traces.push(((selection, row), size(trace.from), size(trace.to)));
        }
        // Nothing is counted, so no index is needed.
        let indexes: Vec<_> = selections.iter().map(|_| None).collect();
        let mut walk = SpanWalk::new((&selections, &indexes), spans, request.with_matches, cancel)?;
        let items = walk.write(&traces)?.into_iter().map(|spans| spans.join(&b","[..])).collect();
        Ok(ItemList { items, damage: walk.damage() })
    }
}

/// Adds the keys of the spans in a window of ranks.
struct KeyWindow<'l, 'a> {
    leaf: SnapshotLeaf<'l>,
    selections: &'l [Selection<'a>],
    first: u64,
    end: u64,
    step: u64,
    /// The number of spans of the traces so far.
    before: u64,
    /// The last trace with spans.
    last: Option<PageRow>,
}

impl<'l, 'a> KeyWindow<'l, 'a> {
    fn new(leaf: SnapshotLeaf<'l>, selections: &'l [Selection<'a>], request: &KeysRequest) -> Self {
        let (first, end, step) = (request.first, request.end, request.step.max(1));
        Self { leaf, selections, first, end, step, before: 0, last: None }
    }

    /// Adds the spans of the next trace.
    fn add(&mut self, keys: &mut Keys, row: PageRow, count: usize) {
        let (before, after) = (self.before, self.before + count as u64);
        self.before = after;
        if count == 0 {
            return;
        }
        self.last = Some(row);
        if after <= self.first || self.end <= before {
            return;
        }
        let selection = &self.selections[row.0];
        let key = selection.key(row.1).to_bytes();
        let trace_id = TraceId::from_bytes(selection.view.trace_id(row.1));
        self.leaf.remember(trace_id.into_iter().map(|trace_id| (trace_id, position(self.selections, row))));
        let ranks = before.max(self.first)..after.min(self.end);
        for rank in ranks.filter(|rank| (rank - self.first).is_multiple_of(self.step)) {
            keys.add_span(&key, rank - before);
        }
    }
}
