//! Evaluates a predicate over a record batch.
//!
//! For each row a predicate is true, false or unknown. The evaluator computes either the rows for which it is true
//! or those for which it is false; an unknown row is in neither result, so nulls need no bookkeeping of their own:
//! `NOT` asks its part for the other result, and `AND` and `OR` turn into each other. A missing value becomes "no
//! match" at the very end, where only the true rows are taken. Every evaluation also carries the rows that are
//! still undecided and stops when none is left.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, ArrowNativeTypeOp, DictionaryArray, GenericStringArray, OffsetSizeTrait,
    PrimitiveArray, RecordBatch, downcast_dictionary_array, downcast_integer_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{DataType, TimeUnit};

use super::columns::{Columns, SpanSource, mistyped};
use super::intervals::IntervalSet;
use super::leaf::NumberSet;
use super::planner::SpanRows;
use super::predicate::Predicate;
use super::spans::{SpanTest, Truth};
use super::text::TextMatcher;
use crate::error::{Error, Result};
use crate::schema::Field;
use crate::trace::view::TraceView;

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// Returns the rows of `batch` for which `predicate` is true. `spans` decides conditions on
/// spans.
pub(super) fn evaluate<'a>(
    predicate: &Predicate,
    batch: &'a RecordBatch,
    spans: SpanSource<'a>,
) -> Result<BooleanBuffer> {
    let columns = Columns::find(predicate, batch, spans)?;
    rows(predicate, &columns, &Question { truth: true, among: BooleanBuffer::new_set(batch.num_rows()) })
}

/// Asks for the rows in `among` for which a predicate is `truth`.
#[derive(Clone)]
struct Question {
    truth: bool,
    among: BooleanBuffer,
}

/// Recursion is bounded by the depth of the predicate, and so by that of the expression.
fn rows(predicate: &Predicate, columns: &Columns<'_>, question: &Question) -> Result<BooleanBuffer> {
    let Question { truth, among } = question;
    match predicate {
        Predicate::And(parts) if *truth => rows_of_all(parts, columns, question),
        Predicate::Or(parts) if !*truth => rows_of_all(parts, columns, question),
        Predicate::And(parts) | Predicate::Or(parts) => rows_of_any(parts, columns, question),
        Predicate::Not(part) => rows(part, columns, &Question { truth: !truth, among: among.clone() }),
        Predicate::Exists(field) => {
            let present = present(columns.get(*field));
            Ok(if *truth { among & &present } else { among & &!&present })
        }
        Predicate::Text(field, matcher) => text_rows(*field, columns.get(*field), matcher, question),
        Predicate::Number(field, numbers) => number_rows(*field, columns.get(*field), numbers, question),
        Predicate::Time(field, instants) => time_rows(*field, columns.get(*field), instants, question),
        Predicate::Spans(test) => span_rows(test, columns, question),
    }
}

/// Looks at the trace of each row that the columns leave open, if traces are there.
fn span_rows(test: &SpanTest, columns: &Columns<'_>, question: &Question) -> Result<BooleanBuffer> {
    let Question { truth, among } = question;
    let none = || BooleanBuffer::new_unset(among.len());
    let open = if *truth { rows(&test.implied(), columns, question)? } else { among.clone() };
    let traces = match columns.spans {
        SpanSource::None | SpanSource::Rows(SpanRows::Certain) => return Ok(none()),
        SpanSource::Rows(SpanRows::Possible) => return Ok(open),
        SpanSource::Traces(traces) => traces,
    };
    let mut found = BooleanBufferBuilder::new(open.len());
    found.append_n(open.len(), false);
    for row in open.set_indices() {
        let trace = traces(row);
        if !*truth || test.may_be_true(trace) {
            found.set_bit(row, test.is(Truth::of(*truth), &TraceView::of(&trace.assembled()))?);
        }
    }
    Ok(found.finish())
}

fn rows_of_all(parts: &[Predicate], columns: &Columns<'_>, question: &Question) -> Result<BooleanBuffer> {
    let mut left = question.clone();
    for part in parts {
        if !left.among.has_true() {
            break;
        }
        left.among = rows(part, columns, &left)?;
    }
    Ok(left.among)
}

fn rows_of_any(parts: &[Predicate], columns: &Columns<'_>, question: &Question) -> Result<BooleanBuffer> {
    let mut found = BooleanBuffer::new_unset(question.among.len());
    let mut left = question.clone();
    for part in parts {
        if !left.among.has_true() {
            break;
        }
        let hits = rows(part, columns, &left)?;
        left.among = &left.among ^ &hits;
        found = &found | &hits;
    }
    Ok(found)
}

/// Returns the rows that have a value; `NaN` counts as missing.
fn present(array: &ArrayRef) -> BooleanBuffer {
    let mut present = match array.logical_nulls() {
        Some(nulls) => nulls.into_inner(),
        None => BooleanBuffer::new_set(array.len()),
    };
    if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        present = &present & &BooleanBuffer::collect_bool(floats.len(), |row| !floats.value(row).is_nan());
    } else if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        present = &present & &BooleanBuffer::collect_bool(floats.len(), |row| !floats.value(row).is_nan());
    }
    present
}

fn text_rows(
    field: Field,
    array: &ArrayRef,
    matcher: &TextMatcher,
    question: &Question,
) -> Result<BooleanBuffer> {
    let Question { truth, among } = question;
    if let DataType::Dictionary(_, _) = array.data_type() {
        return dictionary_rows(field, array, matcher, question);
    }
    let among = among & &present(array);
    match array.data_type() {
        DataType::Utf8 => Ok(plain_rows(array.as_string::<i32>(), matcher, *truth, &among)),
        DataType::LargeUtf8 => Ok(plain_rows(array.as_string::<i64>(), matcher, *truth, &among)),
        DataType::Utf8View => Ok(scan(array.as_string_view(), matcher, *truth, &among)),
        DataType::Null => Ok(among),
        other => Err(mistyped(field, other)),
    }
}

