//! Seeded traces with a realistic shape, shared by the engine's benchmarks.
//!
//! 30 days, 200 names, 50 agents with Zipf weights, one session per 8 traces, one user per 50, 5% failures,
//! log-normal durations, and a configurable number of spans (an agent, then models).

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the numbers are made here and are far from every edge"
)]

use prost::Message as _;
use spanwise::otlp::proto::{self, any_value::Value};

/// The start of the data: 2026-01-01T00:00:00Z, in nanoseconds since 1970.
const EPOCH: u64 = 1_767_225_600_000_000_000;
const THIRTY_DAYS: u64 = 30 * 86_400 * 1_000_000_000;

/// `SplitMix64` (Steele, Lea, Flood 2014): small, seeded, and identical on all platforms.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Log-normal with median 1 and sigma 1, from the sum of twelve uniforms.
    fn log_normal(&mut self) -> f64 {
        let normal: f64 = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        normal.exp()
    }

    /// Zipf with exponent 1 over `count` ranks, from the inverse of its continuous form.
    fn zipf(&mut self, count: u64) -> u64 {
        ((count as f64).powf(self.unit()) as u64).min(count) - 1
    }
}

pub(crate) struct Shape {
    pub(crate) traces: u64,
    pub(crate) spans_per_trace: u64,
}

/// Returns one request, a `TracesData` message with `count` traces.
pub(crate) fn request(shape: &Shape, random: &mut Random, count: u64) -> Vec<u8> {
    encoded((0..count).flat_map(|_| trace(shape, random)).collect())
}

/// Returns a `TracesData` message with `spans`.
pub(crate) fn encoded(spans: Vec<proto::Span>) -> Vec<u8> {
    let spans = spans.into_iter().map(|span| span.encode_to_vec().into()).collect();
    let scope_spans = vec![proto::ScopeSpans { spans, ..proto::ScopeSpans::default() }];
    let resource_spans = vec![proto::ResourceSpans { scope_spans, ..proto::ResourceSpans::default() }];
    proto::TracesData { resource_spans }.encode_to_vec()
}

fn trace(shape: &Shape, random: &mut Random) -> Vec<proto::Span> {
    let trace_id: Vec<u8> = [random.next().to_be_bytes(), random.next().to_be_bytes()].concat();
    let start = EPOCH + random.below(THIRTY_DAYS);
    let duration = (random.log_normal() * 1e9) as u64;
    let session = random.below((shape.traces / 8).max(1));
    let user = session % (shape.traces / 50).max(1);
    let agent = random.zipf(50);
    let is_error = random.below(100) < 5;
    let root_id = random.next() | 1;
    let mut agent_span = span(&trace_id, root_id, start, duration);
    agent_span.name = format!("Agent_{agent}.run_{}", random.below(4));
    agent_span.attributes = vec![
        attribute("openinference.span.kind", "AGENT"),
        attribute("agno.run.id", &format!("run-{:016x}", random.next())),
        attribute("agno.agent.id", &format!("agent-{agent:02}")),
        attribute("session.id", &format!("session-{session:08}")),
        attribute("user.id", &format!("user-{user:06}@example.com")),
        attribute("input.value", "Where is my order, and when will it come?"),
        attribute("output.value", "It left the warehouse this morning and will be with you tomorrow."),
    ];
    if is_error {
        agent_span.status = Some(proto::Status { code: 2, message: "the model gave no answer".into() });
    }
    let mut spans = vec![agent_span];
    for step in 1..shape.spans_per_trace {
        let step_duration = duration / shape.spans_per_trace;
        let mut model = span(&trace_id, root_id ^ (step << 1), start + step * step_duration, step_duration);
        model.parent_span_id = root_id.to_be_bytes().to_vec().into();
        model.name = "OpenAIChat.invoke".into();
        model.attributes = vec![
            attribute("openinference.span.kind", "LLM"),
            attribute("llm.model_name", "gpt-4o"),
            number("llm.token_count.prompt", random.below(4_000)),
            number("llm.token_count.completion", random.below(800)),
        ];
        spans.push(model);
    }
    spans
}

pub(crate) fn span(trace_id: &[u8], span_id: u64, start: u64, duration: u64) -> proto::Span {
    proto::Span {
        trace_id: trace_id.to_vec().into(),
        span_id: span_id.to_be_bytes().to_vec().into(),
        start_time_unix_nano: start,
        end_time_unix_nano: start + duration,
        ..proto::Span::default()
    }
}

pub(crate) fn attribute(key: &str, value: &str) -> proto::KeyValue {
    with_value(key, Value::StringValue(value.into()))
}

pub(crate) fn number(key: &str, value: u64) -> proto::KeyValue {
    with_value(key, Value::IntValue(value as i64))
}

fn with_value(key: &str, value: Value) -> proto::KeyValue {
    proto::KeyValue {
        key: key.into(),
        value: Some(proto::AnyValue { value: Some(value) }),
        ..proto::KeyValue::default()
    }
}
