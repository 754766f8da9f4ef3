//! The table of attribute names, by example: `tests/cases/attributes.json`.

use prost::Message as _;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use spanwise::otlp::SpanRef;
use spanwise::otlp::proto::{self, KeyValue};
use spanwise::trace::dialect::{AttributeIndex, SpanSummary, TABLE};

use super::made::{detail_of, message, otlp_value, text, trace};

/// Attributes, and what the trace and its node show for them.
#[derive(Deserialize)]
struct Case {
    about: String,
    attributes: Map<String, Json>,
    /// The members to compare: of the trace's detail, and in `node` of its node.
    expected: Map<String, Json>,
}

fn of_attributes(attributes: &Map<String, Json>) -> proto::Span {
    let entry = |(key, value): (&String, &Json)| KeyValue {
        key: key.clone(),
        value: Some(otlp_value(value)),
        ..KeyValue::default()
    };
    proto::Span { attributes: attributes.iter().map(entry).collect(), ..message(1, 0, 1) }
}

#[test]
fn every_case_has_its_expected_row_and_node() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../cases/attributes.json")).expect("a list of cases");
    for case in cases {
        let detail = detail_of(&trace(&[of_attributes(&case.attributes)]));
        let node = &detail["tree"][0];
        for (key, expected) in &case.expected {
            let answer = match key.strip_prefix("node.") {
                Some("extra_data.attributes") => &node["extra_data"]["attributes"],
                Some(key) => &node[key],
                None => &detail[key],
            };
            assert_eq!(answer, expected, "{key}: {}", case.about);
        }
    }
}

#[test]
fn every_line_of_the_table_is_at_its_attribute() {
    for (index, (attribute, names)) in TABLE.iter().enumerate() {
        assert_eq!(*attribute as usize, index, "{attribute:?}");
        assert!(!names.is_empty(), "{attribute:?} has no names");
    }
}

#[test]
fn the_earlier_name_in_the_table_wins() {
    for (attribute, names) in TABLE {
        for pair in names.windows(2) {
            let [first, second] = pair else { continue };
            for order in [[first, second], [second, first]] {
                let attributes: Vec<_> = order.iter().map(|name| text(name, &format!("of {name}"))).collect();
                let index = AttributeIndex::of(&attributes);
                let text = index.text(&attributes, attribute);
                assert_eq!(text.as_deref(), Some(format!("of {first}").as_str()), "{attribute:?}");
            }
        }
    }
}

#[test]
fn an_id_may_be_a_number_but_not_a_list() {
    let session_id = |session: Json| {
        let attributes = json!({"session.id": session});
        let span = of_attributes(attributes.as_object().expect("an object")).encode_to_vec();
        SpanSummary::of(&SpanRef::of(&span).expect("a span"), b"").session_id
    };
    assert_eq!(session_id(json!(17)).as_deref(), Some("17"));
    assert_eq!(session_id(json!(["a"])), None);
    assert_eq!(session_id(json!("")), None, "an empty text in an id field is no value");
}
