//! A shard's side of a search: all questions are answered from one snapshot.

use std::sync::{Arc, Mutex, PoisonError};

use prost::Message as _;

use super::sessions::{digest, range_of};
use super::wire::{
    Answer, Answered, Asked, AskedDigests, AskedDocuments, AskedKeys, AskedSessionParts, AskedSessions,
    AskedSpans, AskedTrace, ItemList, Keys, NewestOfSession, OfTrace, Query, Question, SessionParts,
    Sessions, TraceJson, decode, unexpected,
};
use crate::error::{Error, Result};
use crate::filter::{Filter, SpanFilter};
use crate::index::{LiveRows, Projection, RowSet};
use crate::otlp::{SpanId, TraceId};
use crate::search::cancellation::CancellationToken;
use crate::search::items::{ItemWriter, Items};
use crate::search::merge::PageRow;
use crate::search::newest::{Newest, newest};
use crate::search::page::{RunView, Sort, Window};
use crate::search::runs;
use crate::search::selection::{Selection, descending, select};
use crate::search::session_numbers::SessionNumbers;
use crate::search::sessions::{self, first_sessions, for_each_session, part_of, traces_of_key};
use crate::search::sorted::OrderedRows;
use crate::search::spans::{self, SpanWalk};
use crate::storage::Snapshot;
use crate::trace::detail::Detail;
use crate::trace::values::ValuePart;

/// One search in one snapshot, for as long as it is asked about.
pub struct PinnedSearch {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) filter: Filter,
    spans: Option<SpanFilter>,
    kept: Mutex<Kept>,
}

/// What earlier questions have found.
#[derive(Default)]
struct Kept {
    /// By part: the rows that are selected.
    rows: Option<Vec<(usize, LiveRows)>>,
    /// For each trace with matching spans, in result order: its part and row, and how many.
    spans: Option<Arc<SpanCounts>>,
}

