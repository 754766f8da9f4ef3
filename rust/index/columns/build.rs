//! Builds the index of a segment's rows.

use std::io;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array as _, ArrayRef, RecordBatch};

use super::ids;
use super::numbers::ZONE;
use super::sessions::RowSessions;
use crate::index::layout::{INDEX, SESSIONS_COLUMN, SectionKind, SectionWriter, TEXT_COLUMNS};
use crate::otlp::TraceId;
use crate::schema::{FIELDS, Field, FieldType};

/// A code gets a bitmap if at least one in this many rows has it. Then the bitmap is hardly larger than the
/// list of rows.
const FREQUENT_RATIO: usize = 64;
/// Segments with fewer rows get no bitmaps.
const MIN_BITMAP_ROWS: usize = 4_096;

/// Writes the index of `batch`, rows of [`crate::schema::trace_schema`] newest first. `locations` are the
/// offsets, stored lengths and decoded sizes of their documents. [`super::Index::open`] expects the same
/// `identity`.
///
/// # Errors
/// An error of `out`, or an error for rows that an index cannot hold; no segment has such rows.
pub fn build(
    batch: &RecordBatch,
    locations: [&[u64]; 3],
    identity: &str,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let rows = u32::try_from(batch.num_rows()).map_err(|_| invalid_input("expected fewer than 2^32 rows"))?;
    let mut writer = SectionWriter::new(INDEX, out);
    for column in 0..TEXT_COLUMNS {
        write_texts(&mut writer, column, &coded(batch.column(column)))?;
    }
    let RowSessions { keys, codes } = RowSessions::of(batch);
    write_texts(&mut writer, SESSIONS_COLUMN, &of_keys(&keys, &codes))?;
    write_trace_ids(&mut writer, batch.column(Field::TraceId.column()))?;
    for column in
        FIELDS.iter().filter(|info| info.field_type == FieldType::Number).map(|info| info.field.column())
    {
        let numbers = batch.column(column).as_primitive::<Int64Type>().values();
        writer.packed(column, SectionKind::Whole, numbers.iter().copied())?;
        writer.plain(column, SectionKind::Order, order_of(numbers))?;
    }
    for field in [Field::StartTime, Field::EndTime, Field::CreatedAt] {
        let column = field.column();
        let instants = batch.column(column).as_primitive::<TimestampMicrosecondType>().values();
        writer.packed(column, SectionKind::Whole, instants.iter().copied())?;
        if field != Field::StartTime {
            let least_and_greatest = |zone: &[i64]| {
                let of = |pick: fn(i64, i64) -> i64| zone.iter().copied().reduce(pick).unwrap_or_default();
                [of(i64::min), of(i64::max)]
            };
            writer.plain(
                column,
                SectionKind::Zones,
                instants.chunks(ZONE).flat_map(least_and_greatest).collect(),
            )?;
        }
    }
    for (kind, locations) in
        [SectionKind::Offsets, SectionKind::Codes, SectionKind::Whole].into_iter().zip(locations)
    {
        writer.packed(FIELDS.len(), kind, locations.iter().map(|number| number.cast_signed()))?;
    }
    writer.finish(identity, rows)
}

/// Returns the rows sorted by their numbers. Rows with equal numbers ascend.
#[allow(clippy::cast_possible_truncation, reason = "the differences are checked to fit")]
pub fn order_of(numbers: &[i64]) -> Vec<u32> {
    let (least, greatest) = (numbers.iter().min().copied(), numbers.iter().max().copied());
    let (Some(least), Some(greatest)) = (least, greatest) else { return Vec::new() };
    let range = greatest.abs_diff(least);
    // Counts and tokens are mostly small numbers, which a counting sort orders in linear time.
    if range <= numbers.len() as u64 {
        let codes: Vec<u32> = numbers.iter().map(|number| number.abs_diff(least) as u32).collect();
        return by_code(&codes, range as usize + 1).1;
    }
    let mut order: Vec<u32> = (0u32..).take(numbers.len()).collect();
    order.sort_unstable_by_key(|row| (numbers[*row as usize], *row));
    order
}

