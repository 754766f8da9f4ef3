//! Laws of text searches in stored documents, compared with every text of every span.

use std::collections::{BTreeMap, BTreeSet};

use regex::{Regex, RegexBuilder};
use serde_json::{Value as Json, json};
use spanwise::otlp::TraceId;
use spanwise::otlp::proto::{self, any_value};
use spanwise::otlp::span_ref::SourceRef;
use spanwise::query::{self, CancellationToken, PageRequest, Sort};
use spanwise::storage::{Options, Snapshot, TraceStore};
use spanwise::trace::Trace;
use spanwise::trace::view::{Channel, StoredTrace, TextProbe, TraceView};

use super::said::{event, said, speaking};
use crate::filter::compiled;
use crate::index::texts::oracle::{CHANNELS, searched};
use crate::support::logs::{self, log};
use crate::support::random::Random;
use crate::support::spans::{request, span, with};
use crate::trace::captures::Captures;

const KEYS: [&str; 4] = ["input", "output", "error", "text"];

/// The texts of a span in each channel.
type Texts = [Vec<String>; 4];
/// The bytes of the spans of a trace, and their texts.
type Spans = [(Vec<u8>, Texts)];
type Wanted<'a> = &'a dyn Fn(&Spans) -> bool;

/// Returns the bytes of each span of an assembled trace, with its texts.
fn texts_of(trace: &Trace) -> Vec<(Vec<u8>, Texts)> {
    let view = TraceView::of(trace);
    let texts = |place, channel| {
        let texts = view.texts(place, channel).expect("a span");
        texts.map(str::to_owned).collect()
    };
    let spans = 0..view.len();
    spans.map(|place| (view.span(place).wire.bytes.to_vec(), CHANNELS.map(|of| texts(place, of)))).collect()
}

fn regex(pattern: &str, ignore_case: bool) -> Regex {
    let regex = RegexBuilder::new(&regex::escape(pattern)).case_insensitive(ignore_case).build();
    regex.expect("an escaped pattern")
}

fn is_in(regex: &Regex, text: &str) -> bool {
    searched(text).iter().any(|part| regex.is_match(part))
}

/// Returns a pattern. Most patterns are within a text, at one level of its escapes.
fn pattern(random: &mut Random, texts: &[String]) -> String {
    let below =
        |random: &mut Random, bound: usize| usize::try_from(random.below(bound as u64)).expect("small");
    let length = 1 + below(random, 14);
    if texts.is_empty() || random.below(8) == 0 {
        return said(random);
    }
    let parts = searched(&texts[below(random, texts.len())]);
    let letters: Vec<char> = parts[below(random, parts.len())].chars().collect();
    let start = below(random, letters.len());
    let mut pattern: String = letters[start..].iter().take(length).collect();
    match random.below(6) {
        0 => pattern = pattern.to_uppercase(),
        1 => pattern = pattern.to_lowercase(),
        2 => pattern = pattern.replace('-', "_"),
        _ => {}
    }
    pattern
}

/// Returns `true` if a pattern can be searched for.
fn is_pattern(pattern: &str) -> bool {
    pattern
        .chars()
        .any(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter) || !letter.is_ascii())
}

/// Asserts that the probe never rejects the bytes of a span with a matching text. Returns `true` if the probe
/// can reject other bytes.
fn assert_probed(trace: &Trace, (pattern, ignore_case): (&str, bool)) -> bool {
    let Some(probe) = TextProbe::of(pattern, ignore_case) else { return false };
    let wanted = regex(pattern, ignore_case);
    assert!(
        texts_of(trace).iter().all(|(bytes, _)| !probe.may_be_in_span(bytes) || probe.may_be_among(bytes))
    );
    for (bytes, texts) in texts_of(trace) {
        if let Some(found) = texts[3].iter().find(|text| is_in(&wanted, text)) {
            assert!(probe.may_be_in_span(&bytes), "{pattern:?} in {found:?}");
        }
    }
    let stored = StoredTrace::new(trace.trace_id, 0, trace.document().into(), true);
    for span in stored.spans().expect("spans").expect("no fragments") {
        let decoded = span.decoded().expect("a span");
        for channel in CHANNELS {
            let texts: Vec<&str> = decoded.texts(channel).expect("texts").collect();
            let may_be_in = |source: &SourceRef<'_>| probe.may_be_in_source(source);
            let has_source = span.has_source(channel, may_be_in).expect("a span");
            let found = texts.iter().find(|text| is_in(&wanted, text));
            assert!(has_source || found.is_none(), "{pattern:?} in {found:?}, {channel:?}");
        }
    }
    true
}

