//! Reads the sessions of selected rows: each session of a part once, with its newest selected row there.

use std::ops::Range;

use crate::bitmap::{ones, set};
use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::par_map_chunked;
use crate::query::rows::selection::Selection;

/// Sessions that are read as one item. Must be a multiple of the word size in bits.
const SESSIONS_PER_RANGE: usize = 1 << 14;

/// With at least this many selected rows per session, a segment is read by session instead of by row.
const MIN_ROWS_PER_SESSION: usize = 2;

/// Selected rows, by the sessions of each part.
pub(crate) struct NewestRows<'s, 'a> {
    selections: &'s [Selection<'a>],
    /// The selected rows of each part as a bitmap; `None` if all rows are selected or the part is read by row.
    selected: Vec<Option<Vec<u64>>>,
    /// The ranges to read, in the order of parts and codes.
    pub(crate) ranges: Vec<CodeRange>,
}

/// Some sessions of a selection.
pub(crate) struct CodeRange {
    pub(crate) part: usize,
    pub(crate) codes: Range<usize>,
}

impl<'s, 'a> NewestRows<'s, 'a> {
    /// Prepares the selections for which `is_read` is true.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn new(
        selections: &'s [Selection<'a>],
        is_read: impl Fn(usize) -> bool,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let is_bitmap =
            |part: &usize| is_read(*part) && is_dense(&selections[*part]) && !selections[*part].is_whole();
        let bitmaps: Vec<usize> = (0..selections.len()).filter(is_bitmap).collect();
        let words = par_map_chunked(&bitmaps, 1, |(_, part): (usize, &usize)| {
            cancel.check()?;
            Ok(selections[*part].rows.to_words(selections[*part].view.count()))
        })?;
        let mut selected = vec![None; selections.len()];
        for (part, words) in bitmaps.into_iter().zip(words) {
            selected[part] = Some(words);
        }
        let mut ranges = Vec::with_capacity(selections.len());
        for (part, selection) in selections.iter().enumerate().filter(|(part, _)| is_read(*part)) {
            let codes = selection.view.session_codes();
            let size = if is_dense(selection) { SESSIONS_PER_RANGE } else { codes.max(1) };
            let starts = (0..codes).step_by(size);
            ranges.extend(starts.map(|start| CodeRange { part, codes: start..codes.min(start + size) }));
        }
        Ok(Self { selections, selected, ranges })
    }

    /// Calls `visit` with the code of each session in a range that has a selected row, and with the newest such row.
    pub(crate) fn read(&self, range: &CodeRange, mut visit: impl FnMut(usize, usize)) {
        let selection = &self.selections[range.part];
        if let Some(sessions) = selection.view.sessions().filter(|_| is_dense(selection)) {
            let codes = code(range.codes.start)..code(range.codes.end);
            let selected = self.selected[range.part].as_deref();
            return sessions
                .for_each_first_row(codes, selected, |code, row| visit(code as usize, row as usize));
        }
        let mut seen = vec![0; range.codes.len().div_ceil(64)];
        let words = selection.rows.to_words(selection.view.count()).into_iter().enumerate();
        for row in words.flat_map(|(index, word)| ones(index, word)).map(|row| row as usize) {
            if let Some(code) = selection.view.session_code(row).filter(|code| set(&mut seen, *code)) {
                visit(code, row);
            }
        }
    }

    /// Returns one bit per session in a range, set if the session has a selected row.
    pub(crate) fn codes(&self, range: &CodeRange) -> Vec<u64> {
        let selection = &self.selections[range.part];
        let mut codes = vec![0; range.codes.len().div_ceil(64)];
        if is_dense(selection) {
            self.read(range, |code, _| _ = set(&mut codes, code - range.codes.start));
        } else {
            selection.view.for_each_session(&selection.rows, |code| _ = set(&mut codes, code));
        }
        codes
    }
}

fn is_dense(selection: &Selection<'_>) -> bool {
    selection.view.sessions().is_some()
        && selection.count >= MIN_ROWS_PER_SESSION * selection.view.session_codes()
}

fn code(code: usize) -> u32 {
    u32::try_from(code).unwrap_or(u32::MAX)
}
