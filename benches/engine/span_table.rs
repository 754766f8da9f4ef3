//! Conditions on the spans of 20,000 traces, evaluated with the documents and with the span table of the
//! segment. Prints the minimum time of many runs, which other work on the machine affects least.

#[path = "traces.rs"]
#[allow(dead_code, reason = "the other benchmarks use the rest")]
mod traces;

use std::hint::black_box;
use std::time::{Duration, Instant};

use spanwise::filter::Filter;
use spanwise::otlp::{self, proto};
use spanwise::storage::{IndexKind, Options, TraceStore};
use traces::{Random, attribute, encoded, number, span};

const TRACES: u64 = 20_000;
const TRACES_A_REQUEST: u64 = 500;
const START: u64 = 1_767_225_600_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// Returns an agent with three to nine consecutive calls of models and tools.
fn trace(random: &mut Random) -> Vec<proto::Span> {
    let id = [random.next().to_be_bytes(), random.next().to_be_bytes()].concat();
    let start = START + random.below(30 * 86_400_000) * MILLISECOND;
    let (mut spans, mut end) = (Vec::new(), start);
    for call in 0..3 + random.below(7) {
        let begin = end + random.below(40) * MILLISECOND;
        let lasts = (1 + random.below(1_500)) * MILLISECOND;
        let mut made = span(&id, call + 2, begin, lasts);
        made.parent_span_id = 1_u64.to_be_bytes().to_vec().into();
        (made.name, made.attributes) = if call % 2 == 0 {
            let tokens = number("llm.token_count.prompt", random.below(5_000));
            let kind = attribute("openinference.span.kind", "LLM");
            ("chat gpt-4.1".into(), vec![kind, attribute("llm.model_name", "gpt-4.1"), tokens])
        } else {
            let tool = format!("tool_{}", random.below(24));
            let kind = attribute("openinference.span.kind", "TOOL");
            (tool.clone(), vec![kind, attribute("tool.name", &tool)])
        };
        if call % 2 == 1 && random.below(25) == 0 {
            made.status = Some(proto::Status { code: 2, message: "the tool gave no answer".into() });
        }
        end = begin + lasts;
        spans.push(made);
    }
    let mut agent = span(&id, 1, start, end - start);
    agent.name = format!("Agent_{}.run", random.below(80));
    agent.attributes = vec![attribute("openinference.span.kind", "AGENT")];
    spans.push(agent);
    spans
}

const QUESTIONS: [(&str, &str); 9] = [
    ("tools", r#"{"op":"EQ","key":"type","value":"TOOL"}"#),
    ("one tool", r#"{"op":"EQ","key":"tool_name","value":"tool_5"}"#),
    (
        "failed tools",
        r#"{"op":"AND","conditions":[{"op":"EQ","key":"type","value":"TOOL"},{"op":"EQ","key":"status","value":"ERROR"}]}"#,
    ),
    ("many tokens", r#"{"op":"GT","key":"input_tokens","value":4900}"#),
    (
        "long calls",
        r#"{"op":"AND","conditions":[{"op":"EQ","key":"is_root","value":false},{"op":"GT","key":"duration_ms","value":1490}]}"#,
    ),
    (
        "a failed tool, then a model",
        r#"{"op":"AND","conditions":[{"op":"EQ","key":"status","value":"ERROR"},{"op":"FOLLOWED_BY","where":{"op":"EQ","key":"type","value":"LLM"}}]}"#,
    ),
    (
        "a model, then a tool",
        r#"{"op":"AND","conditions":[{"op":"EQ","key":"type","value":"LLM"},{"op":"FOLLOWED_BY","where":{"op":"EQ","key":"type","value":"TOOL"}}]}"#,
    ),
    (
        "an agent above a failed tool",
        r#"{"op":"AND","conditions":[{"op":"EQ","key":"name","value":"Agent_7.run"},{"op":"DESCENDANT","where":{"op":"EQ","key":"status","value":"ERROR"}}]}"#,
    ),
    (
        "no tool",
        r#"{"op":"AND","conditions":[{"op":"EQ","key":"is_root","value":true},{"op":"NOT","condition":{"op":"CHILD","where":{"op":"EQ","key":"type","value":"TOOL"}}}]}"#,
    ),
];

/// Returns the number of matching traces, and the time. `run` makes every filter unique, so that no cache
/// answers.
fn ask(store: &TraceStore, question: &str, run: usize) -> (usize, Duration) {
    let source = format!(
        r#"{{"op":"AND","conditions":[{{"op":"SPAN","where":{question}}},{{"op":"NEQ","key":"name","value":"{run}"}}]}}"#
    );
    let filter = Filter::compile(source.as_bytes()).expect("a good filter");
    let snapshot = store.snapshot();
    let begun = Instant::now();
    let rows = snapshot.parts().iter().map(|part| part.rows(&filter, &|| false).expect("rows").count());
    let count = black_box(rows.sum());
    (count, begun.elapsed())
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = || Options { indexes: Vec::new(), ..Options::default() };
    let open = |options| TraceStore::open(folder.path().to_str().expect("UTF-8"), options).expect("a store");
    let mut random = Random::new(7);
    let store = open(options());
    let mut spans = 0;
    for _ in 0..TRACES / TRACES_A_REQUEST {
        let made: Vec<_> = (0..TRACES_A_REQUEST).flat_map(|_| trace(&mut random)).collect();
        spans += made.len();
        let export = otlp::decode(encoded(made).into(), "application/x-protobuf", None, START);
        store.ingest(export.expect("a good request")).expect("ingested");
    }
    store.compact(false).expect("merged");
    let of_documents = QUESTIONS.map(|(_, question)| ask(&store, question, 0));
    store.close().expect("closed");
    let store = open(Options { indexes: vec![IndexKind::Spans], ..options() });
    let (begun, before) = (Instant::now(), store.stats().index_bytes);
    store.index().expect("indexed");
    println!(
        "{spans} spans in {TRACES} traces: table made in {:.1?}, {} bytes a trace",
        begun.elapsed(),
        (store.stats().index_bytes - before) / TRACES
    );
    for ((name, question), (expected, by_documents)) in QUESTIONS.into_iter().zip(of_documents) {
        let mut least = Duration::MAX;
        for run in 1..=20 {
            let (count, time) = ask(&store, question, run);
            assert_eq!(count, expected, "{name}");
            least = least.min(time);
        }
        println!(
            "{name:28} {expected:>6} traces, by documents {by_documents:>8.1?}, by the table {least:>8.1?}"
        );
    }
}