/// Asserts that texts found in the attributes alone are texts of the span. If a view claims that they are
/// complete, asserts that too.
fn assert_sent(trace: &Trace) {
    let stored = StoredTrace::new(trace.trace_id, 0, trace.document().into(), true);
    let in_view: BTreeMap<_, _> = texts_of(trace).into_iter().collect();
    for span in stored.spans().expect("spans").expect("no fragments") {
        let decoded = span.decoded().expect("a span");
        for (channel, in_view) in CHANNELS.into_iter().zip(&in_view[span.bytes()]) {
            let texts: Vec<&str> = decoded.texts(channel).expect("texts").collect();
            assert_eq!(texts, *in_view, "{channel:?}");
            let is_other = |text: &str| !texts.contains(&text);
            assert!(!span.has_sent_text(channel, is_other).expect("a span"), "{texts:?} in {channel:?}");
        }
    }
}

fn cases() -> u64 {
    std::env::var("SAID_CASES").map_or(400, |cases| cases.parse().expect("a number"))
}

#[test]
fn no_span_with_a_pattern_is_passed_over() {
    let mut probed = 0;
    for seed in 0..cases() {
        let mut random = Random::new(seed);
        let spans: Vec<_> = (1..4).map(|id| speaking(&mut random, 1, id)).collect();
        let trace = trace_of(&spans);
        assert_sent(&trace);
        let texts: Vec<String> =
            texts_of(&trace).into_iter().flat_map(|(_, texts)| texts).flatten().collect();
        for _ in 0..25 {
            let pattern = pattern(&mut random, &texts);
            probed += u64::from(assert_probed(&trace, (&pattern, random.below(3) > 0)));
        }
    }
    assert!(probed > cases() * 25 / 4, "{probed} patterns of {}", cases() * 25);
}

#[test]
fn no_span_of_a_captured_program_with_a_pattern_is_passed_over() {
    let mut random = Random::new(7);
    for (_, traces) in Captures::read().cases {
        for trace in traces.values() {
            assert_sent(trace);
            let texts: Vec<String> =
                texts_of(trace).into_iter().flat_map(|(_, texts)| texts).flatten().collect();
            for _ in 0..10 {
                let pattern = pattern(&mut random, &texts);
                assert_probed(trace, (&pattern, random.below(3) > 0));
            }
        }
    }
}

fn trace_of(spans: &[proto::Span]) -> Trace {
    let accepted = request(spans).spans.into_iter();
    let spans =
        accepted.map(|own| std::sync::Arc::new(spanwise::trace::Span::from_wire(own.wire).expect("a span")));
    let spans: Vec<_> = spans.collect();
    Trace::new(spans[0].trace_id, 0).with(spans)
}

/// Returns a store with some traces. Some are flushed, and some have fragments. Without `is_indexed`, there
/// is no text index.
fn store_of(random: &mut Random, path: &str, is_indexed: bool) -> TraceStore {
    let options =
        if is_indexed { Options::default() } else { Options { indexes: Vec::new(), ..Options::default() } };
    let store = TraceStore::open(path, options).expect("a store");
    for trace in 1..=8 {
        for id in 1..=random.below(3) {
            store.ingest(request(&[speaking(random, trace, id)])).expect("ingested");
        }
        if random.below(3) == 0 {
            let mut record = log(trace, 1, trace);
            let attributes = event(random, 7).attributes;
            record.body = attributes.into_iter().next().and_then(|own| own.value).or(record.body);
            store.ingest_logs(logs::logs(&[record])).expect("ingested");
        }
        if trace == 6 {
            store.flush().expect("sealed");
        }
    }
    if is_indexed {
        store.index().expect("indexed");
    }
    store
}

/// Returns the truth for a trace, from its texts.
fn truth(spans: &Spans, channel: usize, wanted: &Regex) -> Option<bool> {
    let mut texts = spans.iter().flat_map(|(_, texts)| &texts[channel]).peekable();
    texts.peek().is_some().then(|| texts.any(|text| is_in(wanted, text)))
}

