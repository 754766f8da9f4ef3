//! Attribute values as JSON: the output is valid, and no data is lost.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use spanwise::otlp::proto::any_value::Value;
use spanwise::otlp::proto::{self, AnyValue, ArrayValue, KeyValue, KeyValueList};

use super::made::{detail_of, message, otlp_json_map, trace};

fn otlp_values() -> impl Strategy<Value = AnyValue> {
    let plain = prop_oneof![
        Just(None),
        ".*".prop_map(|text| Some(Value::StringValue(text))),
        any::<bool>().prop_map(|truth| Some(Value::BoolValue(truth))),
        any::<i64>().prop_map(|number| Some(Value::IntValue(number))),
        any::<f64>().prop_map(|number| Some(Value::DoubleValue(number))),
        Just(Some(Value::DoubleValue(f64::NAN))),
        any::<Vec<u8>>().prop_map(|bytes| Some(Value::BytesValue(bytes.into()))),
    ];
    plain.prop_map(|value| AnyValue { value }).prop_recursive(4, 24, 5, |inside| {
        let entry = ("[a-c]?", inside.clone());
        let entry =
            entry.prop_map(|(key, value)| KeyValue { key, value: Some(value), ..KeyValue::default() });
        prop_oneof![
            prop::collection::vec(inside, 0..5)
                .prop_map(|values| AnyValue { value: Some(Value::ArrayValue(ArrayValue { values })) }),
            prop::collection::vec(entry, 0..5)
                .prop_map(|values| AnyValue { value: Some(Value::KvlistValue(KeyValueList { values })) }),
        ]
    })
}

proptest! {
    #[test]
    fn attributes_become_json_without_loss(
        values in prop_oneof![4 => prop::collection::vec(otlp_values(), 0..4), 1 => prop::collection::vec(otlp_values(), 60)],
        keys in 1_usize..40,
    ) {
        let entry = |(index, value): (usize, &AnyValue)| {
            KeyValue { key: format!("key {}", index % keys), value: Some(value.clone()), ..KeyValue::default() }
        };
        let attributes: Vec<KeyValue> = values.iter().enumerate().map(entry).collect();
        // The expected value is also parsed from text, because parsing a long fraction rounds its last digit.
        let expected: Json = serde_json::from_str(&otlp_json_map(&attributes).to_string()).expect("JSON");
        let detail = detail_of(&trace(&[proto::Span { attributes, ..message(1, 0, 1) }]));
        let shown = &detail["tree"][0]["extra_data"]["attributes"];
        prop_assert_eq!(if shown.is_null() { &json!({}) } else { shown }, &expected);
    }
}
