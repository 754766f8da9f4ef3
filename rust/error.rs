//! What can go wrong in the engine, as one closed list.
//!
//! Every message names the offender, what was expected, and the place. The door turns each variant
//! into the Python exception of the same meaning, which carries the HTTP status.

use std::fmt;

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault found in a filter expression (specification, "Filter expression").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// What was found and what was expected, lowercase, without a final period.
    pub message: String,
    /// Where, as a path from the filter's root: `$.conditions[1].value`.
    pub path: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} - at `{}`", self.message, self.path)
    }
}

impl std::error::Error for FilterError {}

/// Whatever the engine refuses or fails at.
#[derive(Debug, Clone)]
pub enum Error {
    /// A filter expression is invalid.
    Filter(FilterError),
    /// A request body cannot be decoded as what it claims to be.
    Decode(String),
    /// A content type or encoding that is not served.
    MediaType(String),
    /// A body or an answer over its limit.
    TooLarge(String),
    /// A record batch handed in does not have the columns a filter asks for.
    Batch(String),
    /// Not accepted now, nothing was stored; the same request may succeed later.
    Busy(String),
    /// The store acknowledges nothing more until it is opened again; searches go on.
    Stopped(String),
    /// Another process holds the store.
    Locked(String),
    /// An object of the store is not what it must be.
    Damage {
        /// The object's path inside the store.
        object: String,
        /// The byte at which the damage shows.
        offset: u64,
        /// What was found and what was expected.
        message: String,
    },
    /// The storage below failed: reading, writing, listing.
    Storage {
        /// The object's path inside the store, or the store's own address.
        object: String,
        /// What the storage said.
        message: String,
    },
    /// An option or an address the store cannot be opened with.
    Options(String),
    /// The caller withdrew the request.
    Cancelled,
    /// The store was closed.
    Closed,
}

impl Error {
    /// Returns damage found in `object` at byte `offset`.
    pub fn damage(object: impl Into<String>, offset: u64, message: impl Into<String>) -> Self {
        Self::Damage { object: object.into(), offset, message: message.into() }
    }

    /// Returns a failure of the storage below, met at `object`.
    pub fn storage(object: impl Into<String>, source: impl fmt::Display) -> Self {
        Self::Storage { object: object.into(), message: source.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(fault) => fault.fmt(f),
            Self::Decode(message)
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
            Self::Cancelled => f.write_str("the request was cancelled"),
            Self::Closed => f.write_str("the store is closed"),
        }
    }
}

impl std::error::Error for Error {}

impl From<FilterError> for Error {
    fn from(fault: FilterError) -> Self {
        Self::Filter(fault)
    }
}
