//! The attributes whose values determine the type of a span.

/// As a value: any value. As a type: the value itself.
pub const ANY: &str = "*";

/// An attribute that determines the type of a span.
#[derive(Debug, Clone, Copy)]
pub struct TypeLine {
    /// The attribute's name.
    pub name: &'static str,
    /// Pairs of a value and its type. Other values have no type.
    pub types: &'static [(&'static str, &'static str)],
}

const fn line(name: &'static str, types: &'static [(&'static str, &'static str)]) -> TypeLine {
    TypeLine { name, types }
}

/// The types that a user may assign to attribute values.
pub const TYPE_WORDS: [&str; 12] = [
    "AGENT",
    "TEAM",
    "WORKFLOW",
    "CHAIN",
    "LLM",
    "EMBEDDING",
    "TOOL",
    "RETRIEVER",
    "RERANKER",
    "GUARDRAIL",
    "EVALUATOR",
    "PROMPT",
];

/// Pairs of a line or instrumentation scope and a suffix. Their spans of type `AGENT` are named after the
/// agent, followed by this suffix.
pub const NAMED_BY_SPAN: [(&str, &str); 3] = [
    ("langfuse.observation.type", ""),
    ("mlflow.spanType", ""),
    ("openinference.instrumentation.smolagents", ".run"),
];

/// The lines, in order of precedence. The first line with a type for the span wins.
pub const TYPES: [TypeLine; 14] = [
    line("openinference.span.kind", &[(ANY, ANY)]),
    line(
        "langfuse.observation.type",
        &[
            ("generation", "LLM"),
            ("embedding", "EMBEDDING"),
            ("agent", "AGENT"),
            ("tool", "TOOL"),
            ("chain", "CHAIN"),
            ("span", "CHAIN"),
            ("retriever", "RETRIEVER"),
            ("evaluator", "EVALUATOR"),
            ("guardrail", "GUARDRAIL"),
        ],
    ),
    line(
        "traceloop.span.kind",
        &[("workflow", "WORKFLOW"), ("task", "CHAIN"), ("agent", "AGENT"), ("tool", "TOOL")],
    ),
    line(
        "ai.operationId",
        &[
            ("ai.generateText", "AGENT"),
            ("ai.generateText.doGenerate", "LLM"),
            ("ai.streamText", "AGENT"),
            ("ai.streamText.doStream", "LLM"),
            ("ai.generateObject", "AGENT"),
            ("ai.generateObject.doGenerate", "LLM"),
            ("ai.streamObject", "AGENT"),
            ("ai.streamObject.doStream", "LLM"),
            ("ai.embed", "EMBEDDING"),
            ("ai.embed.doEmbed", "EMBEDDING"),
            ("ai.embedMany", "EMBEDDING"),
            ("ai.embedMany.doEmbed", "EMBEDDING"),
            ("ai.toolCall", "TOOL"),
        ],
    ),
    line(
        "gen_ai.operation.name",
        &[
            ("chat", "LLM"),
            ("text_completion", "LLM"),
            ("generate_content", "LLM"),
            ("embeddings", "EMBEDDING"),
            ("execute_tool", "TOOL"),
            ("invoke_agent", "AGENT"),
            ("create_agent", "AGENT"),
            ("invoke_workflow", "WORKFLOW"),
            ("execute_event_loop_cycle", "CHAIN"),
            ("invoke_graph", "WORKFLOW"),
            ("invoke_swarm", "WORKFLOW"),
            ("agent_step", "CHAIN"),
            ("rerank", "RERANKER"),
        ],
    ),
    line(
        "mastra.span.type",
        &[
            ("model_generation", "CHAIN"),
            ("model_chunk", "CHAIN"),
            ("processor_run", "CHAIN"),
            ("mapping", "CHAIN"),
            ("mcp_tool_call", "TOOL"),
            ("client_tool_call", "TOOL"),
            ("workflow_step", "CHAIN"),
            ("workflow_conditional", "CHAIN"),
            ("workflow_parallel", "CHAIN"),
            ("workflow_loop", "CHAIN"),
        ],
    ),
    line(
        "llm.request.type",
        &[("chat", "LLM"), ("completion", "LLM"), ("embedding", "EMBEDDING"), ("rerank", "RERANKER")],
    ),
    // MLflow's values are JSON.
    line(
        "mlflow.spanType",
        &[
            ("\"LLM\"", "LLM"),
            ("\"CHAT_MODEL\"", "LLM"),
            ("\"EMBEDDING\"", "EMBEDDING"),
            ("\"TOOL\"", "TOOL"),
            ("\"AGENT\"", "AGENT"),
            ("\"CHAIN\"", "CHAIN"),
            ("\"WORKFLOW\"", "WORKFLOW"),
            ("\"TASK\"", "CHAIN"),
            ("\"PARSER\"", "CHAIN"),
            ("\"RETRIEVER\"", "RETRIEVER"),
            ("\"RERANKER\"", "RERANKER"),
            ("\"GUARDRAIL\"", "GUARDRAIL"),
            ("\"EVALUATOR\"", "EVALUATOR"),
        ],
    ),
    line(
        "genkit:metadata:subtype",
        &[
            ("model", "LLM"),
            ("embedder", "EMBEDDING"),
            ("tool", "TOOL"),
            ("flow", "CHAIN"),
            ("prompt", "PROMPT"),
            ("retriever", "RETRIEVER"),
            ("reranker", "RERANKER"),
            ("evaluator", "EVALUATOR"),
        ],
    ),
    line("genkit:type", &[("util", "CHAIN"), ("flowStep", "CHAIN")]),
    line(
        "span.type",
        &[
            ("interaction", "AGENT"),
            ("llm_request", "LLM"),
            ("tool", "TOOL"),
            ("tool.execution", "CHAIN"),
            ("tool.blocked_on_user", "CHAIN"),
            ("hook", "CHAIN"),
        ],
    ),
    line(
        "mcp.method.name",
        &[("tools/call", "TOOL"), ("prompts/get", "PROMPT"), ("resources/read", "RETRIEVER")],
    ),
    line("gen_ai.tool.name", &[(ANY, "TOOL")]),
    line("agent_name", &[(ANY, "AGENT")]),
];
