//! The row of a trace, compared with a naive implementation of the rules.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array as _, ArrayRef};
use proptest::prelude::*;
use prost::Message as _;
use spanwise::otlp::proto;
use spanwise::schema::{FIELDS, trace_schema};
use spanwise::trace::conventions::ResourceTexts;
use spanwise::trace::tree::Forest;
use spanwise::trace::{Trace, TraceRow, row};

use super::made::{RECEIVED, attribute, detail_of, message, messages, span, text, trace, trace_id};

/// Returns the path from a root to a span: start and index of each span on it.
fn path(trace: &Trace, forest: &Forest, index: usize) -> Vec<(u64, usize)> {
    let up = std::iter::successors(Some(index), |index| forest.parent(*index));
    let mut path: Vec<_> = up.map(|index| (trace.spans()[index].start, index)).collect();
    path.reverse();
    path
}

/// Returns the shallowest matching span. Ties are resolved by start, then id.
fn shallowest(trace: &Trace, forest: &Forest, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let fitting = (0..trace.spans().len()).filter(|index| fits(*index));
    fitting.min_by_key(|index| (path(trace, forest, *index).len(), trace.spans()[*index].start, *index))
}

fn naive_run_root(trace: &Trace, forest: &Forest) -> usize {
    let summary = |index: usize| &trace.spans()[index].summary;
    shallowest(trace, forest, |index| ["AGENT", "CHAIN"].contains(&summary(index).node_type.word()))
        .or_else(|| shallowest(trace, forest, |_| true))
        .expect("a span")
}

/// Returns the nearest session to `run`: below it in breadth-first order, then above it.
fn naive_session(trace: &Trace, forest: &Forest, run: usize) -> Option<String> {
    let has = |index: &usize| trace.spans()[*index].summary.session_id.is_some();
    let way = path(trace, forest, run);
    let below = (0..trace.spans().len()).filter(|index| path(trace, forest, *index).starts_with(&way));
    let nearest_below = below.filter(has).min_by_key(|index| {
        let path = path(trace, forest, *index);
        (path.len(), path)
    });
    let nearest_above = || way.iter().rev().map(|(_, index)| *index).find(has);
    let found = nearest_below.or_else(nearest_above)?;
    trace.spans()[found].summary.session_id.as_deref().map(str::to_owned)
}

proptest! {
    #[test]
    fn a_row_equals_the_naive_reading(messages in messages()) {
        let trace = trace(&messages);
        let forest = Forest::of(trace.spans());
        let row = TraceRow::of(&trace);
        let run = naive_run_root(&trace, &forest);
        prop_assert_eq!(&row.name, &messages[run].name);
        prop_assert_eq!(&row.session_id, &naive_session(&trace, &forest, run));
        let failed = messages.iter().filter(|message| message.status.is_some()).count();
        prop_assert_eq!(usize::try_from(row.total_spans), Ok(messages.len()));
        prop_assert_eq!(usize::try_from(row.error_count), Ok(failed));
        prop_assert_eq!(row.is_error, failed > 0);
        let starts = messages.iter().map(|message| message.start_time_unix_nano);
        let ends = messages.iter().map(|message| message.end_time_unix_nano);
        prop_assert_eq!(row.start_time.cast_unsigned(), starts.min().unwrap_or(0) / 1_000);
        prop_assert_eq!(row.end_time.cast_unsigned(), ends.max().unwrap_or(0) / 1_000);
    }

    #[test]
    fn order_and_repetition_of_arrivals_do_not_matter(
        (messages, shuffled) in messages().prop_flat_map(|messages| {
            let twice = [messages.clone(), messages.clone()].concat();
            (Just(messages), Just(twice).prop_shuffle())
        }),
        batch in 1..5_usize,
    ) {
        let at_once = trace(&messages);
        let mut in_batches = Trace::new(trace_id(), RECEIVED);
        for messages in shuffled.chunks(batch) {
            in_batches = in_batches.with(messages.iter().map(span));
        }
        prop_assert_eq!(TraceRow::of(&at_once), TraceRow::of(&in_batches));
        prop_assert_eq!(detail_of(&at_once), detail_of(&in_batches));
    }

    #[test]
    fn a_batch_round_trips_its_rows(traces in prop::collection::vec(messages(), 0..6)) {
        let rows: Vec<TraceRow> = traces.iter().map(|messages| TraceRow::of(&trace(messages))).collect();
        let batch = row::to_batch(&rows);
        prop_assert_eq!(batch.schema(), trace_schema());
        prop_assert_eq!(batch.num_rows(), rows.len());
        for (index, row) in rows.iter().enumerate() {
            let texts = [
                ("status", Some(if row.is_error { "ERROR" } else { "OK" })),
                ("user_id", row.user_id.as_deref()),
                ("agent_id", row.agent_id.as_deref()),
                ("team_id", row.team_id.as_deref()),
                ("workflow_id", row.workflow_id.as_deref()),
                ("session_id", row.session_id.as_deref()),
                ("run_id", row.run_id.as_deref()),
                ("service", row.service.as_deref()),
                ("environment", row.environment.as_deref()),
                ("release", row.release.as_deref()),
                ("name", Some(row.name.as_str())),
                ("trace_id", Some("07070707070707070707070707070707")),
            ];
            for (key, text) in texts {
                let present = text_at(&batch[key], index);
                prop_assert_eq!(present.as_deref(), text, "{}", key);
            }
            let numbers = [
                ("duration_ms", row.duration_ms),
                ("start_time", row.start_time),
                ("end_time", row.end_time),
                ("created_at", RECEIVED),
                ("total_spans", row.total_spans),
                ("error_count", row.error_count),
                ("input_tokens", row.input_tokens),
                ("output_tokens", row.output_tokens),
                ("total_tokens", row.total_tokens),
                ("cached_tokens", row.cached_tokens),
                ("reasoning_tokens", row.reasoning_tokens),
                ("llm_calls", row.llm_calls),
                ("tool_calls", row.tool_calls),
            ];
            for (key, number) in numbers {
                prop_assert_eq!(number_at(&batch[key], index), number, "{}", key);
            }
            prop_assert_eq!(texts.len() + numbers.len(), FIELDS.len());
        }
    }
}

