//! Counts the sessions of selected rows.

use crate::bitmap::{fill, is_set, ones, set};
use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::par_map_chunked;
use crate::query::rows::selection::{PARTS_PER_THREAD, Selection};
use crate::query::sessions::newest_rows::{CodeRange, NewestRows};
use crate::query::sessions::numbers::SessionNumbers;

/// Returns the number of sessions with a selected row. Sessions of a single segment are counted by its own codes. A
/// segment whose sessions all have a selected row is not searched.
pub(crate) fn count(
    selections: &[Selection<'_>],
    numbers: &SessionNumbers<'_>,
    cancel: &CancellationToken,
) -> Result<u64> {
    let is_whole: Vec<bool> = selections.iter().enumerate().map(has_every_session(numbers)).collect();
    let is_every = numbers.is_every_segment()
        && (0..is_whole.len()).all(|part| is_whole[part] || !numbers.is_segment(part));
    let which = |part: usize| match (is_whole[part], is_every) {
        (true, false) => Codes::All,
        (true, true) => Codes::None,
        (false, _) => Codes::OfRows,
    };
    let codes = codes_of(selections, which, cancel)?;
    let mut total = if is_every { numbers.segment_sessions() } else { 0 };
    let mut seen = vec![0; numbers.end().div_ceil(64)];
    for (part, own) in codes.iter().enumerate() {
        let part_numbers = numbers.of_part(part);
        for (word, own) in own.iter().enumerate() {
            let only = !numbers.shared(part).map_or(u64::MAX, |shared| shared[word]);
            total += u64::from((own & only).count_ones());
            for code in ones(word, own & !only).map(|code| code as usize) {
                let is_counted = !numbers.is_segment(part)
                    && match numbers.only_segment(part, code) {
                        Some((segment, code)) => is_every || is_set(&codes[segment], code),
                        None => is_every && numbers.is_in_segment(part, code),
                    };
                total += u64::from(!is_counted && set(&mut seen, part_numbers[code] as usize));
            }
        }
    }
    Ok(total)
}

/// Which session codes of a selection are set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Codes {
    None,
    All,
    OfRows,
}

/// Returns one bit per session code of each selection, set according to `which`.
fn codes_of(
    selections: &[Selection<'_>],
    which: impl Fn(usize) -> Codes,
    cancel: &CancellationToken,
) -> Result<Vec<Vec<u64>>> {
    let initial = |(part, selection): (usize, &Selection<'_>)| {
        let codes = selection.view.session_codes();
        let mut words = vec![0; codes.div_ceil(64)];
        if which(part) == Codes::All {
            fill(&mut words, 0..codes);
        }
        words
    };
    let mut codes: Vec<Vec<u64>> = selections.iter().enumerate().map(initial).collect();
    let rows = NewestRows::new(selections, |part| which(part) == Codes::OfRows, cancel)?;
    let by_range = par_map_chunked(&rows.ranges, PARTS_PER_THREAD, |(_, range): (usize, &CodeRange)| {
        cancel.check()?;
        Ok(rows.codes(range))
    })?;
    for (range, own) in rows.ranges.iter().zip(by_range) {
        codes[range.part][range.codes.start / 64..][..own.len()].copy_from_slice(&own);
    }
    Ok(codes)
}

/// Returns a predicate that is true if every session of a segment has a selected row: only deleted rows are missing,
/// and their sessions have other rows. It is false for a batch of the head.
fn has_every_session<'a>(numbers: &'a SessionNumbers<'_>) -> impl Fn((usize, &Selection<'_>)) -> bool + 'a {
    /// With more deleted rows than this, they are not checked one by one.
    const MAX_DELETED: usize = 1 << 14;
    |(part, selection)| {
        if !numbers.is_segment(part) {
            return false;
        }
        let view = &selection.view;
        let all = 0..u32::try_from(view.count()).unwrap_or(u32::MAX);
        let Some(deleted) = selection.rows.missing_from(&all).filter(|deleted| deleted.len() <= MAX_DELETED)
        else {
            return false;
        };
        let mut codes: Vec<usize> =
            deleted.iter().filter_map(|row| view.session_code(*row as usize)).collect();
        codes.sort_unstable();
        codes.chunk_by(|one, other| one == other).all(|tied| tied.len() < view.rows_of_code(tied[0]))
    }
}
