//! Long values: a truncated value can be read completely in parts.

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use spanwise::otlp::proto;
use spanwise::trace::detail;
use spanwise::trace::values::{ValuePart, write_truncated, write_value_page};

use super::made::{message, otlp_value, span_id, text, trace};

fn cut(span: &Json, max_bytes: usize) -> Json {
    let mut out = Vec::new();
    write_truncated(&mut out, span.to_string().as_bytes(), max_bytes);
    serde_json::from_slice(&out).expect("JSON")
}

fn page(span: &Json, path: &str, from: usize, max_bytes: Option<usize>) -> Option<Json> {
    let mut out = Vec::new();
    let part = ValuePart { path, from, max_bytes };
    let is_there = write_value_page(&mut out, span.to_string().as_bytes(), &part);
    assert_eq!(is_there, !out.is_empty());
    is_there.then(|| serde_json::from_slice(&out).expect("JSON"))
}

/// Returns the text of a value, page by page.
fn whole(span: &Json, path: &str, max_bytes: usize) -> String {
    let (mut text, mut from) = (String::new(), Some(0));
    while let Some(start) = from {
        let page = page(span, path, start, Some(max_bytes)).expect("a page");
        let part = page["text"].as_str().expect("a text");
        assert_eq!(page["from"], start);
        assert_eq!(page["next"].is_null(), start + part.len() == page["bytes"], "{page}");
        assert!(part.len() <= max_bytes && !(part.is_empty() && page["bytes"] != 0), "{page}");
        text.push_str(part);
        from = page["next"].as_u64().map(|next| usize::try_from(next).expect("a position"));
    }
    text
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn strings(json: &Json) -> Vec<&str> {
    match json {
        Json::String(text) => vec![text],
        Json::Array(items) => items.iter().flat_map(strings).collect(),
        Json::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Any JSON. Its texts have characters of every width and every escape.
fn any_json() -> impl Strategy<Value = Json> {
    let words = || "[a\u{e9}\u{4e2d}\u{1f600}\"\\\\\n\u{1}~/]{0,24}";
    let leaf = prop_oneof![words().prop_map(Json::from), any::<i64>().prop_map(Json::from), Just(Json::Null)];
    leaf.prop_recursive(3, 24, 6, move |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..6).prop_map(Json::Array),
            prop::collection::vec((words(), inside), 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// The JSON of a span with any values.
fn any_span() -> impl Strategy<Value = Json> {
    let members = || prop::collection::vec(("[a~/.0]{0,3}", any_json()), 0..4);
    let members =
        move || members().prop_map(|members| Json::Object(members.into_iter().collect::<Map<_, _>>()));
    let event = || {
        (members(), any_json())
            .prop_map(|(attributes, name)| json!({"name": text_of(&name), "attributes": attributes}))
    };
    let events = prop::collection::vec(event(), 0..3);
    (any_json(), members(), members(), events).prop_map(|(input, metadata, attributes, events)| {
        json!({"input": text_of(&input), "metadata": metadata, "extra_data": {"attributes": attributes, "events": events}})
    })
}

proptest! {
    #[test]
    fn whole_values_in_the_place_of_cut_ones_give_the_whole_span(span in any_span(), max_bytes in 4..40_usize) {
        let mut shown = cut(&span, max_bytes);
        let cuts = shown.as_object_mut().expect("a span").remove("cut");
        for text in strings(&shown) {
            prop_assert!(text.len() <= max_bytes, "{} bytes of {}", text.len(), max_bytes);
        }
        for cut in cuts.iter().flat_map(|cuts| cuts.as_array().expect("a list")) {
            let path = cut["path"].as_str().expect("a pointer");
            let sent = span.pointer(path).expect("a value").clone();
            let whole = text_of(&sent);
            prop_assert_eq!(&cut["bytes"], whole.len());
            prop_assert!(whole.len() > max_bytes);
            let beginning = shown.pointer(path).expect("a value").as_str().expect("a text").to_owned();
            prop_assert!(whole.starts_with(&beginning) && beginning.len() > max_bytes - 4);
            *shown.pointer_mut(path).expect("a value") = sent;
        }
        prop_assert_eq!(shown, span);
    }

    #[test]
    fn nothing_is_cut_of_a_span_of_short_values(span in any_span()) {
        prop_assert_eq!(cut(&span, 1 << 20), span);
    }

    #[test]
    fn the_pages_of_a_value_are_its_text(span in any_span(), max_bytes in 4..40_usize) {
        for cut in cut(&span, 4)["cut"].as_array().into_iter().flatten() {
            let path = cut["path"].as_str().expect("a pointer");
            prop_assert_eq!(whole(&span, path, max_bytes), text_of(span.pointer(path).expect("a value")));
        }
    }

    #[test]
    fn a_page_begins_with_the_character_that_its_start_is_in(text in "[a\u{e9}\u{4e2d}\u{1f600}]{0,9}", from in 0..40_usize) {
        let span = json!({"input": text});
        let page = page(&span, "/input", from, None).expect("a page");
        let start = (0..=from.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).expect("0 is one");
        prop_assert_eq!(page, json!({"text": text[start..], "from": start, "bytes": text.len()}));
    }
}

#[test]
fn an_attribute_that_is_no_text_is_cut_as_its_json() {
    let mut sent = message(1, 0, 1);
    sent.attributes = vec![text("long", &"é".repeat(100)), text("short", "x")];
    let list = json!({"a": ["x".repeat(60), "y".repeat(60)]});
    sent.attributes.push(proto::KeyValue {
        key: "a/b~c".into(),
        value: Some(otlp_value(&list)),
        ..proto::KeyValue::default()
    });
    let mut out = Vec::new();
    assert!(detail::write_span(&mut out, &trace(&[sent]), span_id(1)).expect("a readable span"));
    let span: Json = serde_json::from_slice(&out).expect("JSON");
    let shown = cut(&span, 65);
    let attributes = &shown["extra_data"]["attributes"];
    assert_eq!(attributes["long"], "é".repeat(32));
    assert_eq!(attributes["short"], "x");
    assert_eq!(attributes["a/b~c"], format!("{{\"a\":[\"{}", "x".repeat(58)));
    let paths = json!([
        {"path": "/extra_data/attributes/a~1b~0c", "bytes": list.to_string().len()},
        {"path": "/extra_data/attributes/long", "bytes": 200},
    ]);
    assert_eq!(shown["cut"], paths);
    assert_eq!(whole(&span, "/extra_data/attributes/a~1b~0c", 65), list.to_string());
}

#[test]
fn a_path_that_leads_nowhere_gives_no_page() {
    let span = json!({"input": "text", "messages": {"input": [{"text": "a"}]}});
    for path in [
        "",
        "input",
        "/",
        "/output",
        "/input/0",
        "/messages/input/1",
        "/messages/input/00",
        "/messages/input/+0",
        "/messages/input/x",
    ] {
        assert_eq!(page(&span, path, 0, None), None, "{path}");
    }
    assert_eq!(page(&span, "/messages/input/0/text", 0, None).expect("a page")["text"], "a");
    assert_eq!(page(&span, "/input", 99, None).expect("a page"), json!({"text": "", "from": 4, "bytes": 4}));
    assert_eq!(page(&span, "/input", usize::MAX, Some(usize::MAX)).expect("a page")["from"], 4);
}

#[test]
fn deep_values_are_cut_without_recursion() {
    let deep = format!(
        "{{\"extra_data\":{{\"attributes\":{{\"deep\":{}{}}}}}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let mut out = Vec::new();
    write_truncated(&mut out, deep.as_bytes(), 64);
    let shown: Json = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(shown["extra_data"]["attributes"]["deep"], "[".repeat(64));
    assert_eq!(shown["cut"], json!([{"path": "/extra_data/attributes/deep", "bytes": 200_000}]));
}