fn invalid_input(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn write_trace_ids(writer: &mut SectionWriter<'_>, array: &ArrayRef) -> io::Result<()> {
    let texts = array.as_string::<i32>();
    let mut values = Vec::with_capacity(texts.len() * ids::WIDTH);
    for text in texts.iter().flatten() {
        let id = TraceId::from_hex(text).filter(|id| id.to_string() == text);
        let id = id.ok_or_else(|| invalid_input("expected a trace id in lower case"))?;
        values.extend_from_slice(id.as_bytes());
    }
    if values.len() != texts.len() * ids::WIDTH {
        return Err(invalid_input("expected a trace id in every row"));
    }
    let mut order: Vec<u32> = (0u32..).take(texts.len()).collect();
    order.sort_unstable_by_key(|row| &values[*row as usize * ids::WIDTH..][..ids::WIDTH]);
    writer.plain(Field::TraceId.column(), SectionKind::Values, values)?;
    writer.plain(Field::TraceId.column(), SectionKind::Order, order)
}

/// The sorted distinct values of a column, and the code of every row.
struct Coded<'a> {
    values: Vec<&'a str>,
    codes: Vec<u32>,
}

/// The sorted distinct texts of a batch column and the code of every row: an index column in memory.
#[derive(Debug)]
pub struct CodedTexts {
    /// The distinct texts, ascending. The code of a text is its position.
    pub values: Vec<Box<str>>,
    /// The code of each row; the number of texts stands for a missing one.
    pub codes: Vec<u32>,
}

impl CodedTexts {
    /// Returns the texts of a column of [`crate::schema::trace_schema`].
    pub fn of(array: &ArrayRef) -> Self {
        let Coded { values, codes } = coded(array);
        Self { values: values.into_iter().map(Into::into).collect(), codes }
    }
}

fn coded(array: &ArrayRef) -> Coded<'_> {
    match array.as_dictionary_opt::<Int32Type>() {
        Some(_) => of_dictionary(array),
        None => of_plain(array),
    }
}

fn write_texts(writer: &mut SectionWriter<'_>, column: usize, coded: &Coded<'_>) -> io::Result<()> {
    let Coded { values, codes } = coded;
    let bytes = values.iter().map(|value| value.len()).sum::<usize>();
    u32::try_from(bytes).map_err(|_| invalid_input("expected at most 4 GiB of text in a column"))?;
    let mut offsets = Vec::with_capacity(values.len() + 1);
    let mut blob = Vec::with_capacity(bytes);
    offsets.push(0);
    for value in values {
        blob.extend_from_slice(value.as_bytes());
        offsets.push(u32::try_from(blob.len()).unwrap_or(u32::MAX));
    }
    let is_lower_case = blob.iter().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    writer.plain(column, SectionKind::LowerCase, vec![u8::from(is_lower_case)])?;
    writer.plain(column, SectionKind::Values, blob)?;
    writer.plain(column, SectionKind::Offsets, offsets)?;
    writer.codes(column, codes)?;
    let (starts, order) = by_code(codes, values.len() + 1);
    let frequent = frequent(&starts, codes.len());
    let words = codes.len().div_ceil(64);
    let mut bits = vec![0_u64; words * frequent.len()];
    for (code, bits) in frequent.iter().zip(bits.chunks_mut(words.max(1))) {
        let of_code = starts[*code as usize] as usize..starts[*code as usize + 1] as usize;
        order[of_code].iter().for_each(|row| bits[*row as usize / 64] |= 1 << (row % 64));
    }
    writer.plain(column, SectionKind::Starts, starts)?;
    writer.plain(column, SectionKind::Order, order)?;
    writer.plain(column, SectionKind::FrequentCodes, frequent)?;
    writer.plain(column, SectionKind::FrequentBits, bits)
}

