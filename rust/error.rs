//! The errors of the engine, as one closed list.
//!
//! Every message states the actual value, the expected value and the location. The FFI boundary converts each
//! variant to the Python exception with the same meaning, which carries the HTTP status.

use std::fmt;

/// The result of the engine's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An error in a filter expression (`docs/reference/filter.md#filter-expression`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The actual and the expected value, in lower case without a final period.
    pub message: String,
    /// The path of the error from the root of the filter: `$.conditions[1].value`.
    pub path: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} - at `{}`", self.message, self.path)
    }
}

impl std::error::Error for FilterError {}

impl FilterError {
    /// Returns this error with a path that starts at `prefix`, the path of the filter in a larger document,
    /// such as `$.measures[1].where`.
    #[must_use]
    pub fn at(self, prefix: &str) -> Self {
        let below = self.path.strip_prefix('$').unwrap_or(&self.path);
        Self { path: format!("{prefix}{below}"), message: self.message }
    }
}

/// An error of the engine.
#[derive(Debug, Clone)]
pub enum Error {
    /// A filter expression is invalid.
    Filter(FilterError),
    /// A member of a request is invalid; the message has its path.
    Request(String),
    /// A request body cannot be decoded as its declared format.
    Decode(String),
    /// An unsupported content type or encoding.
    MediaType(String),
    /// A body or a response exceeds its limit.
    TooLarge(String),
    /// A record batch lacks a column that a filter or an import reads.
    Batch(String),
    /// Overloaded: nothing was stored, and the same request may succeed later.
    Busy(String),
    /// The store accepts no writes until it is reopened; searches still work.
    Stopped(String),
    /// Another process has the store open.
    Locked(String),
    /// A stored object is damaged.
    Damage {
        /// The object's path in the store.
        object: String,
        /// The byte offset of the damage.
        offset: u64,
        /// The actual and the expected content.
        message: String,
    },
    /// The underlying storage failed to read, write or list.
    Storage {
        /// The object's path in the store, or the address of the store.
        object: String,
        /// The error of the storage.
        message: String,
    },
    /// An invalid option or address of a store.
    Options(String),
    /// A shard no longer keeps the state of a search; retry the search from the start.
    PinLost,
    /// The caller cancelled the request.
    Cancelled,
    /// The store is closed.
    Closed,
}

impl Error {
    /// Returns the error for damage found in `object` at byte `offset`.
    pub fn damage(object: impl Into<String>, offset: u64, message: impl Into<String>) -> Self {
        Self::Damage { object: object.into(), offset, message: message.into() }
    }

    /// Returns the error for a failure of the underlying storage at `object`.
    pub fn storage(object: impl Into<String>, source: impl fmt::Display) -> Self {
        Self::Storage { object: object.into(), message: source.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(error) => error.fmt(f),
            Self::Request(message)
            | Self::Decode(message)
            | Self::MediaType(message)
            | Self::TooLarge(message)
            | Self::Batch(message)
            | Self::Busy(message)
            | Self::Stopped(message)
            | Self::Locked(message)
            | Self::Options(message) => f.write_str(message),
            Self::Damage { object, offset, message } => {
                write!(f, "`{object}` is damaged at byte {offset}: {message}")
            }
            Self::Storage { object, message } => write!(f, "`{object}`: {message}"),
            Self::PinLost => f.write_str("a shard lost the state of the search; retry"),
            Self::Cancelled => f.write_str("the request was cancelled"),
            Self::Closed => f.write_str("the store is closed"),
        }
    }
}

impl std::error::Error for Error {}

impl From<FilterError> for Error {
    fn from(error: FilterError) -> Self {
        Self::Filter(error)
    }
}
