//! The events that a reader receives.

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A trace was committed, or has changed.
    Trace,
    /// Some rows were dropped because the reader was slow.
    Dropped,
    /// Changes were dropped from the log before the reader reached them. Their number is unknown.
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

/// An event that a reader receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailEvent {
    /// Counts the events of this reader, from 1.
    pub number: u64,
    /// The kind of the event.
    pub kind: EventKind,
    /// A JSON object.
    pub body: Vec<u8>,
}
