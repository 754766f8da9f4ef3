//! Batches in every possible column layout, with their plain values.

use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch,
    StringArray, new_null_array,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use spanwise::schema::{FIELDS, FieldInfo, FieldType};

use super::oracle::{Cell, Row};

/// Texts for rows and filters: case pairs outside ASCII, pattern metacharacters, ids.
pub(crate) const TEXTS: [&str; 24] = [
    "",
    "a",
    "A",
    "ab",
    "AB",
    "aB%",
    "a_b",
    ".*",
    "k",
    "\u{212a}",
    "s",
    "\u{17f}",
    "ß",
    "ẞ",
    "ss",
    "σ",
    "ς",
    "Σ",
    "日本",
    "🙂a",
    "ǆ",
    "ǅ",
    "0a0b",
    "zoe\u{301}",
];

/// Times around the boundaries of units, in filter syntax and in nanoseconds since 1970.
pub(super) const TIMES: [(&str, i128); 8] = [
    ("1970-01-01", 0),
    ("1970-01-01T00:00:00.000000001Z", 1),
    ("1969-12-31T23:59:59.999999999Z", -1),
    ("1970-01-02T00:00+00:00", 86_400_000_000_000),
    ("1970-01-01T23:59:59.999Z", 86_399_999_000_000),
    ("1969-12-31T00:00:00.5", -86_399_500_000_000),
    ("1970-01-01T05:30:00.000001+05:30", 1_000),
    ("9999-12-30", 253_402_128_000_000_000_000),
];

/// The layout of a column, and the value of each row (`None` for NULL).
pub(super) type Plan = (u8, Vec<Option<u8>>);

/// A batch, and the values of each row.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) batch: RecordBatch,
    cells: Vec<Vec<Option<Cell>>>,
}

/// One row of a table.
pub(super) struct TableRow<'a>(&'a Table, usize);

impl Row for TableRow<'_> {
    fn cell(&self, key: &str) -> Option<&Cell> {
        let field = FIELDS.iter().position(|info| info.key == key).expect("a field");
        self.0.cells[field][self.1].as_ref()
    }
}

impl Table {
    pub(super) fn rows(&self) -> impl Iterator<Item = TableRow<'_>> {
        (0..self.batch.num_rows()).map(|row| TableRow(self, row))
    }
}

/// Returns random tables. Every column has its own layout, any value may be NULL, and some columns are
/// sliced.
pub(super) fn tables() -> impl Strategy<Value = Table> {
    (0..70usize, 0..4usize).prop_flat_map(|(rows, skipped)| {
        let seed = prop_oneof![1 => Just(None), 4 => any::<u8>().prop_map(Some)];
        let plan = (any::<u8>(), prop::collection::vec(seed, rows + skipped));
        prop::collection::vec(plan, FIELDS.len()).prop_map(move |plans| table(&plans, skipped))
    })
}

/// Returns a table whose columns have one layout and contain every value and NULL.
pub(super) fn every_value(layout: u8) -> Table {
    let seeds: Vec<Option<u8>> = (0..60).map(Some).chain([None]).collect();
    table(&vec![(layout, seeds); FIELDS.len()], 0)
}

