//! The type of a node, from `OpenInference` kinds and `GenAI` operations.

/// The `type` of a node: what kind of operation its span is.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum NodeType {
    /// A run of an agent, or the creation of one.
    Agent,
    /// A run of several agents under a leader.
    Team,
    /// A workflow run, or one of agno's steps.
    Workflow,
    /// A chain of another framework than agno.
    Chain,
    /// A call of a language model.
    Llm,
    /// A call of an embedding model.
    Embedding,
    /// A call of a tool.
    Tool,
    /// Another `OpenInference` kind, as it was sent.
    Other(Box<str>),
    /// A span without a type.
    #[default]
    Unknown,
}

impl NodeType {
    /// Returns the word shown for the type.
    pub fn word(&self) -> &str {
        match self {
            Self::Agent => "AGENT",
            Self::Team => "TEAM",
            Self::Workflow => "WORKFLOW",
            Self::Chain => "CHAIN",
            Self::Llm => "LLM",
            Self::Embedding => "EMBEDDING",
            Self::Tool => "TOOL",
            Self::Other(kind) => kind,
            Self::Unknown => "UNKNOWN",
        }
    }

    /// Whether it is a model call. Only model calls count tokens, since agents repeat the sums.
    pub fn is_model(&self) -> bool {
        matches!(self, Self::Llm | Self::Embedding)
    }

    /// Returns the type of a span of this `OpenInference` kind.
    pub(super) fn of_kind(kind: &str, has_team: bool, is_agno: bool) -> Self {
        match kind {
            "AGENT" if has_team => Self::Team,
            "AGENT" => Self::Agent,
            "TEAM" => Self::Team,
            "CHAIN" if is_agno => Self::Workflow,
            "CHAIN" => Self::Chain,
            "WORKFLOW" => Self::Workflow,
            "LLM" => Self::Llm,
            "EMBEDDING" => Self::Embedding,
            "TOOL" => Self::Tool,
            other => Self::Other(other.into()),
        }
    }

    /// Returns the type of a span of this `GenAI` operation.
    pub(super) fn of_operation(operation: &str) -> Self {
        match operation {
            "chat" | "text_completion" | "generate_content" => Self::Llm,
            "embeddings" => Self::Embedding,
            "execute_tool" => Self::Tool,
            "invoke_agent" | "create_agent" => Self::Agent,
            "invoke_workflow" => Self::Workflow,
            _ => Self::Unknown,
        }
    }
}