fn found(snapshot: &Snapshot, filter: &Json) -> BTreeSet<String> {
    let request = PageRequest { page: 1, limit: 100, sort: Sort::NEWEST_FIRST };
    let page = query::ids(snapshot, &compiled(&filter.to_string()), request, &CancellationToken::default());
    serde_json::from_slice(&page.expect("a page").data).expect("ids")
}

fn assert_found(snapshot: &Snapshot, traces: &[Trace], (pattern, ignore_case): (&str, bool)) {
    let wanted = regex(pattern, ignore_case);
    let texts: Vec<_> = traces.iter().map(|trace| (trace.trace_id, texts_of(&trace.assembled()))).collect();
    let ids = |is_wanted: Wanted<'_>| {
        let own = texts.iter().filter(|(_, spans)| is_wanted(spans));
        own.map(|(id, _): &(TraceId, _)| id.to_string()).collect::<BTreeSet<_>>()
    };
    for (channel, key) in KEYS.iter().enumerate() {
        let leaf = json!({"op": "CONTAINS", "key": key, "value": pattern, "ignore_case": ignore_case});
        let not = json!({"op": "NOT", "condition": leaf});
        let has = |texts: &Texts| texts[channel].iter().any(|text| is_in(&wanted, text));
        let is_without = |(_, texts): &(Vec<u8>, Texts)| !texts[channel].is_empty() && !has(texts);
        let cases: [(Json, Wanted<'_>); 4] = [
            (leaf.clone(), &|spans| truth(spans, channel, &wanted) == Some(true)),
            (not.clone(), &|spans| truth(spans, channel, &wanted) == Some(false)),
            (json!({"op": "SPAN", "where": leaf}), &|spans| spans.iter().any(|(_, texts)| has(texts))),
            (json!({"op": "SPAN", "where": not}), &|spans| spans.iter().any(is_without)),
        ];
        for (filter, is_wanted) in cases {
            assert_eq!(found(snapshot, &filter), ids(is_wanted), "{filter}");
        }
    }
}

#[test]
fn what_documents_say_is_found() {
    for seed in 0..cases() / 10 {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let store = store_of(&mut random, folder.path().to_str().expect("a path"), seed % 2 == 0);
        let snapshot = store.snapshot();
        let parts = snapshot.parts().iter();
        let rows = parts.flat_map(|part| {
            let visible =
                (0..part.count()).filter(|row| !part.invisible().contains(u32::try_from(*row).expect("few")));
            visible.map(|row| part.trace(row).expect("readable")).collect::<Vec<_>>()
        });
        let traces: Vec<Trace> = rows.collect();
        let texts = traces.iter().flat_map(|trace| texts_of(&trace.assembled()));
        let texts: Vec<String> = texts.flat_map(|(_, texts)| texts).flatten().collect();
        for _ in 0..12 {
            let pattern = pattern(&mut random, &texts);
            if is_pattern(&pattern) {
                assert_found(&snapshot, &traces, (&pattern, random.below(3) > 0));
            }
        }
    }
}

