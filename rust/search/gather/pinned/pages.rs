//! Keys and items of traces and spans.

use std::sync::{Arc, PoisonError};

use super::{PinnedSearch, SpanCounts, size};
use crate::bitmap::{LiveRows, RowSet};
use crate::error::Result;
use crate::filter::SpanFilter;
use crate::index::columns::Projection;
use crate::otlp::TraceId;
use crate::search::cancellation::CancellationToken;
use crate::search::gather::spans::PLACE_BYTES;
use crate::search::gather::wire::{AskedDocuments, AskedKeys, AskedSpans, ItemList, Keys, unexpected};
use crate::search::items::{ItemWriter, Items};
use crate::search::merge::PageRow;
use crate::search::newest::{Newest, newest};
use crate::search::page::{RunView, Sort, Window};
use crate::search::selection::{Selection, descending};
use crate::search::sorted::OrderedRows;
use crate::search::spans::{self, SpanWalk};
use crate::trace::detail::Detail;

/// The most bytes of documents that are sent with keys.
const MAX_FIRST_BYTES: u64 = 256 << 10;

impl PinnedSearch {
    pub(super) fn run_keys(&self, asked: &AskedKeys, cancel: &CancellationToken) -> Result<Keys> {
        let sort = Sort::by(&asked.sort, asked.is_ascending)?;
        let selections = self.selected(sort.projection(), cancel)?;
        let count = selections.iter().map(|selection| selection.count).sum();
        let ordered = OrderedRows::new(&selections, sort, cancel)?;
        let mut keys = KeyWriter::new(&selections, sort);
        let mut first = Vec::new();
        for window in windows(asked, count) {
            for row in ordered.window(window, cancel)? {
                keys.add(row, ordered.value(row));
                first.push((selections[row.0].index, row.1));
            }
        }
        let has_first = asked.first_documents > 0 && asked.first == 0 && asked.step <= 1;
        let first_documents =
            if has_first { self.first_documents(asked, &first, cancel)? } else { Vec::new() };
        Ok(Keys { count: count as u64, first_documents, ..keys.keys })
    }

    /// Returns documents of the first of these rows; none if one is damaged or cannot be read: it is asked for again if
    /// it is on the page, and only then something is wrong with the search.
    fn first_documents(
        &self,
        asked: &AskedKeys,
        rows: &[(usize, usize)],
        cancel: &CancellationToken,
    ) -> Result<Vec<Vec<u8>>> {
        let parts = self.snapshot.parts();
        let mut bytes = 0;
        let is_small = |(part, row): &&(usize, usize)| {
            bytes += parts[*part].document_bytes(*row);
            bytes <= MAX_FIRST_BYTES
        };
        let count = rows.iter().take(size(asked.first_documents)).take_while(is_small).count();
        let view = RunView { detail: Detail::from_word(&asked.detail)?, with_matches: false };
        match ItemWriter::new(&self.filter, view)?.items(parts, &rows[..count], cancel) {
            Ok(Items { items, damage }) if damage.is_empty() => Ok(items),
            _ => cancel.check().map(|()| Vec::new()),
        }
    }

    pub(super) fn newest_run_keys(&self, asked: &AskedKeys, cancel: &CancellationToken) -> Result<Keys> {
        let wanted = size(asked.end);
        let Newest { selections, frontier } = newest(&self.snapshot, &self.filter, wanted, cancel)?;
        let count: usize = selections.iter().map(|selection| selection.count).sum();
        let mut keys = KeyWriter::new(&selections, Sort::NEWEST_FIRST);
        let ordered = OrderedRows::new(&selections, Sort::NEWEST_FIRST, cancel)?;
        for row in ordered.window(Window { offset: 0, limit: wanted }, cancel)? {
            keys.add(row, None);
        }
        let frontier = frontier.map(|row| self.trace_key(row)).transpose()?;
        Ok(Keys { count: count as u64, frontier, ..keys.keys })
    }

    /// Returns the key of a row, given by its part, in result order.
    pub(super) fn trace_key(&self, (part, row): (usize, usize)) -> Result<Vec<u8>> {
        let parts = self.snapshot.parts();
        let rows = LiveRows::new(RowSet::NONE, parts[part].invisible());
        let selection = Selection::of((part, &parts[part]), rows, Projection::SORT_KEY)?;
        Ok(selection.key(row).to_bytes().to_vec())
    }

    pub(super) fn span_keys(
        &self,
        spans: &SpanFilter,
        asked: &AskedKeys,
        cancel: &CancellationToken,
    ) -> Result<Keys> {
        let selections = self.selected(spans::projection(), cancel)?;
        let counts = self.span_counts(&selections, spans, cancel)?;
        let mut keys = Keys { damage: counts.damage.clone(), ..Keys::default() };
        let (first, end, step) = (asked.first, asked.end, asked.step.max(1));
        for (row, count) in &counts.traces {
            let before = keys.count;
            keys.count += *count as u64;
            if keys.count <= first || end <= before {
                continue;
            }
            let trace = self.trace_key(*row)?;
            let is_wanted =
                |rank: &u64| *rank >= first && *rank < end && (*rank - first).is_multiple_of(step);
            for rank in (before..keys.count).filter(is_wanted) {
                add_span(&mut keys, &trace, rank - before);
            }
        }
        Ok(keys)
    }

