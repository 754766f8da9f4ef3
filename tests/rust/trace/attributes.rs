//! The table of attribute names, by example: `tests/cases/attributes.json`.

use prost::Message as _;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use spanwise::otlp::SpanRef;
use spanwise::otlp::proto::{self, KeyValue};
use spanwise::trace::dialect::{AttributeIndex, SpanSummary, TABLE};

use super::made::{detail_of, message, otlp_value, text, trace};

/// Attributes, and what a search and a node must say of them.
#[derive(Deserialize)]
struct Case {
    about: String,
    attributes: Map<String, Json>,
    /// The members of the answer that are looked at: of the trace's detail, `node` of its node.
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
fn each_case_is_answered_as_written() {
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
fn a_line_of_the_table_stands_at_its_fact() {
    for (place, (fact, names)) in TABLE.iter().enumerate() {
        assert_eq!(*fact as usize, place, "{fact:?}");
        assert!(!names.is_empty(), "{fact:?} can be told by nothing");
    }
}

#[test]
fn of_two_names_the_earlier_in_the_table_wins_in_any_order() {
    for (fact, names) in TABLE {
        for pair in names.windows(2) {
            let [first, second] = pair else { continue };
            for order in [[first, second], [second, first]] {
                let attributes: Vec<_> = order.iter().map(|name| text(name, &format!("of {name}"))).collect();
                let index = AttributeIndex::of(&attributes);
                let told = index.text(&attributes, fact);
                assert_eq!(told.as_deref(), Some(format!("of {first}").as_str()), "{fact:?}");
            }
        }
    }
}

#[test]
fn an_id_may_be_a_number_but_not_a_list() {
    let session_id = |session: Json| {
        let attributes = json!({"session.id": session});
        let span = of_attributes(attributes.as_object().expect("an object")).encode_to_vec();
        SpanSummary::of(&SpanRef::of(&span).expect("a span")).session_id
    };
    assert_eq!(session_id(json!(17)).as_deref(), Some("17"));
    assert_eq!(session_id(json!(["a"])), None);
    assert_eq!(session_id(json!("")), None, "an empty text in an id field is no value");
}
