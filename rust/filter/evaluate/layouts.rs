//! Tests of text columns, by their Arrow layout.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use super::super::columns::mistyped;
use super::super::text::TextMatcher;
use super::offsets::OffsetTest;
use super::test::ColumnTest;
use super::views::ViewTest;
use crate::error::Result;
use crate::schema::Field;

/// Returns the test of a text column without a dictionary; `None` if all its values are NULL.
pub(super) fn test(
    field: Field,
    array: &ArrayRef,
    matcher: &TextMatcher,
) -> Result<Option<Box<dyn ColumnTest>>> {
    Ok(Some(match array.data_type() {
        DataType::Utf8 => Box::new(OffsetTest::new(array.as_string::<i32>(), matcher)),
        DataType::LargeUtf8 => Box::new(OffsetTest::new(array.as_string::<i64>(), matcher)),
        DataType::Utf8View => Box::new(ViewTest::new(array.as_string_view(), matcher)),
        DataType::Null => return Ok(None),
        other => return Err(mistyped(field, other)),
    }))
}
