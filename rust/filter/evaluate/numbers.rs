//! Tests of numbers and instants.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, ArrowNativeTypeOp, PrimitiveArray, downcast_integer_array};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::super::columns::mistyped;
use super::super::intervals::IntervalSet;
use super::super::leaf::NumberSet;
use super::key_table::KeyTable;
use super::test::ColumnTest;
use super::words::{each_open, each_value, is_dense, keep};
use crate::error::Result;
use crate::schema::Field;

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// The maximum number of integers of a set that are listed.
const MAX_POINTS: i128 = 1 << 14;

/// Returns the test of a column of numbers; `None` if all its values are NULL.
pub(super) fn number_test(
    field: Field,
    array: &ArrayRef,
    numbers: &NumberSet,
) -> Result<Option<Box<dyn ColumnTest>>> {
    Ok(Some(downcast_integer_array!(
        array => whole_test(array, &numbers.whole, 1),
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values().clone();
            let all = (f64::NEG_INFINITY, f64::INFINITY);
            let points = points_of(&numbers.floating);
            interval_test(values, &numbers.floating, all, points, |value| (value + 0.0).to_bits())
        },
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values().clone();
            let singles = numbers.floating.in_singles();
            let all = (f32::NEG_INFINITY, f32::INFINITY);
            let points = points_of(&singles);
            interval_test(values, &singles, all, points, |value| (value + 0.0).to_bits().into())
        },
        DataType::Null => return Ok(None),
        other => return Err(mistyped(field, other)),
    )))
}

/// Returns a test for `NaN`; `None` if the column type has no `NaN`.
pub(super) fn nan_test(array: &ArrayRef) -> Option<Box<dyn ColumnTest>> {
    if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        return Some(Box::new(NumberTestOf { values: floats.values().clone(), is_hit: f64::is_nan }));
    }
    let floats = array.as_primitive_opt::<Float32Type>()?;
    Some(Box::new(NumberTestOf { values: floats.values().clone(), is_hit: f32::is_nan }))
}

/// Returns the test of a column of instants; `None` if all its values are NULL.
pub(super) fn time_test(
    field: Field,
    array: &ArrayRef,
    instants: &IntervalSet<i128>,
) -> Result<Option<Box<dyn ColumnTest>>> {
    Ok(Some(match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            whole_test(array.as_primitive::<TimestampSecondType>(), instants, SECOND)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            whole_test(array.as_primitive::<TimestampMillisecondType>(), instants, SECOND / 1_000)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            whole_test(array.as_primitive::<TimestampMicrosecondType>(), instants, SECOND / 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            whole_test(array.as_primitive::<TimestampNanosecondType>(), instants, 1)
        }
        DataType::Date32 => whole_test(array.as_primitive::<Date32Type>(), instants, 86_400 * SECOND),
        DataType::Date64 => whole_test(array.as_primitive::<Date64Type>(), instants, SECOND / 1_000),
        DataType::Null => return Ok(None),
        other => return Err(mistyped(field, other)),
    }))
}

/// Returns a test that values, in units of `unit`, are in `intervals`.
fn whole_test<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    intervals: &IntervalSet<i128>,
    unit: i128,
) -> Box<dyn ColumnTest>
where
    T::Native: TryFrom<i128>,
    i128: From<T::Native>,
{
    let all = (T::Native::MIN_TOTAL_ORDER, T::Native::MAX_TOTAL_ORDER);
    let native = intervals.in_units(unit, all.0, all.1);
    interval_test(array.values().clone(), &native, all, whole_points_of(&native), key_of::<T::Native>)
}

/// Returns the key of an integer, which is unique within its type.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no type has more than 64 bits")]
fn key_of<N>(value: N) -> u64
where
    i128: From<N>,
{
    i128::from(value) as u64
}

/// Returns the values of a set of single values; `None` if it has an interval.
fn points_of<N: Copy + PartialOrd>(intervals: &IntervalSet<N>) -> Option<Vec<N>> {
    intervals.iter().map(|(first, last)| (first >= last).then_some(first)).collect()
}

