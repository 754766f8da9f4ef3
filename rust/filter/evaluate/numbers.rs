//! Tests of numbers and instants.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, ArrowNativeTypeOp, PrimitiveArray, downcast_integer_array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};

use super::super::columns::mistyped;
use super::super::intervals::IntervalSet;
use super::super::leaf::NumberSet;
use super::key_table::KeyTable;
use super::test::Test;
use super::words::{each_open, each_value, is_dense};
use crate::error::Result;
use crate::schema::Field;

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// Up to so many intervals are compared with one after another.
const FEW: usize = 4;

/// Returns the test of a column of numbers; `None` of one without values.
pub(super) fn number_test(
    field: Field,
    array: &ArrayRef,
    numbers: &NumberSet,
) -> Result<Option<Box<dyn Test>>> {
    Ok(Some(downcast_integer_array!(
        array => whole_test(array, &numbers.whole, 1),
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values().clone();
            interval_test(values, &numbers.floating, |value| value, None)
        },
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values().clone();
            interval_test(values, &numbers.floating, f64::from, None)
        },
        DataType::Null => return Ok(None),
        other => return Err(mistyped(field, other)),
    )))
}

/// Returns the test of a column of instants; `None` of one without values.
pub(super) fn time_test(
    field: Field,
    array: &ArrayRef,
    instants: &IntervalSet<i128>,
) -> Result<Option<Box<dyn Test>>> {
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

/// Returns the test whether values, in `unit`s, are in `intervals`.
fn whole_test<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    intervals: &IntervalSet<i128>,
    unit: i128,
) -> Box<dyn Test>
where
    T::Native: TryFrom<i128>,
    i128: From<T::Native>,
{
    let native = intervals.in_units(unit, T::Native::MIN_TOTAL_ORDER, T::Native::MAX_TOTAL_ORDER);
    interval_test(array.values().clone(), &native, |value| value, Some(key_of::<T::Native>))
}

/// Returns the key of a whole number: different for each one of a type.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no type has more than 64 bits")]
fn key_of<N>(value: N) -> u64
where
    i128: From<N>,
{
    i128::from(value) as u64
}

/// Returns the test whether values are in `intervals`, as `seen` by them. `key` returns a number for each of them that
/// no other one has.
fn interval_test<N, M>(
    values: ScalarBuffer<N>,
    intervals: &IntervalSet<M>,
    seen: impl Fn(N) -> M + Copy + Send + Sync + 'static,
    key: Option<fn(M) -> u64>,
) -> Box<dyn Test>
where
    N: arrow_buffer::ArrowNativeType,
    M: Copy + PartialOrd + Send + Sync + 'static,
{
    let list: Vec<_> = intervals.iter().collect();
    if let [(first, last)] = *list.as_slice() {
        return Box::new(Values { values, is_hit: move |value| within(seen(value), first, last) });
    }
    // All but a number, or an interval: of a list of unknown length it would not be compared many at once.
    if let [(first, last), (second, end)] = *list.as_slice() {
        let is_hit = move |value| {
            let value = seen(value);
            within(value, first, last) | within(value, second, end)
        };
        return Box::new(Values { values, is_hit });
    }
    if list.len() <= FEW {
        let is_hit = move |value| {
            let value = seen(value);
            list.iter().fold(false, |found, (first, last)| found | within(value, *first, *last))
        };
        return Box::new(Values { values, is_hit });
    }
    if let Some(key) = key
        && list.iter().all(|(first, last)| first >= last)
    {
        let points: Vec<_> = list.iter().map(|(point, _)| key(*point)).collect();
        let table = KeyTable::new(&points);
        return Box::new(Values { values, is_hit: move |value| table.has(key(seen(value)), |_| true) });
    }
    let intervals = intervals.clone();
    Box::new(Values { values, is_hit: move |value| intervals.contains(seen(value)) })
}

#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "branchless, so that many values are compared at once")]
fn within<M: Copy + PartialOrd>(value: M, first: M, last: M) -> bool {
    (first <= value) & (value <= last)
}

struct Values<N: arrow_buffer::ArrowNativeType, F> {
    values: ScalarBuffer<N>,
    is_hit: F,
}

impl<N: arrow_buffer::ArrowNativeType, F: Fn(N) -> bool + Send + Sync> Test for Values<N, F> {
    fn find(&self, first: usize, open: &[u64], found: &mut [u64]) {
        let values = &self.values[first..self.values.len().min(first + open.len() * 64)];
        if is_dense(open) {
            each_value(values, found, &self.is_hit);
        } else {
            each_open(open, found, |row| (self.is_hit)(values[row]));
        }
    }
}
