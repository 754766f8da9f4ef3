//! The texts of a field in the selected rows, counted per part and merged across parts in their order.
//!
//! The texts of a part are sorted, so parts are merged like sorted runs. No text is hashed or copied. The codes take a
//! few bytes of memory per selected row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::bitmap::RowBlock;
use crate::error::Result;
use crate::query::aggregate::parts::Part;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::par_map_chunked;
use crate::query::rows::selection::PARTS_PER_THREAD;
use crate::schema::Field;

/// Texts that are merged between two checks for cancellation.
const TEXTS_PER_CHECK: usize = 1 << 14;

/// Up to this many codes, a table is used regardless of the number of rows.
const MAX_SMALL_TABLE: usize = 1 << 12;

/// A part, and a code of it.
pub(super) type PartCode = (usize, u32);

/// The texts of one part that its selected rows use.
#[derive(Debug)]
pub(super) struct UsedTexts {
    /// Codes with their numbers of rows, ascending.
    pub(super) counts: Vec<(u32, u64)>,
    /// The number of rows without a text.
    pub(super) missing: u64,
}

/// Returns the used texts of every part.
///
/// # Errors
/// [`crate::error::Error::Cancelled`].
pub(super) fn used_texts(parts: &[Part], field: Field, cancel: &CancellationToken) -> Result<Vec<UsedTexts>> {
    par_map_chunked(parts, PARTS_PER_THREAD, |(_, part)| {
        cancel.check()?;
        Ok(UsedTexts::of(part, field))
    })
}

impl UsedTexts {
    fn of(part: &Part, field: Field) -> Self {
        let distinct = part.columns.distinct(field);
        let known = |code: u32| Some((code, part.columns.rows_of_text(field, code)? as u64));
        let counts: Option<Vec<_>> = if part.is_whole() { (0..=distinct).map(known).collect() } else { None };
        let mut counts = counts.unwrap_or_else(|| {
            if part.rows.count() < distinct as usize / 4 { sorted(part, field) } else { counted(part, field) }
        });
        counts.retain(|(_, count)| *count > 0);
        let missing = counts.pop_if(|(code, _)| *code == distinct).map_or(0, |(_, count)| count);
        Self { counts, missing }
    }
}

/// Calls `visit` with the codes of all selected rows of a part, block by block.
fn for_each_code(part: &Part, field: Field, mut visit: impl FnMut(&[u32])) {
    let mut codes = Vec::new();
    part.rows.for_each_block(0..u32::MAX, |block: &RowBlock<'_>| {
        codes.clear();
        part.columns.decode_codes(field, block, &mut codes);
        visit(&codes);
    });
}

/// Counts in a table of all codes.
fn counted(part: &Part, field: Field) -> Vec<(u32, u64)> {
    let mut counts = vec![0_u64; part.columns.distinct(field) as usize + 1];
    for_each_code(part, field, |codes| codes.iter().for_each(|code| counts[*code as usize] += 1));
    (0u32..).zip(counts).collect()
}

/// Counts by sorting, for few rows among many texts.
fn sorted(part: &Part, field: Field) -> Vec<(u32, u64)> {
    let mut all = Vec::with_capacity(part.rows.count());
    for_each_code(part, field, |codes| all.extend_from_slice(codes));
    all.sort_unstable();
    all.chunk_by(|one, other| one == other).map(|equal| (equal[0], equal.len() as u64)).collect()
}

/// Calls `visit` with every used text of all parts, ascending, with its codes and its number of rows.
///
/// # Errors
/// [`crate::error::Error::Cancelled`].
pub(super) fn merge(
    parts: &[Part],
    field: Field,
    used: &[UsedTexts],
    cancel: &CancellationToken,
    mut visit: impl FnMut(&[u8], &[PartCode], u64),
) -> Result<()> {
    merge_from(
        parts,
        (field, used),
        |_| false,
        cancel,
        |text, codes, rows| {
            visit(text, codes, rows);
            true
        },
    )
    .map(drop)
}