/// Returns the integers of a small set; `None` if there are more than [`MAX_POINTS`]. Adjacent integers of a
/// list form an interval.
fn whole_points_of<N: Copy + PartialOrd + TryFrom<i128>>(intervals: &IntervalSet<N>) -> Option<Vec<N>>
where
    i128: From<N>,
{
    let length = |(first, last): (N, N)| i128::from(last) - i128::from(first) + 1;
    if intervals.iter().map(length).sum::<i128>() > MAX_POINTS {
        return None;
    }
    let points = intervals.iter().flat_map(|(first, last)| i128::from(first)..=i128::from(last));
    points.map(|point| N::try_from(point).ok()).collect()
}

/// Returns a test that values are in `intervals`. If the set consists of single values, `points` lists them.
/// `all` has the least and the greatest value. `key` returns a number that only equal values share.
#[allow(clippy::needless_bitwise_bool, reason = "branchless, so that many values are compared at once")]
fn interval_test<N>(
    values: ScalarBuffer<N>,
    intervals: &IntervalSet<N>,
    all: (N, N),
    points: Option<Vec<N>>,
    key: impl Fn(N) -> u64 + Copy + Send + Sync + 'static,
) -> Box<dyn ColumnTest>
where
    N: ArrowNativeType + PartialOrd,
{
    let list: Vec<_> = intervals.iter().collect();
    if let [(first, last)] = *list.as_slice() {
        return Box::new(NumberTestOf { values, is_hit: move |value| within(value, first, last) });
    }
    // All values except one number or one interval: two comparisons, without a comparison with the least or
    // the greatest value.
    if let [(first, before), (after, last)] = *list.as_slice()
        && (first, last) == all
    {
        return Box::new(NumberTestOf { values, is_hit: move |value| (value <= before) | (after <= value) });
    }
    if let Some(points) = points {
        let keys: Vec<_> = points.into_iter().map(key).collect();
        return Box::new(Listed { values, table: KeyTable::new(&keys), key });
    }
    let intervals = intervals.clone();
    Box::new(NumberTestOf { values, is_hit: move |value| intervals.contains(value) })
}

#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "branchless, so that many values are compared at once")]
fn within<N: Copy + PartialOrd>(value: N, first: N, last: N) -> bool {
    (first <= value) & (value <= last)
}

/// A test by a function.
struct NumberTestOf<N: ArrowNativeType, F> {
    values: ScalarBuffer<N>,
    is_hit: F,
}

impl<N: ArrowNativeType, F: Fn(N) -> bool + Send + Sync> ColumnTest for NumberTestOf<N, F> {
    fn find(&self, first: usize, open: &[u64], matching: &mut [u64]) {
        let values = rows_of(&self.values, first, open);
        if is_dense(open) {
            each_value(values, matching, &self.is_hit);
        } else {
            each_open(open, matching, |row| (self.is_hit)(values[row]));
        }
    }
}

/// A test by lookup in a table.
struct Listed<N: ArrowNativeType, K> {
    values: ScalarBuffer<N>,
    table: KeyTable,
    key: K,
}

impl<N: ArrowNativeType, K: Fn(N) -> u64 + Send + Sync> ColumnTest for Listed<N, K> {
    fn find(&self, first: usize, open: &[u64], matching: &mut [u64]) {
        let values = rows_of(&self.values, first, open);
        let has = |row: usize| self.table.has((self.key)(values[row]), |_| true);
        if is_dense(open) {
            let filter = self.table.filter();
            each_value(values, matching, |value| filter.may_have((self.key)(value)));
            matching.iter_mut().zip(open).for_each(|(matching, open)| *matching &= open);
            keep(matching, has);
        } else {
            each_open(open, matching, has);
        }
    }
}

fn rows_of<'v, N: ArrowNativeType>(values: &'v ScalarBuffer<N>, first: usize, open: &[u64]) -> &'v [N] {
    &values[first..values.len().min(first + open.len() * 64)]
}
