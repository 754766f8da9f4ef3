//! The type of a node.

/// The `type` of a node: the type of operation of its span.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum NodeType {
    /// A run or the creation of an agent.
    Agent,
    /// A run of several agents under a leader.
    Team,
    /// A workflow run, or one of agno's steps.
    Workflow,
    /// A chain of a framework other than agno.
    Chain,
    /// A call of a language model.
    Llm,
    /// A call of an embedding model.
    Embedding,
    /// A call of a tool.
    Tool,
    /// Another type, such as `RETRIEVER`.
    Other(Box<str>),
    /// A span without a type.
    #[default]
    Unknown,
}

impl NodeType {
    /// Returns the displayed name of the type.
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

    /// Returns `true` for a model call. Only model calls count tokens, because agents repeat their sums.
    pub fn is_model(&self) -> bool {
        matches!(self, Self::Llm | Self::Embedding)
    }

    /// Returns the type for a word of the type table. An agent with a team id is a team, and a chain of agno
    /// is a workflow.
    pub(super) fn of_word(word: &str, has_team: bool, is_agno: bool) -> Self {
        match word {
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
}
