//! The fields, operators and axes of filters as JSON: the body of `/traces/filter-schema`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::axis::Axis;
use super::spans::CONTENT_FIELDS;
use crate::schema::{FIELDS, FieldType, STATUSES};
use crate::trace::cost::CostField;
use crate::trace::view::{SPAN_FIELDS, SpanField};

/// Returns the tables of fields as JSON: the fields of traces, then the fields of spans.
pub fn filter_schema_json() -> String {
    let of_traces = FIELDS.iter().map(|info| described(info.key, info.label, info.field_type));
    let costs = CostField::ALL.map(|field| described(field.key(), field.label(), FieldType::Dollars));
    let content = CONTENT_FIELDS.iter().filter_map(|key| SpanField::from_key(key)).map(of_span);
    let fields: Vec<Value> = of_traces.chain(costs).chain(content).collect();
    let span_fields: Vec<Value> = SPAN_FIELDS.iter().map(of_span).collect();
    let axis_options: BTreeMap<_, _> = Axis::all().map(|axis| (axis.word(), axis.options())).collect();
    json!({
        "fields": fields,
        "logical_operators": ["AND", "OR", "NOT"],
        "span_fields": span_fields,
        "axes": Axis::all().map(Axis::word).collect::<Vec<_>>(),
        "axis_options": axis_options,
    })
    .to_string()
}

fn of_span(field: &SpanField) -> Value {
    described(field.key, field.label, field.field_type)
}

fn described(key: &str, label: &str, field_type: FieldType) -> Value {
    let operators: Vec<&str> = field_type.operators().iter().map(|operator| operator.word()).collect();
    let values = (field_type == FieldType::Status).then_some(STATUSES);
    json!({"key": key, "label": label, "type": field_type.word(), "operators": operators, "values": values})
}
