//! The table of names: each attribute of a span with the names that conventions have for it.

/// An attribute of a span, whatever name a convention has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are explained by their lines in the table")]
pub enum Attribute {
    Kind,
    Operation,
    Level,
    Title,
    TitleTemplate,
    TraceName,
    RunId,
    SessionId,
    UserId,
    AgentId,
    AgentName,
    EntityName,
    TeamId,
    WorkflowId,
    Model,
    Provider,
    InputTokens,
    OutputTokens,
    CachedTokens,
    ReasoningTokens,
    Cost,
    Input,
    Output,
    ToolName,
    ToolParameters,
    Description,
    StepsCount,
    Steps,
    StepTypes,
    StepName,
    StepType,
    ErrorMessage,
    ErrorType,
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// What the names stand for.
    pub attribute: Attribute,
    /// The attribute's own name, in the reference and in the setting `conventions`.
    pub word: &'static str,
    /// The names, in order of precedence. `<name>#<member>` is a member of the JSON object that the attribute `<name>`
    /// holds as text; `<member>` may be a path of members, separated by `.`. `<name>#<member>+` is the sum of the member
    /// and of all that begin with `<member>_`, `<name>#*` the sum of all members that are numbers, and `<name>+<name>` the
    /// sum of attributes, of which the first must be there.
    pub names: &'static [&'static str],
}

