//! What a reader is sent.

/// What happened to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A trace was committed, or has changed.
    Trace,
    /// Some rows were dropped because the reader was slow.
    Dropped,
    /// An unknown number of changes was forgotten before the reader got to them.
    Gap,
}

impl EventKind {
    /// Returns the name of the event.
    pub fn word(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Dropped => "dropped",
            Self::Gap => "gap",
        }
    }
}

/// An event that a reader is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailEvent {
    /// Counts the events of this reader, from 1.
    pub number: u64,
    /// What happened.
    pub kind: EventKind,
    /// A JSON object.
    pub body: Vec<u8>,
}
