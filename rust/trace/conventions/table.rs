//! The table of names: each attribute of a span, with its names in the conventions.

/// An attribute of a span, independent of conventions.
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
    /// The attribute that the names stand for.
    pub attribute: Attribute,
    /// The attribute's own name, in the reference and in the setting `conventions`.
    pub word: &'static str,
    /// The names, in order of precedence. `<name>#<member>` is a member of the JSON object in the text
    /// attribute `<name>`; `<member>` may be a path of members separated by `.`. `<name>#<member>+` is the
    /// sum of the member and of all members with the prefix `<member>_`. `<name>#*` is the sum of all members
    /// that are numbers. `<name>+<name>` is the sum of attributes; the first one must exist.
    pub names: &'static [&'static str],
}

const fn line(attribute: Attribute, word: &'static str, names: &'static [&'static str]) -> Line {
    Line { attribute, word, names }
}

/// The table. Each attribute is at its own position, with its names in order of precedence.
pub const TABLE: [Line; 33] = [
    line(Attribute::Kind, "kind", &["openinference.span.kind"]),
    line(Attribute::Operation, "operation", &["gen_ai.operation.name"]),
    // A span with the level `ERROR` failed, independent of its status.
    line(Attribute::Level, "level", &["langfuse.observation.level"]),
    // The name of a span without a type.
    line(Attribute::Title, "title", &["logfire.msg"]),
    // If the span's name equals this template, the title is used as its name.
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
    // The agent's name on a span of type `AGENT`. On other spans it has a different meaning.
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
    // The cost that the sender reports, in US dollars.
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

/// Names of input and output whose values are always shown verbatim, because their formats are standards that
/// clients parse. For other names a list of messages is shown as text (`docs/reference/traces.md#messages`).
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

/// Input attributes with a whole conversation, including the output at its end.
pub const WHOLE: [&str; 2] = ["pydantic_ai.all_messages", "all_messages_events"];

/// The attribute with the system instructions that are separate from the input messages.
pub const SYSTEM_INSTRUCTIONS: &str = "gen_ai.system_instructions";

/// Prefixes of messages that are sent as one attribute per part, `<prefix><number>.<part>`.
pub const NUMBERED: [(Attribute, &[&str]); 2] = [
    (Attribute::Input, &["llm.input_messages.", "gen_ai.prompt."]),
    (Attribute::Output, &["llm.output_messages.", "gen_ai.completion."]),
];