fn table(plans: &[Plan], skipped: usize) -> Table {
    let columns: Vec<(ArrayRef, Vec<Option<Cell>>)> =
        FIELDS.iter().zip(plans).map(|(info, plan)| column(info, plan)).collect();
    let fields = FIELDS.iter().zip(&columns);
    let fields = fields.map(|(info, column)| Field::new(info.key, column.0.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let (arrays, cells): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let whole = RecordBatch::try_new(schema, arrays).expect("a batch");
    let batch = whole.slice(skipped, whole.num_rows() - skipped);
    let cells = cells.into_iter().map(|mut cells: Vec<_>| cells.split_off(skipped)).collect();
    Table { batch, cells }
}

fn column(info: &FieldInfo, plan: &Plan) -> (ArrayRef, Vec<Option<Cell>>) {
    if plan.0 == u8::MAX {
        return (new_null_array(&DataType::Null, plan.1.len()), vec![None; plan.1.len()]);
    }
    match info.field_type {
        FieldType::Status => text_column(plan, &["OK", "ERROR"]),
        FieldType::Text => text_column(plan, &TEXTS),
        FieldType::Number | FieldType::Dollars => number_column(plan),
        FieldType::Time => time_column(plan),
        FieldType::Boolean | FieldType::Content => panic!("no column is of this type"),
    }
}

fn text_column((layout, seeds): &Plan, pool: &[&str]) -> (ArrayRef, Vec<Option<Cell>>) {
    let picked = |seed: &Option<u8>| seed.map(|seed| pool[usize::from(seed) % pool.len()]);
    let cells = seeds.iter().map(|seed| picked(seed).map(|text| Cell::Text(text.to_owned())));
    let texts = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
    let plain = texts[usize::from(layout / 11) % 3].clone();
    let values = arrow_cast::cast(&seeds.iter().map(picked).collect::<StringArray>(), &plain).expect("text");
    let array = match layout % 11 {
        0 => dictionary::<Int8Type>(seeds, pool, &plain),
        1 => dictionary::<Int16Type>(seeds, pool, &plain),
        2 => dictionary::<Int32Type>(seeds, pool, &plain),
        3 => dictionary::<Int64Type>(seeds, pool, &plain),
        4 => dictionary::<UInt8Type>(seeds, pool, &plain),
        5 => dictionary::<UInt16Type>(seeds, pool, &plain),
        6 => dictionary::<UInt32Type>(seeds, pool, &plain),
        7 => dictionary::<UInt64Type>(seeds, pool, &plain),
        _ => values,
    };
    (array, cells.collect())
}

/// Returns a dictionary with each text twice and a null. A NULL row has no code, or the code of the null.
fn dictionary<K>(seeds: &[Option<u8>], pool: &[&str], plain: &DataType) -> ArrayRef
where
    K: arrow_array::types::ArrowDictionaryKeyType,
    K::Native: TryFrom<usize>,
{
    let values = pool.iter().chain(pool).map(|text| Some(*text)).chain([None]);
    let values = arrow_cast::cast(&values.collect::<StringArray>(), plain).expect("text");
    let code = |(row, seed): (usize, &Option<u8>)| {
        let again = if row % 2 == 0 { 0 } else { pool.len() };
        let code = match seed {
            Some(seed) => Some(usize::from(*seed) % pool.len() + again),
            None => (row % 2 == 0).then_some(2 * pool.len()),
        };
        code.map(|code| K::Native::try_from(code).unwrap_or_else(|_| panic!("{code} is a code")))
    };
    let codes: PrimitiveArray<K> = seeds.iter().enumerate().map(code).collect();
    Arc::new(DictionaryArray::new(codes, values))
}

fn whole_column<T: ArrowPrimitiveType>(seeds: &[Option<u8>], pool: &[i128]) -> (ArrayRef, Vec<Option<Cell>>)
where
    T::Native: TryFrom<i128>,
    i128: From<T::Native>,
{
    let fitting: Vec<T::Native> = pool.iter().filter_map(|value| T::Native::try_from(*value).ok()).collect();
    let picked: Vec<_> =
        seeds.iter().map(|seed| seed.map(|seed| fitting[usize::from(seed) % fitting.len()])).collect();
    let cells = picked.iter().map(|value| value.map(|value| Cell::Whole(value.into()))).collect();
    (Arc::new(picked.into_iter().collect::<PrimitiveArray<T>>()), cells)
}

fn floating_column<T: ArrowPrimitiveType>(
    seeds: &[Option<u8>],
    pool: &[T::Native],
) -> (ArrayRef, Vec<Option<Cell>>)
where
    f64: From<T::Native>,
{
    let picked: Vec<_> =
        seeds.iter().map(|seed| seed.map(|seed| pool[usize::from(seed) % pool.len()])).collect();
    let cell = |value: T::Native| Some(f64::from(value)).filter(|value| !value.is_nan()).map(Cell::Floating);
    let cells = picked.iter().map(|value| value.and_then(cell)).collect();
    (Arc::new(picked.into_iter().collect::<PrimitiveArray<T>>()), cells)
}

fn number_column((layout, seeds): &Plan) -> (ArrayRef, Vec<Option<Cell>>) {
    let (small, wide) = (i128::from(i64::MIN), i128::from(u64::MAX));
    let pool = [0, 1, 2, 3, 5, -1, -2, 9_007_199_254_740_993, i128::from(i64::MAX), small, wide, wide - 1];
    let doubles = [
        0.0,
        -0.0,
        1.0,
        1.5,
        0.1,
        -2.5,
        9_007_199_254_740_992.0,
        1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let floats = [0.0, -0.0, 1.0, 1.5, 0.1, -2.5, 16_777_216.0, f32::NAN, f32::INFINITY];
    match layout % 10 {
        0 => whole_column::<Int8Type>(seeds, &pool),
        1 => whole_column::<Int16Type>(seeds, &pool),
        2 => whole_column::<Int32Type>(seeds, &pool),
        3 => whole_column::<Int64Type>(seeds, &pool),
        4 => whole_column::<UInt8Type>(seeds, &pool),
        5 => whole_column::<UInt16Type>(seeds, &pool),
        6 => whole_column::<UInt32Type>(seeds, &pool),
        7 => whole_column::<UInt64Type>(seeds, &pool),
        8 => floating_column::<Float32Type>(seeds, &floats),
        _ => floating_column::<Float64Type>(seeds, &doubles),
    }
}

fn time_column((layout, seeds): &Plan) -> (ArrayRef, Vec<Option<Cell>>) {
    let zone = |layout: u8| match layout / 6 % 3 {
        0 => None,
        1 => Some("UTC".into()),
        _ => Some("+05:30".into()),
    };
    let (data_type, unit) = match layout % 6 {
        0 => (DataType::Timestamp(TimeUnit::Second, zone(*layout)), 1_000_000_000),
        1 => (DataType::Timestamp(TimeUnit::Millisecond, zone(*layout)), 1_000_000),
        2 => (DataType::Timestamp(TimeUnit::Microsecond, zone(*layout)), 1_000),
        3 => (DataType::Timestamp(TimeUnit::Nanosecond, zone(*layout)), 1),
        4 => (DataType::Date32, 86_400_000_000_000),
        _ => (DataType::Date64, 1_000_000),
    };
    let counts: Vec<Option<i64>> = seeds
        .iter()
        .map(|seed| i64::try_from(TIMES[usize::from((*seed)?) % TIMES.len()].1.div_euclid(unit)).ok())
        .collect();
    let cells =
        counts.iter().map(|count| count.map(|count| Cell::Instant(i128::from(count) * unit))).collect();
    let counts = Int64Array::from(counts);
    // Counts are cast to instants unchanged; a 32-bit date is the only narrower type.
    let array = if data_type == DataType::Date32 {
        let days = arrow_cast::cast(&counts, &DataType::Int32).expect("days");
        days.to_data().into_builder().data_type(data_type).build().expect("the same bits")
    } else {
        counts.to_data().into_builder().data_type(data_type).build().expect("the same bits")
    };
    (arrow_array::make_array(array), cells)
}