fn text_at(column: &ArrayRef, index: usize) -> Option<String> {
    if column.is_null(index) {
        return None;
    }
    let Some(coded) = column.as_dictionary_opt::<Int32Type>() else {
        return Some(column.as_string::<i32>().value(index).to_owned());
    };
    let code = usize::try_from(coded.keys().value(index)).expect("a code");
    Some(coded.values().as_string::<i32>().value(code).to_owned())
}

fn number_at(column: &ArrayRef, index: usize) -> i64 {
    let instants = column.as_primitive_opt::<TimestampMicrosecondType>().map(|column| column.value(index));
    instants.unwrap_or_else(|| column.as_primitive::<Int64Type>().value(index))
}

fn run(id: u64, parent: u64, start: u64, attributes: &[(&str, &str)]) -> proto::Span {
    let mut message = message(id, parent, start);
    message.attributes = attributes.iter().map(|(key, value)| text(key, value)).collect();
    message
}

#[test]
fn identity_is_that_of_the_run_root_below_an_http_span() {
    let row = TraceRow::of(&trace(&[
        run(1, 0, 1, &[("http.route", "/chat"), ("user.id", "from above")]),
        run(
            2,
            1,
            2,
            &[
                ("openinference.span.kind", "AGENT"),
                ("agno.team.id", "t"),
                ("agno.run.id", "r"),
                ("agent.name", "T"),
            ],
        ),
        run(
            3,
            2,
            3,
            &[
                ("openinference.span.kind", "AGENT"),
                ("agno.agent.id", "a"),
                ("agno.run.id", "member's"),
                ("session.id", "s"),
            ],
        ),
    ]));
    assert_eq!(row.name, "span 2");
    assert_eq!(row.run_id.as_deref(), Some("r"));
    assert_eq!(row.team_id.as_deref(), Some("t"));
    assert_eq!(row.agent_id, None, "a team's trace is not also its members'");
    assert_eq!(row.session_id.as_deref(), Some("s"), "from below");
    assert_eq!(row.user_id.as_deref(), Some("from above"));
}

#[test]
fn creating_an_agent_is_not_a_run() {
    let row = TraceRow::of(&trace(&[
        run(1, 0, 1, &[("gen_ai.operation.name", "create_agent")]),
        run(2, 1, 2, &[("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", "planner")]),
    ]));
    assert_eq!((row.name.as_str(), row.agent_id.as_deref()), ("span 2", Some("planner")));
}

#[test]
fn tokens_are_summed_over_model_spans_only() {
    let spans = [(1, 0, "AGENT"), (2, 1, "LLM"), (3, 1, "EMBEDDING"), (4, 1, "TOOL"), (5, 1, "LLM")];
    let messages = spans.map(|(id, parent, kind)| {
        let mut message = run(id, parent, id, &[("openinference.span.kind", kind)]);
        let tokens = proto::any_value::Value::IntValue(if id == 5 { i64::MAX } else { 10 });
        message.attributes.push(attribute("llm.token_count.prompt", tokens));
        message
            .attributes
            .push(attribute("llm.token_count.completion", proto::any_value::Value::IntValue(-3)));
        message
    });
    let row = TraceRow::of(&trace(&messages[..4]));
    assert_eq!((row.input_tokens, row.output_tokens), (20, 0), "a negative count is none");
    assert_eq!(TraceRow::of(&trace(&messages)).input_tokens, i64::MAX, "a sum never overflows");
}

