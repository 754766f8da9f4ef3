//! The table of attribute names, by example: `tests/cases/attributes.json`.

use std::borrow::Cow;
use std::collections::HashSet;

use prost::Message as _;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use spanwise::otlp::SpanRef;
use spanwise::otlp::proto::{self, KeyValue};
use spanwise::trace::conventions::{ANY, AttributePositions, SpanSummary, TABLE, TYPES};

use super::made::{detail_of, message, otlp_value, text, trace};

/// Attributes, and the resulting fields of the trace and its node.
#[derive(Deserialize)]
struct Case {
    about: String,
    attributes: Map<String, Json>,
    /// The members to compare: in the trace's detail, and under `node` in its node.
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
    for (index, line) in TABLE.iter().enumerate() {
        assert_eq!(line.attribute as usize, index, "{}", line.word);
        assert!(!line.names.is_empty(), "{} has no names", line.word);
        let names: HashSet<_> = line.names.iter().collect();
        assert_eq!(names.len(), line.names.len(), "{} repeats a name", line.word);
    }
    let words: HashSet<_> = TABLE.iter().map(|line| line.word).collect();
    assert_eq!(words.len(), TABLE.len(), "each attribute has a word of its own");
}

/// Returns the attribute with `value` under a name of the table.
fn named(name: &str, value: &str) -> KeyValue {
    match name.split_once('#') {
        // Only the first attribute of a sum must exist. Its terms are numbers.
        None if name.contains('+') => KeyValue {
            key: name.split('+').next().unwrap_or(name).to_owned(),
            value: Some(otlp_value(&json!(value.parse::<i64>().unwrap_or(0)))),
            ..KeyValue::default()
        },
        None => text(name, value),
        Some((name, path)) => {
            let path = path.trim_end_matches('+');
            let value = value.parse().map_or_else(|_| json!(value), |number: i64| json!(number));
            let member = path.rsplit('.').fold(value, |inside, key| json!({key: inside}));
            text(name, &member.to_string())
        }
    }
}

#[test]
fn the_earlier_name_in_the_table_wins() {
    for line in TABLE {
        for pair in line.names.windows(2) {
            let [first, second] = pair else { continue };
            for order in [[first, second], [second, first]] {
                let value = |name| if name == first { "1" } else { "2" };
                let attributes: Vec<_> = order.iter().map(|name| named(name, value(*name))).collect();
                // Members of one attribute cannot be sent as two attributes.
                if attributes[0].key == attributes[1].key {
                    continue;
                }
                let index = AttributePositions::of(&attributes);
                let text = index.text(&attributes, line.attribute);
                assert_eq!(text.as_deref(), Some("1"), "{}", line.word);
            }
        }
    }
}

#[test]
fn every_name_of_the_table_is_read() {
    for line in TABLE {
        for name in line.names {
            let attributes = [named(name, "17")];
            let text =
                AttributePositions::of(&attributes).text(&attributes, line.attribute).map(Cow::into_owned);
            assert_eq!(text.as_deref(), Some("17"), "{name}");
        }
    }
}

#[test]
fn every_value_of_a_type_line_gives_its_type() {
    for line in TYPES {
        for (value, word) in line.types {
            let sent = if *value == ANY { "ANYTHING" } else { value };
            let span = proto::Span { attributes: vec![text(line.name, sent)], ..message(1, 0, 1) };
            let shown = &detail_of(&trace(&[span]))["tree"][0]["type"];
            assert_eq!(shown, if *word == ANY { sent } else { word }, "{}={sent}", line.name);
        }
    }
}

/// Returns the rows of the table under `heading` in the reference: the first cell, and the code in the others.
fn documented(heading: &str) -> Vec<(String, Vec<String>)> {
    let page = include_str!("../../../docs/reference/traces.md");
    let (_, section) = page.split_once(heading).expect("the heading");
    let rows = section.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').splitn(2, '|');
        let first = cells.next().expect("a cell").trim().trim_matches('`').to_owned();
        let code = cells.next().expect("a second cell").split('`').skip(1).step_by(2);
        (first, code.map(str::to_owned).collect())
    })
    .collect()
}

#[test]
fn the_reference_lists_every_name_in_order() {
    let lines = TABLE.iter().map(|line| {
        let names = line.names.iter().map(|name| (*name).to_owned());
        (line.word.to_owned(), names.collect::<Vec<_>>())
    });
    assert_eq!(documented("\n## Attributes\n"), lines.collect::<Vec<_>>());
}

#[test]
fn the_reference_lists_every_type() {
    let lines = TYPES.iter().map(|line| {
        let words = line.types.iter().flat_map(|(value, word)| [value, word]);
        let words = words.filter(|word| **word != ANY).map(|word| (*word).to_owned());
        (line.name.to_owned(), words.collect::<Vec<_>>())
    });
    assert_eq!(documented("\n### Type\n"), lines.collect::<Vec<_>>());
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