    pub(super) fn span_counts(
        &self,
        selections: &[Selection<'_>],
        spans: &SpanFilter,
        cancel: &CancellationToken,
    ) -> Result<Arc<SpanCounts>> {
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).spans.clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let indexes = spans::indexes_of(selections, &self.filter)?;
        let mut walk = SpanWalk::new((selections, &indexes), spans, false, cancel)?;
        walk.count_all()?;
        let mut traces = Vec::new();
        walk.count(usize::MAX, |(selection, row), count| {
            if count > 0 {
                traces.push(((selections[selection].index, row), count));
            }
        })?;
        let counts = Arc::new(SpanCounts { traces, damage: walk.damage() });
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).spans = Some(counts.clone());
        Ok(counts)
    }

    pub(super) fn newest_span_keys(
        &self,
        spans: &SpanFilter,
        asked: &AskedKeys,
        cancel: &CancellationToken,
    ) -> Result<Keys> {
        let wanted = size(asked.end);
        let Newest { selections, frontier } = newest(&self.snapshot, &self.filter, wanted, cancel)?;
        let indexes = spans::indexes_of(&selections, &self.filter)?;
        let mut walk = SpanWalk::new((&selections, &indexes), spans, false, cancel)?;
        let mut found: Vec<(PageRow, usize)> = Vec::new();
        let is_all = walk.count(wanted, |row, count| found.push((row, count)))?;
        let mut keys = Keys { damage: walk.damage(), ..Keys::default() };
        let mut last = None;
        for ((selection, row), count) in found {
            let trace = selections[selection].key(row).to_bytes();
            for place in 0..count as u64 {
                add_span(&mut keys, &trace, place);
            }
            keys.count += count as u64;
            last = Some(trace.to_vec());
        }
        keys.frontier = match frontier {
            Some(row) if is_all => Some(self.trace_key(row)?),
            None if is_all => None,
            _ => last,
        };
        // The key of a trace is less than those of its spans, all of which are known.
        let end = [u8::MAX; PLACE_BYTES];
        keys.frontier = keys.frontier.map(|trace| [trace.as_slice(), &end].concat());
        Ok(keys)
    }

    pub(super) fn documents(&self, asked: &AskedDocuments, cancel: &CancellationToken) -> Result<ItemList> {
        let view = RunView { detail: Detail::from_word(&asked.detail)?, with_matches: asked.with_matches };
        let rows = asked.trace_ids.chunks(16).map(|id| self.find(id)).collect::<Result<Vec<_>>>()?;
        let writer = ItemWriter::new(&self.filter, view)?;
        let Items { items, damage } = writer.items(self.snapshot.parts(), &rows, cancel)?;
        Ok(ItemList { items, damage })
    }

    pub(super) fn find(&self, trace_id: &[u8]) -> Result<(usize, usize)> {
        let found = TraceId::from_bytes(trace_id).and_then(|trace_id| self.snapshot.find(trace_id));
        found.ok_or_else(unexpected)
    }

    pub(super) fn spans(&self, asked: &AskedSpans, cancel: &CancellationToken) -> Result<ItemList> {
        let Some(spans) = &self.spans else { return Err(unexpected()) };
        let parts = self.snapshot.parts();
        let (mut selections, mut traces) = (Vec::new(), Vec::new());
        for trace in &asked.traces {
            let (part, row) = self.find(&trace.trace_id)?;
            let rows = LiveRows::new(RowSet::NONE, parts[part].invisible());
            selections.push(Selection::of((part, &parts[part]), rows, Projection::SORT_KEY)?);
            traces.push(((selections.len() - 1, row), size(trace.from), size(trace.to)));
        }
        // Nothing is counted.
        let indexes: Vec<_> = selections.iter().map(|_| None).collect();
        let mut walk = SpanWalk::new((&selections, &indexes), spans, asked.with_matches, cancel)?;
        let items = walk.write(&traces)?.into_iter().map(|spans| spans.join(&b","[..])).collect();
        Ok(ItemList { items, damage: walk.damage() })
    }
}

/// Writes the keys of rows.
struct KeyWriter<'s, 'a> {
    selections: &'s [Selection<'a>],
    sort: Sort,
    keys: Keys,
}

impl<'s, 'a> KeyWriter<'s, 'a> {
    fn new(selections: &'s [Selection<'a>], sort: Sort) -> Self {
        Self { selections, sort, keys: Keys::default() }
    }

    fn add(&mut self, (selection, row): PageRow, value: Option<i64>) {
        let Self { selections, sort, keys } = self;
        let selection = &selections[selection];
        if *sort != Sort::NEWEST_FIRST {
            // What has no value comes last.
            keys.packed.push(u8::from(value.is_none()));
            let value = descending(value.unwrap_or_default());
            let is_ascending = sort.key().1;
            keys.packed.extend(value.map(|byte| if is_ascending { !byte } else { byte }));
        }
        keys.packed.extend(selection.key(row).to_bytes());
        keys.bytes.push(selection.part.document_bytes(row));
    }
}

fn add_span(keys: &mut Keys, trace: &[u8], place: u64) {
    keys.packed.extend_from_slice(trace);
    keys.packed.extend(u32::try_from(place).unwrap_or(u32::MAX).to_be_bytes());
    keys.bytes.push(0);
}

/// Returns the windows of rows whose keys are asked for.
fn windows(asked: &AskedKeys, count: usize) -> impl Iterator<Item = Window> {
    let (first, end) = (size(asked.first).min(count), size(asked.end).min(count));
    let step = size(asked.step).max(1);
    let width = if step == 1 { (end.saturating_sub(first)).max(1) } else { step };
    let limit = if step == 1 { width } else { 1 };
    (first..end).step_by(width).map(move |offset| Window { offset, limit })
}