#[test]
fn parts_of_tokens_go_with_the_count_that_they_are_of() {
    let kind = ("openinference.span.kind", "LLM");
    let call = |id, parent, counts: [(&str, i64); 4]| {
        let mut call = run(id, parent, id, &[kind]);
        let counts = counts.map(|(key, count)| attribute(key, proto::any_value::Value::IntValue(count)));
        call.attributes.extend(counts);
        call
    };
    let counts = |input, output, cached, reasoning| {
        [
            ("llm.token_count.prompt", input),
            ("llm.token_count.completion", output),
            ("llm.token_count.prompt_details.cache_read", cached),
            ("llm.token_count.completion_details.reasoning", reasoning),
        ]
    };
    // The client's call has the input. The framework's outer call repeats it and is the only one with the
    // output.
    let row = TraceRow::of(&trace(&[call(1, 0, counts(10, 7, 4, 2)), call(2, 1, counts(10, 0, 5, 1))]));
    assert_eq!((row.input_tokens, row.cached_tokens), (10, 5));
    assert_eq!((row.output_tokens, row.reasoning_tokens), (7, 2));
    assert_eq!(row.total_tokens, 17);
}

#[test]
fn calls_of_models_count_where_they_are_innermost_and_calls_of_tools_everywhere() {
    let kinds =
        [(1, 0, "AGENT"), (2, 1, "LLM"), (3, 2, "CHAIN"), (4, 3, "LLM"), (5, 1, "LLM"), (6, 1, "TOOL")];
    let kinds = [kinds.as_slice(), &[(7, 6, "AGENT"), (8, 7, "TOOL"), (9, 8, "EMBEDDING")]].concat();
    let spans: Vec<_> = kinds
        .iter()
        .map(|(id, parent, kind)| run(*id, *parent, *id, &[("openinference.span.kind", *kind)]))
        .collect();
    let row = TraceRow::of(&trace(&spans));
    assert_eq!((row.llm_calls, row.tool_calls), (2, 2));
}

#[test]
fn service_environment_and_release_are_those_of_the_resource_of_the_run() {
    let texts = |attributes: &[(&str, &str)]| {
        let attributes = attributes.iter().map(|(key, value)| text(key, value)).collect();
        let resource = proto::Resource { attributes, ..proto::Resource::default() };
        let ResourceTexts { service, environment, release } = ResourceTexts::of(&resource.encode_to_vec());
        [service, environment, release].map(Option::unwrap_or_default)
    };
    let semantic =
        [("service.name", "shop"), ("deployment.environment.name", "prod"), ("service.version", "2.1")];
    assert_eq!(texts(&semantic), ["shop", "prod", "2.1"]);
    let earlier = [("deployment.environment", "staging"), ("langfuse.environment", "default")];
    assert_eq!(texts(&earlier), ["", "staging", ""]);
    let langfuse = [("service.name", ""), ("langfuse.environment", "default"), ("langfuse.release", "v3")];
    assert_eq!(texts(&langfuse), ["", "default", "v3"]);
    assert_eq!(ResourceTexts::of(b"\xff\xff"), ResourceTexts::default());
}

/// Model calls below one root, as their parents and tokens.
fn model_calls() -> impl Strategy<Value = Vec<proto::Span>> {
    let call = (1..8_u64, prop::sample::select(vec!["LLM", "EMBEDDING", "CHAIN"]), 0..4_u8, 0..4_u8);
    prop::collection::vec(call, 1..8).prop_map(|calls| {
        let calls = (2..).zip(calls).map(|(id, (parent, kind, input, output))| {
            let parent = parent.min(id - 1);
            with_tokens(id, parent, kind, [input.into(), output.into()])
        });
        std::iter::once(run(1, 0, 1, &[("openinference.span.kind", "AGENT")])).chain(calls).collect()
    })
}

fn with_tokens(id: u64, parent: u64, kind: &str, tokens: [i64; 2]) -> proto::Span {
    let mut call = run(id, parent, id, &[("openinference.span.kind", kind)]);
    for (key, count) in ["llm.token_count.prompt", "llm.token_count.completion"].into_iter().zip(tokens) {
        call.attributes.push(attribute(key, proto::any_value::Value::IntValue(count)));
    }
    call
}

fn tokens_of(messages: &[proto::Span]) -> [i64; 2] {
    let row = TraceRow::of(&trace(messages));
    [row.input_tokens, row.output_tokens]
}

