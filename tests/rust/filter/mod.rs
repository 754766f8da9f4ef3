//! The filter: golden cases, then laws against a naive evaluator.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use spanwise::filter::Filter;

#[test]
fn first() {
    let schema = Schema::new(vec![
        Field::new("user_id", DataType::Utf8, true),
        Field::new("duration_ms", DataType::Int64, false),
    ]);
    let batch = RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(StringArray::from(vec![Some("Ann"), None, Some("bob")])),
            Arc::new(Int64Array::from(vec![1, 2, 3])),
        ],
    )
    .expect("a batch");
    let filter = Filter::compile(br#"{"op":"OR","conditions":[{"op":"CONTAINS","key":"user_id","value":"AN"},{"op":"GT","key":"duration_ms","value":2.5}]}"#).expect("valid");
    let mask = filter.mask(&batch).expect("mask");
    assert_eq!(mask.iter().map(|hit| hit == Some(true)).collect::<Vec<_>>(), [true, false, true]);
    let mask = filter.restrict("user_id", "bob").expect("valid").mask(&batch).expect("mask");
    assert_eq!(mask.iter().map(|hit| hit == Some(true)).collect::<Vec<_>>(), [false, false, true]);
}