/// The traces that have spans of a search.
struct SpanCounts {
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
        let spans = query.spans.map(|spans| SpanFilter::compile(spans.as_bytes())).transpose()?;
        let filter = spans.as_ref().map_or_else(|| filter.clone(), |spans| filter.with_span(spans));
        Ok(Self { snapshot, filter, spans, kept: Mutex::default() })
    }

    /// Returns the state that all questions are answered from.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Answers one question of a [`super::Gathering`].
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Busy`] if it cannot be read; what is wrong with the search or the store.
    pub fn answer(&self, question: &[u8], cancel: &CancellationToken) -> Result<Vec<u8>> {
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

    fn run_keys(&self, asked: &AskedKeys, cancel: &CancellationToken) -> Result<Keys> {
        let sort = Sort::by(&asked.sort, asked.is_ascending)?;
        let selections = self.selected(sort.projection(), cancel)?;
        let count = selections.iter().map(|selection| selection.count).sum();
        let ordered = OrderedRows::new(&selections, sort, cancel)?;
        let mut keys = KeyWriter::new(&selections, sort);
        for window in windows(asked, count) {
            for row in ordered.window(window, cancel)? {
                keys.add(row, ordered.value(row));
            }
        }
        Ok(Keys { count: count as u64, ..keys.keys })
    }

    fn newest_run_keys(&self, asked: &AskedKeys, cancel: &CancellationToken) -> Result<Keys> {
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
    fn trace_key(&self, (part, row): (usize, usize)) -> Result<Vec<u8>> {
        let parts = self.snapshot.parts();
        let rows = LiveRows::new(RowSet::NONE, parts[part].invisible());
        let selection = Selection::of((part, &parts[part]), rows, Projection::SORT_KEY)?;
        Ok(selection.key(row).to_bytes().to_vec())
    }

    fn span_keys(&self, spans: &SpanFilter, asked: &AskedKeys, cancel: &CancellationToken) -> Result<Keys> {
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

    fn span_counts(
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

    fn newest_span_keys(
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
        let end = [u8::MAX; super::spans::PLACE_BYTES];
        keys.frontier = keys.frontier.map(|trace| [trace.as_slice(), &end].concat());
        Ok(keys)
    }

    fn documents(&self, asked: &AskedDocuments, cancel: &CancellationToken) -> Result<ItemList> {
        let view = RunView { detail: Detail::from_word(&asked.detail)?, with_matches: asked.with_matches };
        let rows = asked.trace_ids.chunks(16).map(|id| self.find(id)).collect::<Result<Vec<_>>>()?;
        let writer = ItemWriter::new(&self.filter, view)?;
        let Items { items, damage } = writer.items(self.snapshot.parts(), &rows, cancel)?;
        Ok(ItemList { items, damage })
    }

    fn find(&self, trace_id: &[u8]) -> Result<(usize, usize)> {
        let found = TraceId::from_bytes(trace_id).and_then(|trace_id| self.snapshot.find(trace_id));
        found.ok_or_else(unexpected)
    }

    fn spans(&self, asked: &AskedSpans, cancel: &CancellationToken) -> Result<ItemList> {
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

    fn sessions(&self, asked: &AskedSessions, cancel: &CancellationToken) -> Result<Sessions> {
        let selections = self.selected(sessions::projection(), cancel)?;
        let numbers = SessionNumbers::new(&self.snapshot, &selections)?;
        let count = sessions::count(&selections, &numbers, cancel)?;
        let window = Window { offset: 0, limit: size(asked.limit) };
        let first = if window.limit == 0 {
            Vec::new()
        } else {
            first_sessions((&selections, &numbers), window, cancel)?
        };
        let first = first.into_iter().map(|(start, (part, code))| NewestOfSession {
            start,
            session: selections[part].view.session(code).to_vec(),
        });
        let first = first.collect();
        let mut digests = None;
        if count <= asked.max_digests {
            let mut all = Vec::new();
            for_each_session(&selections, &numbers, cancel, |session| all.extend(digest(session)))?;
            digests = Some(all);
        }
        Ok(Sessions { count, first, digests })
    }

    fn session_digests(&self, asked: &AskedDigests, cancel: &CancellationToken) -> Result<Vec<u8>> {
        let selections = self.selected(sessions::projection(), cancel)?;
        let numbers = SessionNumbers::new(&self.snapshot, &selections)?;
        let mut digests = Vec::new();
        for_each_session(&selections, &numbers, cancel, |session| {
            let digest = digest(session);
            if range_of(&digest, asked.ranges.max(1)) == asked.range {
                digests.extend(digest);
            }
        })?;
        Ok(digests)
    }

    fn session_parts(&self, asked: &AskedSessionParts, cancel: &CancellationToken) -> Result<SessionParts> {
        let selections = self.selected(sessions::projection(), cancel)?;
        let part = |session: &Vec<u8>| {
            cancel.check()?;
            Ok(part_of(&traces_of_key(&selections, session)))
        };
        Ok(SessionParts { parts: asked.sessions.iter().map(part).collect::<Result<_>>()? })
    }

    fn trace(&self, asked: &AskedTrace) -> Result<TraceJson> {
        let none = TraceJson { json: None };
        let Some(trace_id) = TraceId::from_hex(&asked.trace_id) else { return Ok(none) };
        let (snapshot, filter) = (self.snapshot.as_ref(), &self.filter);
        let json = match asked.of.as_ref().ok_or_else(unexpected)? {
            OfTrace::Whole(asked) => {
                let read = if asked.is_damaged { runs::damaged_trace } else { runs::trace };
                read(snapshot, trace_id, filter, Detail::from_word(&asked.detail)?)?
            }
            OfTrace::Span(asked) => {
                let Some(span_id) = SpanId::from_hex(&asked.span_id) else { return Ok(none) };
                runs::span(snapshot, trace_id, span_id, filter, asked.max_bytes.map(size))?
            }
            OfTrace::Value(asked) => {
                let Some(span_id) = SpanId::from_hex(&asked.span_id) else { return Ok(none) };
                let max_bytes = asked.max_bytes.map(size);
                let wanted = ValuePart { path: &asked.path, from: size(asked.from), max_bytes };
                runs::value(snapshot, trace_id, span_id, filter, &wanted)?
            }
        };
        Ok(TraceJson { json })
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

/// Returns a number of a message as a size.
fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