fn plain_rows<O: OffsetSizeTrait>(
    texts: &GenericStringArray<O>,
    matcher: &TextMatcher,
    truth: bool,
    among: &BooleanBuffer,
) -> BooleanBuffer {
    let is_majority = among.count_set_bits() > texts.len() / 4;
    match is_majority.then(|| matcher.rows_that_contain(texts)).flatten() {
        Some(hits) if truth => among & &hits,
        Some(hits) => among & &!&hits,
        None => scan(texts, matcher, truth, among),
    }
}

fn scan<'a>(
    texts: impl ArrayAccessor<Item = &'a str> + Copy,
    matcher: &TextMatcher,
    truth: bool,
    among: &BooleanBuffer,
) -> BooleanBuffer {
    let mut scratch = String::new();
    BooleanBuffer::collect_bool(among.len(), |row| {
        among.value(row) && matcher.matches(texts.value(row), &mut scratch) == truth
    })
}

/// Tests the distinct values and expands the result to the rows by their codes, unless there are more values than
/// rows.
fn dictionary_rows(
    field: Field,
    array: &ArrayRef,
    matcher: &TextMatcher,
    question: &Question,
) -> Result<BooleanBuffer> {
    let Question { truth, among } = question;
    let coded = array.as_any_dictionary();
    let distinct = coded.values();
    if distinct.len() > array.len() {
        let plain = arrow_select::take::take(distinct, coded.keys(), None)
            .map_err(|error| Error::Batch(format!("column `{}`: {error}", field.key())))?;
        return text_rows(field, &plain, matcher, question);
    }
    let every = Question { truth: *truth, among: BooleanBuffer::new_set(distinct.len()) };
    let hits = text_rows(field, distinct, matcher, &every)?;
    if !hits.has_true() {
        return Ok(BooleanBuffer::new_unset(array.len()));
    }
    let expanded = downcast_dictionary_array!(
        array => expand_codes(array, &hits),
        other => return Err(mistyped(field, other)),
    );
    Ok(among & &expanded)
}

/// Returns the rows whose code is in `hits`.
fn expand_codes<K: ArrowDictionaryKeyType>(
    dictionary: &DictionaryArray<K>,
    hits: &BooleanBuffer,
) -> BooleanBuffer {
    let codes = dictionary.keys().values();
    // The slot of a missing value may hold any code.
    let hit = |row: usize| {
        let code = codes[row].as_usize();
        code < hits.len() && hits.value(code)
    };
    let expanded = BooleanBuffer::collect_bool(codes.len(), hit);
    match dictionary.keys().nulls() {
        Some(nulls) => &expanded & nulls.inner(),
        None => expanded,
    }
}

fn number_rows(
    field: Field,
    array: &ArrayRef,
    numbers: &NumberSet,
    question: &Question,
) -> Result<BooleanBuffer> {
    let Question { truth, among } = question;
    let among = among & &present(array);
    let found = downcast_integer_array!(
        array => whole_rows(array, &numbers.whole, 1, *truth),
        DataType::Float64 => {
            interval_rows(array.as_primitive::<Float64Type>(), &numbers.floating, *truth)
        },
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>().unary::<_, Float64Type>(f64::from);
            interval_rows(&floats, &numbers.floating, *truth)
        },
        DataType::Null => return Ok(among),
        other => return Err(mistyped(field, other)),
    );
    Ok(&among & &found)
}

fn time_rows(
    field: Field,
    array: &ArrayRef,
    instants: &IntervalSet<i128>,
    question: &Question,
) -> Result<BooleanBuffer> {
    let Question { truth, among } = question;
    let (truth, among) = (*truth, among & &present(array));
    let found = match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            whole_rows(array.as_primitive::<TimestampSecondType>(), instants, SECOND, truth)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            whole_rows(array.as_primitive::<TimestampMillisecondType>(), instants, SECOND / 1_000, truth)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            whole_rows(array.as_primitive::<TimestampMicrosecondType>(), instants, SECOND / 1_000_000, truth)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            whole_rows(array.as_primitive::<TimestampNanosecondType>(), instants, 1, truth)
        }
        DataType::Date32 => whole_rows(array.as_primitive::<Date32Type>(), instants, 86_400 * SECOND, truth),
        DataType::Date64 => whole_rows(array.as_primitive::<Date64Type>(), instants, SECOND / 1_000, truth),
        DataType::Null => return Ok(among),
        other => return Err(mistyped(field, other)),
    };
    Ok(&among & &found)
}

/// Returns the rows whose value, in `unit`s, is in `intervals`, or those where it is not.
fn whole_rows<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    intervals: &IntervalSet<i128>,
    unit: i128,
    truth: bool,
) -> BooleanBuffer
where
    T::Native: TryFrom<i128>,
    i128: From<T::Native>,
{
    let native = intervals.in_units(unit, T::Native::MIN_TOTAL_ORDER, T::Native::MAX_TOTAL_ORDER);
    interval_rows(array, &native, truth)
}

#[allow(clippy::needless_bitwise_bool, reason = "branchless: a branch would be mispredicted half the time")]
fn interval_rows<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    intervals: &IntervalSet<T::Native>,
    truth: bool,
) -> BooleanBuffer {
    let values = array.values();
    match intervals.only() {
        Some((first, last)) => BooleanBuffer::collect_bool(values.len(), |row| {
            let value = values[row];
            ((first <= value) & (value <= last)) == truth
        }),
        None => BooleanBuffer::collect_bool(values.len(), |row| intervals.contains(values[row]) == truth),
    }
}