/// Like [`merge`], but skips the texts for which `is_before` is true, and stops when `visit` returns false. Returns
/// true if all texts were visited.
///
/// # Errors
/// [`crate::error::Error::Cancelled`].
pub(super) fn merge_from(
    parts: &[Part],
    (field, used): (Field, &[UsedTexts]),
    is_before: impl Fn(&[u8]) -> bool,
    cancel: &CancellationToken,
    mut visit: impl FnMut(&[u8], &[PartCode], u64) -> bool,
) -> Result<bool> {
    let text = |part: usize, position: usize| {
        let (code, _) = used[part].counts.get(position)?;
        Some(Reverse((parts[part].columns.text_of_code(field, *code), part)))
    };
    let first = |(part, used): (&Part, &UsedTexts)| {
        used.counts.partition_point(|(code, _)| is_before(part.columns.text_of_code(field, *code)))
    };
    let mut positions: Vec<usize> = parts.iter().zip(used).map(first).collect();
    let mut next: BinaryHeap<_> = (0..parts.len()).filter_map(|part| text(part, positions[part])).collect();
    let mut codes: Vec<PartCode> = Vec::new();
    for step in 1_usize.. {
        if step.is_multiple_of(TEXTS_PER_CHECK) {
            cancel.check()?;
        }
        let Some(&Reverse((least, _))) = next.peek() else { break };
        codes.clear();
        let mut rows = 0;
        while let Some(mut top) = next.peek_mut()
            && top.0.0 == least
        {
            let part = top.0.1;
            let (code, count) = used[part].counts[positions[part]];
            codes.push((part, code));
            rows += count;
            positions[part] += 1;
            match text(part, positions[part]) {
                Some(following) => *top = following,
                None => drop(std::collections::binary_heap::PeekMut::pop(top)),
            }
        }
        if !visit(least, &codes, rows) {
            return Ok(next.is_empty());
        }
    }
    Ok(true)
}

/// A number for each code of a part.
#[derive(Debug)]
pub(super) enum CodeMap {
    /// By code.
    Table(Vec<u32>),
    /// Codes with their numbers, ascending, and the number of all other codes. For few rows among many texts.
    Sorted(Vec<(u32, u32)>, u32),
}

impl CodeMap {
    /// Returns the map of `numbers`, sorted by code, to use with the rows of `part`. All other codes have the number
    /// `default`.
    pub(super) fn new(part: &Part, field: Field, numbers: Vec<(u32, u32)>, default: u32) -> Self {
        let codes = part.columns.distinct(field) as usize + 1;
        if codes > MAX_SMALL_TABLE.max(part.rows.count()) {
            return Self::Sorted(numbers, default);
        }
        let mut table = vec![default; codes];
        for (code, number) in numbers {
            table[code as usize] = number;
        }
        Self::Table(table)
    }

    /// Returns the number of a code.
    #[inline]
    pub(super) fn number(&self, code: u32) -> u32 {
        match self {
            Self::Table(table) => table[code as usize],
            Self::Sorted(numbers, default) => {
                let index = numbers.binary_search_by_key(&code, |(own, _)| *own);
                index.map_or(*default, |position| numbers[position].1)
            }
        }
    }

    /// Replaces codes with their numbers.
    pub(super) fn map(&self, codes: &mut [u32]) {
        for code in codes {
            *code = self.number(*code);
        }
    }

    /// Returns the memory that the map takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Table(table) => size_of_val(table.as_slice()),
            Self::Sorted(numbers, _) => size_of_val(numbers.as_slice()),
        }
    }
}

/// Numbers of the values of a field. Equal texts have equal numbers in every part.
#[derive(Debug)]
pub(super) struct ValueNumbers {
    /// The number of every code, by part; [`u32::MAX`] for a missing value.
    pub(super) maps: Vec<CodeMap>,
    /// The exclusive upper bound of the numbers.
    pub(super) count: usize,
}

impl ValueNumbers {
    /// Numbers the values that the selected rows of `parts` have.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn new(parts: &[Part], field: Field, cancel: &CancellationToken) -> Result<Self> {
        Self::numbered(parts, field, None, cancel)
    }

    /// Like [`ValueNumbers::new`], with given numbers for the values in ascending order. The numbers are below the
    /// given count.
    pub(super) fn numbered(
        parts: &[Part],
        field: Field,
        given: Option<(&[u32], usize)>,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let used = used_texts(parts, field, cancel)?;
        let mut numbers: Vec<Vec<(u32, u32)>> =
            used.iter().map(|used| Vec::with_capacity(used.counts.len())).collect();
        let mut next = 0_u32;
        merge(parts, field, &used, cancel, |_, codes, _| {
            let number =
                given.map_or(next, |(given, _)| given.get(next as usize).copied().unwrap_or(u32::MAX));
            for (part, code) in codes {
                numbers[*part].push((*code, number));
            }
            next += 1;
        })?;
        let maps =
            parts.iter().zip(numbers).map(|(part, numbers)| CodeMap::new(part, field, numbers, u32::MAX));
        let count = given.map_or(next as usize, |(_, count)| count);
        Ok(Self { maps: maps.collect(), count })
    }
}