const fn line(attribute: Attribute, word: &'static str, names: &'static [&'static str]) -> Line {
    Line { attribute, word, names }
}

/// The table: each attribute at its position, with its names in order of precedence.
pub const TABLE: [Line; 33] = [
    line(Attribute::Kind, "kind", &["openinference.span.kind"]),
    line(Attribute::Operation, "operation", &["gen_ai.operation.name"]),
    // A span with the level `ERROR` failed, whatever its status.
    line(Attribute::Level, "level", &["langfuse.observation.level"]),
    // The name of a span that no convention gives a type.
    line(Attribute::Title, "title", &["logfire.msg"]),
    // The title is also the name of a span whose name is the template of it.
    line(Attribute::TitleTemplate, "title_template", &["logfire.msg_template"]),
    // The name of the trace, on any of its spans.
    line(Attribute::TraceName, "trace_name", &["langfuse.trace.name"]),
    line(Attribute::RunId, "run_id", &["agno.run.id", "mastra.metadata.runId"]),
    line(
        Attribute::SessionId,
        "session_id",
        &[
            "gen_ai.conversation.id",
            "session.id",
            "agno.session.id",
            "langfuse.session.id",
            "traceloop.association.properties.session_id",
            "traceloop.association.properties.thread_id",
            "ai.telemetry.metadata.sessionId",
            "ai.telemetry.metadata.session_id",
            "ai.settings.context.sessionId",
            "mastra.metadata.sessionId",
            "langfuse.trace.metadata.session_id",
            "gcp.vertex.agent.session_id",
            "metadata#session_id",
            "metadata#thread_id",
            "llm.invocation_parameters#metadata.session_id",
        ],
    ),
    line(
        Attribute::UserId,
        "user_id",
        &[
            "user.id",
            "enduser.id",
            "agno.user.id",
            "langfuse.user.id",
            "traceloop.association.properties.user_id",
            "ai.telemetry.metadata.userId",
            "ai.telemetry.metadata.user_id",
            "ai.settings.context.userId",
            "mastra.metadata.userId",
            "langfuse.trace.metadata.user_id",
            "gcp.vertex.agent.user_id",
            "llm.user",
            "gen_ai.request.user",
            "metadata#user_id",
            "llm.invocation_parameters#user",
        ],
    ),
    line(Attribute::AgentId, "agent_id", &["agno.agent.id", "gen_ai.agent.id"]),
    line(
        Attribute::AgentName,
        "agent_name",
        &["gen_ai.agent.name", "agent.name", "agent_name", "metadata#lc_agent_name"],
    ),
    // The agent's name on a span of type `AGENT`; of other spans it names something else.
    line(
        Attribute::EntityName,
        "entity_name",
        &["traceloop.entity.name", "graph.node.id", "ai.telemetry.functionId"],
    ),
    line(Attribute::TeamId, "team_id", &["agno.team.id", "team.id"]),
    line(
        Attribute::WorkflowId,
        "workflow_id",
        &["agno.workflow.id", "gen_ai.workflow.name", "traceloop.workflow.name"],
    ),
    line(
        Attribute::Model,
        "model",
        &[
            "llm.model_name",
            "gen_ai.response.model",
            "gen_ai.request.model",
            "embedding.model_name",
            "langfuse.observation.model.name",
            "ai.response.model",
            "ai.model.id",
            "llm.invocation_parameters#model",
            "embedding.invocation_parameters#model",
            "mlflow.spanOutputs#model",
            "mlflow.spanInputs#model",
            "genkit:name",
        ],
    ),
    line(
        Attribute::Provider,
        "provider",
        &[
            "gen_ai.provider.name",
            "gen_ai.system",
            "llm.provider",
            "llm.system",
            "ai.model.provider",
            "metadata#ls_provider",
        ],
    ),
    line(
        Attribute::InputTokens,
        "input_tokens",
        &[
            "llm.token_count.prompt",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "ai.usage.inputTokens",
            "ai.usage.promptTokens",
            "ai.usage.tokens",
            "langfuse.observation.usage_details#input+",
            "langfuse.observation.usage_details#prompt_tokens",
            "mlflow.chat.tokenUsage#input_tokens",
            "input_tokens+cache_read_tokens+cache_creation_tokens",
            "genkit:output#usage.inputTokens",
        ],
    ),
    line(
        Attribute::OutputTokens,
        "output_tokens",
        &[
            "llm.token_count.completion",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "ai.usage.outputTokens",
            "ai.usage.completionTokens",
            "langfuse.observation.usage_details#output+",
            "langfuse.observation.usage_details#completion_tokens",
            "mlflow.chat.tokenUsage#output_tokens",
            "output_tokens",
            "genkit:output#usage.outputTokens",
        ],
    ),
    line(
        Attribute::CachedTokens,
        "cached_tokens",
        &[
            "llm.token_count.prompt_details.cache_read",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.details.cache_read_tokens",
            "ai.usage.cachedInputTokens",
            "langfuse.observation.usage_details#prompt_tokens_details.cached_tokens",
            "langfuse.observation.usage_details#input_tokens_details.cached_tokens",
            "langfuse.observation.usage_details#input_cache_read",
            "langfuse.observation.usage_details#cache_read_input_tokens",
            "gen_ai.usage.raw#prompt_tokens_details.cached_tokens",
            "gen_ai.usage.raw#input_tokens_details.cached_tokens",
            "mlflow.chat.tokenUsage#cache_read_input_tokens",
            "langfuse.observation.usage_details#input_cached_tokens",
            "cache_read_tokens",
            "genkit:output#usage.cachedContentTokens",
        ],
    ),
    line(
        Attribute::ReasoningTokens,
        "reasoning_tokens",
        &[
            "llm.token_count.completion_details.reasoning",
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
            "ai.usage.reasoningTokens",
            "langfuse.observation.usage_details#completion_tokens_details.reasoning_tokens",
            "langfuse.observation.usage_details#output_tokens_details.reasoning_tokens",
            "langfuse.observation.usage_details#output_reasoning",
            "gen_ai.usage.raw#completion_tokens_details.reasoning_tokens",
            "gen_ai.usage.raw#output_tokens_details.reasoning_tokens",
            "ai.usage.outputTokenDetails.reasoningTokens",
            "langfuse.observation.usage_details#output_reasoning_tokens",
            "genkit:output#usage.thoughtsTokens",
        ],
    ),
    // What the span cost as its sender reckons it, in US dollars.
    line(
        Attribute::Cost,
        "cost",
        &[
            "llm.cost.total",
            "gen_ai.usage.cost",
            "gen_ai.usage.total_cost",
            "gen_ai.usage.cost_usd",
            "gen_ai.cost.total_cost",
            "operation.cost",
            "langfuse.observation.cost_details#total",
            "langfuse.observation.cost_details#*",
            "mlflow.llm.cost#total_cost",
            "mlflow.llm.cost#*",
            "litellm.cost.total",
            "cost_usd",
        ],
    ),
    line(
        Attribute::Input,
        "input",
        &[
            "input.value",
            "gen_ai.input.messages",
            "gen_ai.tool.call.arguments",
            "tool_arguments",
            "tool.parameters",
            "pydantic_ai.all_messages",
            "all_messages_events",
            "gen_ai.prompt",
            "langfuse.observation.input",
            "traceloop.entity.input",
            "ai.prompt.messages",
            "ai.prompt",
            "ai.toolCall.args",
            "ai.values",
            "ai.value",
            "events",
            "request_data",
            "mlflow.spanInputs",
            "mastra.agent_run.input",
            "mastra.model_generation.input",
            "mastra.model_step.input",
            "mastra.workflow_run.input",
            "mastra.workflow_step.input",
            "mastra.mapping.input",
            "genkit:input",
            "user_prompt",
            "input",
        ],
    ),
    line(
        Attribute::Output,
        "output",
        &[
            "output.value",
            "gen_ai.output.messages",
            "gen_ai.tool.call.result",
            "tool_response",
            "final_result",
            "gen_ai.completion",
            "langfuse.observation.output",
            "traceloop.entity.output",
            "ai.response.text",
            "ai.response.object",
            "ai.response.toolCalls",
            "ai.toolCall.result",
            "events",
            "response_data",
            "mlflow.spanOutputs",
            "mastra.agent_run.output#text",
            "mastra.agent_run.output",
            "mastra.model_generation.output#text",
            "mastra.model_generation.output",
            "mastra.model_step.output#text",
            "mastra.model_step.output",
            "mastra.model_chunk.output#text",
            "mastra.model_chunk.output",
            "mastra.workflow_run.output",
            "mastra.workflow_step.output",
            "mastra.mapping.output",
            "genkit:output",
            "anthropic.tool_result.content",
            "output",
            "response",
        ],
    ),
    line(
        Attribute::ToolName,
        "tool_name",
        &["tool.name", "gen_ai.tool.name", "ai.toolCall.name", "traceloop.entity.name"],
    ),
    line(
        Attribute::ToolParameters,
        "tool_parameters",
        &[
            "tool.parameters",
            "gen_ai.tool.call.arguments",
            "tool_arguments",
            "ai.toolCall.args",
            "langfuse.observation.input",
        ],
    ),
    line(Attribute::Description, "description", &["agno.workflow.description"]),
    line(Attribute::StepsCount, "steps_count", &["agno.workflow.steps_count"]),
    line(Attribute::Steps, "steps", &["agno.workflow.steps"]),
    line(Attribute::StepTypes, "step_types", &["agno.workflow.step_types"]),
    line(Attribute::StepName, "step_name", &["graph.node.name"]),
    line(Attribute::StepType, "step_type", &["agno.step.type"]),
    line(
        Attribute::ErrorMessage,
        "error_message",
        &["exception.message", "langfuse.observation.status_message", "error.message", "error"],
    ),
    line(Attribute::ErrorType, "error_type", &["error.type"]),
];

/// Names of input and output whose values are always shown as they were sent: their formats are standards that clients
/// read. Elsewhere a list of messages is shown as the text that it says (`docs/reference/traces.md#messages`).
pub const VERBATIM: [&str; 11] = [
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "pydantic_ai.all_messages",
    "all_messages_events",
    "final_result",
    "ai.toolCall.args",
    "ai.toolCall.result",
];

/// Attributes of the input that hold a whole conversation, with what is given back at its end.
pub const WHOLE: [&str; 2] = ["pydantic_ai.all_messages", "all_messages_events"];

/// The attribute that holds what the system says beside the messages of the input.
pub const SYSTEM_INSTRUCTIONS: &str = "gen_ai.system_instructions";

/// Prefixes of messages that are sent as one attribute per part, `<prefix><number>.<part>`.
pub const NUMBERED: [(Attribute, &[&str]); 2] = [
    (Attribute::Input, &["llm.input_messages.", "gen_ai.prompt."]),
    (Attribute::Output, &["llm.output_messages.", "gen_ai.completion."]),
];