#[test]
fn what_is_written_otherwise_is_found() {
    let text = |text: &str| any_value::Value::StringValue(text.into());
    let in_map = |text: &str| {
        let values = vec![logs::text("k", text)];
        any_value::Value::KvlistValue(proto::KeyValueList { values })
    };
    for (sent, patterns) in [
        (text("a \u{212a}elvin b"), &["a kelvin"][..]),
        (text("a \u{17f}cale"), &["a scale"]),
        (text(r"a\u0020b"), &["a b"]),
        (text(r"a b\u0022c"), &["a b\"c"]),
        (text(r"a tool\u002dcall"), &["a tool-call"]),
        (text(r"a b\u005cu0063d"), &["a bcd"]),
        (text(r"a b\u005c/c"), &["a b/c"]),
        (text(r"a \\u006bind"), &["a kind"]),
        (text(r"a \\u212aing"), &["a king"]),
        (text(r"a \ud83d\ude42"), &["a 🙂"]),
        (text(r"a\/b c"), &["a/b c"]),
        (text(r"a b\\\/c"), &["a b/c"]),
        (text(r#"{"a": "b \\\"c\\\" d"}"#), &["b \"c\" d", "b \\\"c", "a\": \"b"]),
        (text(r"C:\new folder"), &[r":\new fo", "ew folder", "new folder"]),
        (text(r"x\u20acd feed y"), &["acd feed", "cd feed", "€d feed", "u20acd feed"]),
        (in_map("a\nthe order"), &["nthe order", r"\nthe order", "the order"]),
        (in_map("a\u{1b}the order"), &["u001bthe order", "1bthe order", r"a\u001bthe order"]),
        (in_map("a \"b\" c"), &[r#"a \"b\" c"#, "a \"b"]),
        (in_map("a tool-call"), &["\"k\":\"a tool", "a tool-call\"}"]),
    ] {
        let mut own = span(1, 1, 0);
        own.attributes
            .push(proto::KeyValue { value: Some(logs::value(sent)), ..logs::text("input.value", "") });
        let trace = trace_of(&[own]);
        let texts = texts_of(&trace).swap_remove(0).1;
        for pattern in patterns {
            let is_there = texts[0].iter().any(|text| is_in(&regex(pattern, true), text));
            assert!(is_there, "{pattern} in {texts:?}");
            assert_probed(&trace, (pattern, true));
        }
    }
}

#[test]
fn a_span_without_a_phrase_is_passed_over() {
    let texts = [
        r#"{"messages": [{"role": "user", "content": "the refused connection, \"to the host\": [1]\nagain"}]}"#,
        "Connection Refused, or: the \"connection\" was refused",
    ];
    let spans = texts.iter().zip(1..).map(|(text, id)| with(span(1, id, 0), "input.value", text));
    let trace = trace_of(&spans.collect::<Vec<_>>());
    let may_be_in = |pattern: &str, ignore_case: bool| {
        let probe = TextProbe::of(pattern, ignore_case).expect("a probe");
        texts_of(&trace).iter().map(|(bytes, _)| probe.may_be_in_span(bytes)).collect::<Vec<_>>()
    };
    assert_eq!(may_be_in("connection refused", true), [false, true]);
    assert_eq!(may_be_in("connection refused", false), [false, false]);
    assert_eq!(may_be_in("\"connection\" was", true), [false, true]);
    assert_eq!(may_be_in("\"content\": \"the", true), [true, false]);
    assert_eq!(may_be_in("to the host\": [2", true), [true, false]);
    assert_eq!(may_be_in("refused, or", true), [false, true]);
    assert_eq!(may_be_in("messages", true), [true, false]);
}

#[test]
fn a_word_may_be_in_base64_only_where_there_are_bytes() {
    let bytes = any_value::Value::BytesValue(vec![7, 41, 9].into());
    let list = |values| any_value::Value::ArrayValue(proto::ArrayValue { values });
    let nested = list(vec![proto::AnyValue { value: Some(bytes.clone()) }]);
    let map = proto::KeyValueList {
        values: vec![proto::KeyValue {
            key: "k".into(),
            value: Some(proto::AnyValue { value: Some(nested.clone()) }),
            ..Default::default()
        }],
    };
    let values =
        [bytes, nested, any_value::Value::KvlistValue(map), list(vec![]), any_value::Value::IntValue(7)];
    let spans = values.into_iter().zip(1..).map(|(value, id)| {
        let mut own = span(1, id, 0);
        own.attributes.push(proto::KeyValue {
            key: "input.value".into(),
            value: Some(proto::AnyValue { value: Some(value) }),
            ..Default::default()
        });
        own
    });
    let trace = trace_of(&spans.collect::<Vec<_>>());
    assert!(assert_probed(&trace, ("BykJ", false)), "that is how they are written");
    let probe = TextProbe::of("BykJ", false).expect("a probe");
    let may_be_in = texts_of(&trace).iter().map(|(bytes, _)| probe.may_be_in_span(bytes)).collect::<Vec<_>>();
    assert_eq!(may_be_in, [true, true, true, false, false]);
}

#[test]
fn a_channel_has_its_own_sources() {
    let spans = [with(with(span(1, 1, 0), "input.value", "of the fare"), "k", "of the fee")];
    let trace = trace_of(&spans);
    let stored = StoredTrace::new(trace.trace_id, 0, trace.document().into(), true);
    let spans = stored.spans().expect("spans").expect("no fragments");
    let has = |channel, wanted: &[u8]| {
        let is_in = |source: &SourceRef<'_>| source.bytes().windows(wanted.len()).any(|part| part == wanted);
        spans[0].has_source(channel, is_in).expect("a span")
    };
    assert!(has(Channel::Input, b"fare") && has(Channel::Any, b"fare"));
    assert!(!has(Channel::Output, b"fare") && !has(Channel::Error, b"fare") && !has(Channel::Any, b"fee"));
}
