//! Finds the sessions of a page.

use std::cmp::Reverse;
use std::ops::Range;

use crate::bitmap::{RowSet, is_set, set};
use crate::error::Result;
use crate::index::columns::split_session_key;
use crate::query::cancellation::CancellationToken;
use crate::query::page::Window;
use crate::query::pool::par_map_chunked;
use crate::query::rows::page_rows::{PageRow, page_of, ranks_of_start};
use crate::query::rows::selection::{PARTS_PER_THREAD, Selection};
use crate::query::sessions::count::count;
use crate::query::sessions::newest_rows::{CodeRange, NewestRows};
use crate::query::sessions::numbers::SessionNumbers;

/// A page that ends within this fraction of all sessions is found by walking over the newest rows.
const WALK_FRACTION: usize = 16;

/// Rows that are read between two checks for cancellation.
const ROWS_PER_CHECK: usize = 1 << 14;

/// A session: a selection that has it, and its code there.
pub(crate) type SessionRef = (usize, usize);

/// Returns the number of sessions, and the sessions of a window in order, each with the start of its newest trace in
/// microseconds since 1970.
///
/// # Errors
/// [`crate::error::Error::Cancelled`].
pub(crate) fn page(
    (selections, numbers): (&[Selection<'_>], &SessionNumbers<'_>),
    window: Window,
    cancel: &CancellationToken,
) -> Result<(u64, Vec<(i64, SessionRef)>)> {
    let is_deep = |sessions: usize| window.end().min(sessions) > sessions / WALK_FRACTION;
    let rows: usize = selections.iter().map(|selection| selection.count).sum();
    let most = rows.min(numbers.end());
    if window.offset < most && is_deep(most) {
        return deep_sessions((selections, numbers), window, cancel);
    }
    let count = count(selections, numbers, cancel)?;
    let sessions = usize::try_from(count).unwrap_or(usize::MAX);
    if window.offset >= sessions {
        return Ok((count, Vec::new()));
    }
    if is_deep(sessions) {
        return deep_sessions((selections, numbers), window, cancel);
    }
    let page = first_sessions((selections, numbers), window.offset..window.end().min(sessions), cancel)?;
    Ok((count, page))
}

/// Returns the sessions of a window near the start, by walking over the newest rows.
pub(crate) fn first_sessions(
    (selections, numbers): (&[Selection<'_>], &SessionNumbers<'_>),
    Range { start: offset, end }: Range<usize>,
    cancel: &CancellationToken,
) -> Result<Vec<(i64, SessionRef)>> {
    let mut rows = NewestFirst::new(selections);
    let mut seen = vec![0; numbers.end().div_ceil(64)];
    let (mut before, mut tied, mut page) = (0, Vec::<SessionRef>::new(), Vec::new());
    let mut instant = None;
    for step in 0_usize.. {
        if step % ROWS_PER_CHECK == 0 {
            cancel.check()?;
        }
        let next = rows.next_row();
        let start = next.map(|(part, row)| selections[part].view.start_time(row));
        if start != instant {
            // Sessions whose newest traces start at the same instant are sorted by id before the window is applied.
            let count = tied.len();
            if before + count > offset {
                tied.sort_unstable_by_key(|(part, code)| {
                    split_session_key(selections[*part].view.session(*code))
                });
                let first = offset.saturating_sub(before);
                let start = instant.unwrap_or_default();
                page.extend(tied.iter().skip(first).take(end - before.max(offset)).map(|one| (start, *one)));
            }
            before += count;
            tied.clear();
            instant = start;
        }
        let Some((part, row)) = next.filter(|_| before < end) else { return Ok(page) };
        let Some(code) = selections[part].view.session_code(row) else { continue };
        if set(&mut seen, numbers.of_part(part)[code] as usize) {
            tied.push((part, code));
        }
    }
    Ok(page)
}

/// Returns the number of sessions, and the sessions of any window. The newest rows of sessions are ordered like result
/// rows.
pub(crate) fn deep_sessions(
    (selections, numbers): (&[Selection<'_>], &SessionNumbers<'_>),
    window: Window,
    cancel: &CancellationToken,
) -> Result<(u64, Vec<(i64, SessionRef)>)> {
    let newest = newest_rows((selections, numbers), cancel)?;
    let count: usize = newest.iter().map(|selection| selection.count).sum();
    let window = window.offset..window.end().min(count);
    let start = |(part, row): PageRow| selections[part].view.start_time(row);
    let start_at = |rank: usize| page_of(&newest, rank, 1).first().copied().map(start);
    let ends = (!window.is_empty()).then(|| start_at(window.start).zip(start_at(window.end - 1))).flatten();
    let Some((first, last)) = ends else {
        return Ok((count as u64, Vec::new()));
    };
    // Sessions whose newest traces start at the same instant are sorted by id before the window is applied.
    let (begin, end) = (ranks_of_start(&newest, first).start, ranks_of_start(&newest, last).end);
    let rows = page_of(&newest, begin, end - begin).into_iter();
    let session = |(part, row)| Some((start((part, row)), (part, selections[part].view.session_code(row)?)));
    let mut sessions: Vec<(i64, SessionRef)> = rows.filter_map(session).collect();
    sessions.sort_by_key(|(start, (part, code))| {
        (Reverse(*start), split_session_key(selections[*part].view.session(*code)))
    });
    Ok((count as u64, sessions.into_iter().skip(window.start - begin).take(window.len()).collect()))
}

/// Returns the rows of each selection that are the newest selected row of their session.
fn newest_rows<'a>(
    (selections, numbers): (&[Selection<'a>], &SessionNumbers<'_>),
    cancel: &CancellationToken,
) -> Result<Vec<Selection<'a>>> {
    let in_head = numbers.in_head();
    let rows = NewestRows::new(selections, |_| true, cancel)?;
    let by_range = par_map_chunked(&rows.ranges, PARTS_PER_THREAD, |(_, range): (usize, &CodeRange)| {
        cancel.check()?;
        let (numbers, shared) = (numbers.of_part(range.part), numbers.shared(range.part));
        let (mut own, mut common) = (Vec::new(), Vec::new());
        rows.read(range, |code, row| {
            let is_in_head = || in_head.as_ref().is_some_and(|head| is_set(head, numbers[code] as usize));
            if shared.is_none_or(|shared| is_set(shared, code)) || is_in_head() {
                let start = selections[range.part].view.start_time(row);
                common.push((numbers[code], Reverse(start), range.part, row));
            } else {
                own.push(row);
            }
        });
        Ok((own, common))
    })?;
    let words = |selection: &Selection<'_>| vec![0; selection.view.count().div_ceil(64)];
    let mut words: Vec<Vec<u64>> = selections.iter().map(words).collect();
    // If several parts may have a session, the newest of their rows is used.
    let mut common = Vec::new();
    for (range, (own, more)) in rows.ranges.iter().zip(by_range) {
        for row in own {
            set(&mut words[range.part], row);
        }
        common.extend(more);
    }
    common.sort_unstable();
    common.dedup_by_key(|(number, ..)| *number);
    for (_, _, part, row) in common {
        set(&mut words[part], row);
    }
    Ok(selections
        .iter()
        .zip(words)
        .map(|(selection, words)| selection.only(RowSet::of_words(words)))
        .collect())
}

/// The selected rows of all parts, newest first.
struct NewestFirst<'a> {
    selections: &'a [Selection<'a>],
    iterators: Vec<Box<dyn Iterator<Item = u32> + Send + 'a>>,
    next_rows: Vec<Option<(i64, usize)>>,
}

impl<'a> NewestFirst<'a> {
    fn new(selections: &'a [Selection<'a>]) -> Self {
        let iterators = selections.iter().map(|selection| selection.rows.from(0)).collect();
        let mut rows = Self { selections, iterators, next_rows: vec![None; selections.len()] };
        (0..selections.len()).for_each(|part| rows.advance(part));
        rows
    }

    fn advance(&mut self, part: usize) {
        let row = self.iterators[part].next().map(|row| row as usize);
        self.next_rows[part] = row.map(|row| (self.selections[part].view.start_time(row), row));
    }

    /// Returns the part and the row of the next row.
    fn next_row(&mut self) -> Option<(usize, usize)> {
        let next_rows = self.next_rows.iter().enumerate();
        let newest = next_rows.filter_map(|(part, head)| head.map(|(start, row)| (start, part, row)));
        let (_, part, row) = newest.max_by_key(|(start, _, _)| *start)?;
        self.advance(part);
        Some((part, row))
    }
}
