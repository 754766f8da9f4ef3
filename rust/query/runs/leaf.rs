//! The keys and the documents of runs.

use super::{DocumentsRequest, ItemList};
use crate::error::Result;
use crate::otlp::TraceId;
use crate::query::cancellation::CancellationToken;
use crate::query::items::{ItemWriter, Items};
use crate::query::keys::{ID_BYTES, Keys, KeysRequest, position};
use crate::query::leaf::{Position, SnapshotLeaf};
use crate::query::messages::size;
use crate::query::page::{MAX_LIMIT, RunView, Sort, Window};
use crate::query::rows::newest::{Newest, newest};
use crate::query::rows::page_rows::PageRow;
use crate::query::rows::selection::Selection;
use crate::query::rows::sorted::OrderedRows;
use crate::trace::detail::Detail;

/// The maximum size of the documents that are sent with keys, in bytes.
const MAX_FIRST_BYTES: u64 = 256 << 10;

impl SnapshotLeaf<'_> {
    /// Returns the keys of a window of runs.
    pub(crate) fn run_keys(self, request: &KeysRequest, cancel: &CancellationToken) -> Result<Keys> {
        if request.is_newest {
            return self.newest_run_keys(request, cancel);
        }
        let sort = Sort::by(&request.sort, request.is_ascending)?;
        let selections = self.selected(sort.projection(), cancel)?;
        let count = selections.iter().map(|selection| selection.count).sum();
        let ordered = OrderedRows::new(&selections, sort, cancel)?;
        let (mut keys, mut rows) = (Keys { count: count as u64, ..Keys::default() }, Vec::new());
        for window in windows(request, count) {
            for row in ordered.window(window, cancel)? {
                keys.add_row(&selections[row.0], row.1, sort, ordered.value(row));
                rows.push(row);
            }
        }
        self.remember_rows(request, &selections, &rows);
        if request.first_documents > 0 && request.first == 0 && request.step <= 1 {
            let positions: Vec<Position> = rows.into_iter().map(|row| position(&selections, row)).collect();
            keys.first_documents = self.first_documents(request, &positions, cancel)?;
        }
        Ok(keys)
    }

    /// Returns the keys of a window of the newest runs, without finding all of them.
    fn newest_run_keys(self, request: &KeysRequest, cancel: &CancellationToken) -> Result<Keys> {
        let (first, end) = (size(request.first), size(request.end));
        let Newest { selections, frontier } = newest(self.snapshot, &self.query.selecting, end, cancel)?;
        let count: usize = selections.iter().map(|selection| selection.count).sum();
        let mut keys = Keys { count: count as u64, ..Keys::default() };
        let ordered = OrderedRows::new(&selections, Sort::NEWEST_FIRST, cancel)?;
        let rows = ordered.window(Window { offset: first, limit: end - first }, cancel)?;
        for (selection, row) in &rows {
            keys.add_row(&selections[*selection], *row, Sort::NEWEST_FIRST, None);
        }
        self.remember_rows(request, &selections, &rows);
        keys.frontier = frontier.map(|row| self.trace_key(row)).transpose()?;
        Ok(keys)
    }

    /// Remembers the positions of rows whose documents may be requested next.
    fn remember_rows(self, request: &KeysRequest, selections: &[Selection<'_>], rows: &[PageRow]) {
        if !request.has_documents || rows.len() > 2 * MAX_LIMIT {
            return;
        }
        self.remember(rows.iter().filter_map(|row| {
            let trace_id = TraceId::from_bytes(selections[row.0].view.trace_id(row.1))?;
            Some((trace_id, position(selections, *row)))
        }));
    }

    /// Returns the key of the trace at a position.
    pub(crate) fn trace_key(self, (part, row): Position) -> Result<Vec<u8>> {
        Ok(self.sort_keys(part)?.key(row).to_bytes().to_vec())
    }

    /// Returns the first documents, or an empty list if one of them is damaged or unreadable. The documents of the page
    /// are requested again, and only that request reports the damage.
    fn first_documents(
        self,
        request: &KeysRequest,
        positions: &[Position],
        cancel: &CancellationToken,
    ) -> Result<Vec<Vec<u8>>> {
        let parts = self.snapshot.parts();
        let mut bytes = 0;
        let is_small = |(part, row): &&Position| {
            bytes += parts[*part].document_bytes(*row);
            bytes <= MAX_FIRST_BYTES
        };
        let count = positions.iter().take(size(request.first_documents)).take_while(is_small).count();
        let view = RunView { detail: Detail::from_word(&request.detail)?, with_matches: false };
        match ItemWriter::new(&self.query.filter, view)?.items(parts, &positions[..count], cancel) {
            Ok(Items { items, damage }) if damage.is_empty() => Ok(items),
            _ => cancel.check().map(|()| Vec::new()),
        }
    }

    /// Returns traces as items of a page.
    pub(crate) fn documents(
        self,
        request: &DocumentsRequest,
        cancel: &CancellationToken,
    ) -> Result<ItemList> {
        let view =
            RunView { detail: Detail::from_word(&request.detail)?, with_matches: request.with_matches };
        let ids = request.trace_ids.chunks(ID_BYTES);
        let positions = ids.map(|id| self.position_of(id)).collect::<Result<Vec<_>>>()?;
        let writer = ItemWriter::new(&self.query.filter, view)?;
        let Items { items, damage } = writer.items(self.snapshot.parts(), &positions, cancel)?;
        Ok(ItemList { items, damage })
    }
}

/// Returns the windows of rows with the requested ranks.
fn windows(request: &KeysRequest, count: usize) -> impl Iterator<Item = Window> {
    let (first, end) = (size(request.first).min(count), size(request.end).min(count));
    let step = size(request.step).max(1);
    let width = if step == 1 { (end.saturating_sub(first)).max(1) } else { step };
    let limit = if step == 1 { width } else { 1 };
    (first..end).step_by(width).map(move |offset| Window { offset, limit })
}
