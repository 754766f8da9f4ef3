//! Reads the sessions of selected rows, each of a part once, with its newest selected row there.

use std::ops::Range;

use crate::bitmap::{ones, set};
use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::in_rounds;
use crate::query::rows::selection::Selection;

/// Sessions that are read at once; a multiple of the bits of a word.
const SESSIONS_AT_ONCE: usize = 1 << 14;

/// With so many selected rows for each session of a segment, its sessions are read rather than the rows.
const MIN_ROWS_PER_SESSION: usize = 2;

/// Selected rows, by the sessions of each part.
pub(in crate::query) struct NewestRows<'s, 'a> {
    selections: &'s [Selection<'a>],
    /// The selected rows of each part as a bitmap; `None` where all rows are selected, or the rows are read.
    selected: Vec<Option<Vec<u64>>>,
    /// What is read at once, in the order of parts and codes.
    pub(in crate::query) shares: Vec<Share>,
}

/// Some sessions of a selection.
pub(in crate::query) struct Share {
    pub(in crate::query) part: usize,
    pub(in crate::query) codes: Range<usize>,
}

impl<'s, 'a> NewestRows<'s, 'a> {
    /// Takes those of the selections that are to be read.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(in crate::query) fn new(
        selections: &'s [Selection<'a>],
        is_read: impl Fn(usize) -> bool,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let is_bitmap =
            |part: &usize| is_read(*part) && is_dense(&selections[*part]) && !selections[*part].is_whole();
        let bitmaps: Vec<usize> = (0..selections.len()).filter(is_bitmap).collect();
        let words = in_rounds(&bitmaps, 1, |(_, part): (usize, &usize)| {
            cancel.check()?;
            Ok(selections[*part].rows.to_words(selections[*part].view.count()))
        })?;
        let mut selected = vec![None; selections.len()];
        for (part, words) in bitmaps.into_iter().zip(words) {
            selected[part] = Some(words);
        }
        let mut shares = Vec::with_capacity(selections.len());
        for (part, selection) in selections.iter().enumerate().filter(|(part, _)| is_read(*part)) {
            let codes = selection.view.session_codes();
            let at_once = if is_dense(selection) { SESSIONS_AT_ONCE } else { codes.max(1) };
            let starts = (0..codes).step_by(at_once);
            shares.extend(starts.map(|start| Share { part, codes: start..codes.min(start + at_once) }));
        }
        Ok(Self { selections, selected, shares })
    }

    /// Calls `visit` with the code of each session of a share that has a selected row, and with the newest of its rows.
    pub(in crate::query) fn read(&self, share: &Share, mut visit: impl FnMut(usize, usize)) {
        let selection = &self.selections[share.part];
        if let Some(sessions) = selection.view.sessions().filter(|_| is_dense(selection)) {
            let codes = code(share.codes.start)..code(share.codes.end);
            let selected = self.selected[share.part].as_deref();
            return sessions
                .for_each_first_row(codes, selected, |code, row| visit(code as usize, row as usize));
        }
        let mut seen = vec![0; share.codes.len().div_ceil(64)];
        let words = selection.rows.to_words(selection.view.count()).into_iter().enumerate();
        for row in words.flat_map(|(index, word)| ones(index, word)).map(|row| row as usize) {
            if let Some(code) = selection.view.session_code(row).filter(|code| set(&mut seen, *code)) {
                visit(code, row);
            }
        }
    }

    /// Returns a bit per session of a share, set if it has a selected row.
    pub(in crate::query) fn codes(&self, share: &Share) -> Vec<u64> {
        let selection = &self.selections[share.part];
        let mut codes = vec![0; share.codes.len().div_ceil(64)];
        if is_dense(selection) {
            self.read(share, |code, _| _ = set(&mut codes, code - share.codes.start));
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