fn of_dictionary(array: &ArrayRef) -> Coded<'_> {
    let dictionary = array.as_dictionary::<Int32Type>();
    let texts = dictionary.values().as_string::<i32>();
    let mut used = vec![false; texts.len()];
    for row in 0..dictionary.len() {
        if let Some(code) = dictionary.key(row) {
            used[code] = !texts.is_null(code);
        }
    }
    let mut old: Vec<usize> = (0..texts.len()).filter(|code| used[*code]).collect();
    old.sort_unstable_by_key(|code| texts.value(*code));
    let (mut values, mut new_code) = (Vec::with_capacity(old.len()), vec![u32::MAX; texts.len()]);
    for code in old {
        let value = texts.value(code);
        if values.last() != Some(&value) {
            values.push(value);
        }
        new_code[code] = last_code(&values);
    }
    let missing = last_code(&values).wrapping_add(1);
    let of_row = |row| dictionary.key(row).map(|code| new_code[code]).filter(|code| *code != u32::MAX);
    let codes = (0..dictionary.len()).map(|row| of_row(row).unwrap_or(missing)).collect();
    Coded { values, codes }
}

fn of_plain(array: &ArrayRef) -> Coded<'_> {
    let texts = array.as_string::<i32>();
    let mut sorted: Vec<(&str, u32)> =
        texts.iter().zip(0u32..).filter_map(|(text, row)| Some((text?, row))).collect();
    sorted.sort_unstable();
    let (mut values, mut codes) = (Vec::with_capacity(sorted.len()), vec![u32::MAX; texts.len()]);
    for (value, row) in sorted {
        if values.last() != Some(&value) {
            values.push(value);
        }
        codes[row as usize] = last_code(&values);
    }
    let missing = last_code(&values).wrapping_add(1);
    codes.iter_mut().filter(|code| **code == u32::MAX).for_each(|code| *code = missing);
    Coded { values, codes }
}

/// Sorts distinct keys. `codes` are positions in `keys`.
fn of_keys<'a>(keys: &'a [String], codes: &[Option<u32>]) -> Coded<'a> {
    let mut old: Vec<usize> = (0..keys.len()).collect();
    old.sort_unstable_by_key(|code| &keys[*code]);
    let mut new_code = vec![u32::MAX; keys.len()];
    for (new, old) in (0u32..).zip(&old) {
        new_code[*old] = new;
    }
    let values: Vec<&str> = old.iter().map(|code| keys[*code].as_str()).collect();
    let missing = last_code(&values).wrapping_add(1);
    let codes = codes.iter().map(|code| code.map_or(missing, |code| new_code[code as usize])).collect();
    Coded { values, codes }
}

/// Returns the code of the last value; `u32::MAX` if there are no values.
#[allow(clippy::cast_possible_truncation, reason = "there are at most as many values as rows")]
fn last_code(values: &[&str]) -> u32 {
    (values.len() as u32).wrapping_sub(1)
}

/// Returns the start of each code's rows, and the rows sorted by code.
fn by_code(codes: &[u32], distinct: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; distinct + 1];
    for code in codes {
        starts[*code as usize + 1] += 1;
    }
    for code in 1..starts.len() {
        starts[code] += starts[code - 1];
    }
    let mut next = starts.clone();
    let mut order = vec![0; codes.len()];
    for (row, code) in (0u32..).zip(codes) {
        let position = &mut next[*code as usize];
        order[*position as usize] = row;
        *position += 1;
    }
    (starts, order)
}

fn frequent(starts: &[u32], rows: usize) -> Vec<u32> {
    if rows < MIN_BITMAP_ROWS {
        return Vec::new();
    }
    let counts = starts.windows(2).map(|bounds| (bounds[1] - bounds[0]) as usize);
    let frequent = (0u32..).zip(counts).filter(|(_, count)| count * FREQUENT_RATIO >= rows);
    frequent.map(|(code, _)| code).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_in_order_of_their_numbers_and_equal_ones_ascend(
            numbers in prop_oneof![
                prop::collection::vec(-3..3_i64, 0..50),
                prop::collection::vec(any::<i64>(), 0..50),
            ],
        ) {
            let mut expected: Vec<u32> = (0u32..).take(numbers.len()).collect();
            expected.sort_by_key(|row| numbers[*row as usize]);
            prop_assert_eq!(order_of(&numbers), expected);
        }
    }
}