proptest! {
    #[test]
    fn a_call_around_calls_changes_no_tokens(calls in model_calls(), around in 1..8_u64, more in 0..9_i64) {
        // The children of a span move below a new call, which reports their sum or another count.
        let index = usize::try_from(around).expect("a position").min(calls.len()) - 1;
        let around = index as u64 + 1;
        let inside: Vec<proto::Span> = subtree(&calls, around);
        let is_model = |span: &proto::Span| span.attributes.contains(&text("openinference.span.kind", "LLM"));
        let sums = tokens_of(&inside.iter().filter(|span| is_model(span)).cloned().collect::<Vec<_>>());
        let reported = sums.map(|sum| if sum == 0 { 0 } else { sum + more });
        let mut wrapped = calls.clone();
        for span in &mut wrapped {
            if span.parent_span_id == around.to_be_bytes().as_slice() {
                span.parent_span_id = 99_u64.to_be_bytes().to_vec().into();
            }
        }
        wrapped.push(with_tokens(99, around, "LLM", reported));
        let is_counted = calls[index].attributes.contains(&text("openinference.span.kind", "LLM"));
        if !is_counted || sums != [0, 0] {
            prop_assert_eq!(tokens_of(&wrapped), tokens_of(&calls));
        }
    }

    #[test]
    fn calls_beside_each_other_add(calls in model_calls(), input in 0..9_i64, output in 0..9_i64) {
        let [before_input, before_output] = tokens_of(&calls);
        let beside: Vec<_> = calls.into_iter().chain([with_tokens(99, 1, "LLM", [input, output])]).collect();
        prop_assert_eq!(tokens_of(&beside), [before_input + input, before_output + output]);
    }
}

/// Returns the spans below the one with this id.
fn subtree(spans: &[proto::Span], id: u64) -> Vec<proto::Span> {
    let mut ids = vec![id];
    let mut found = Vec::new();
    // A parent comes before its children.
    for span in spans {
        let parent = span.parent_span_id.as_ref().try_into().map_or(0, u64::from_be_bytes);
        if ids.contains(&parent) {
            ids.push(u64::from_be_bytes(span.span_id.as_ref().try_into().expect("an id")));
            found.push(span.clone());
        }
    }
    found
}

#[test]
fn a_trace_without_a_run_is_known_by_its_root_and_told_by_its_models() {
    let chat = |id, parent, input: &str, output: &str| {
        let messages = [("gen_ai.operation.name", "chat"), ("input.value", input), ("output.value", output)];
        run(id, parent, id, &[&messages[..], &[("gen_ai.agent.name", "clerk")]].concat())
    };
    let spans = [
        run(1, 0, 1, &[("http.route", "/checkout")]),
        run(2, 1, 2, &[]),
        chat(3, 2, "first question", "first answer"),
        chat(4, 2, "second question", "second answer"),
    ];
    let detail = detail_of(&trace(&spans));
    assert_eq!((&detail["name"], &detail["agent_id"]), (&"span 1".into(), &"clerk".into()));
    assert_eq!((&detail["input"], &detail["output"]), (&"first question".into(), &"second answer".into()));
}

#[test]
fn the_agent_below_is_the_traces_unless_its_run_root_is_a_team_or_of_agno() {
    let agent_below = |root: &[(&str, &str)]| {
        let agent = [("openinference.span.kind", "AGENT"), ("agent.name", "below")];
        TraceRow::of(&trace(&[run(1, 0, 1, root), run(2, 1, 2, &[]), run(3, 2, 3, &agent)])).agent_id
    };
    let kind = |kind| ("openinference.span.kind", kind);
    assert_eq!(agent_below(&[kind("AGENT")]).as_deref(), Some("below"));
    assert_eq!(agent_below(&[kind("CHAIN")]).as_deref(), Some("below"));
    assert_eq!(agent_below(&[kind("CHAIN"), ("agent.name", "own")]).as_deref(), Some("own"));
    assert_eq!(agent_below(&[kind("AGENT"), ("team.id", "t")]), None);
    assert_eq!(agent_below(&[kind("CHAIN"), ("agno.workflow.id", "w")]), None);
}

#[test]
fn times_are_truncated_to_microseconds_and_invalid_ends_are_tolerated() {
    let times = |spans: &[(u64, u64)]| {
        let messages: Vec<_> = spans
            .iter()
            .enumerate()
            .map(|(index, (start, end))| proto::Span {
                end_time_unix_nano: *end,
                ..message(index as u64 + 1, 0, *start)
            })
            .collect();
        let row = TraceRow::of(&trace(&messages));
        (row.start_time, row.end_time, row.duration_ms)
    };
    assert_eq!(times(&[(1_999, 2_001_999)]), (1, 2_001, 2), "truncated");
    assert_eq!(times(&[(5_000_000, 0)]), (5_000, 5_000, 0), "no end counts as the start");
    assert_eq!(times(&[(5_000_000, 1_000_000)]), (5_000, 5_000, 0), "an end before its start");
    assert_eq!(times(&[(9_000_000, 1_000_000), (2_000_000, 3_000_000)]), (2_000, 9_000, 7));
}
