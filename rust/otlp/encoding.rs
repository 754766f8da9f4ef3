//! The encodings of requests and responses, as content types.

use crate::error::{Error, Result};

/// The encoding of a request and of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `application/x-protobuf`.
    Protobuf,
    /// `application/json`.
    Json,
}

/// The signal of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Log records.
    Logs,
    /// Metrics.
    Metrics,
}

impl Encoding {
    /// Returns the encoding that a `Content-Type` header names; case and parameters are ignored.
    ///
    /// # Errors
    /// [`Error::MediaType`] for any other type.
    ///
    /// # Examples
    /// ```
    /// use spanwise::otlp::Encoding;
    /// assert_eq!(Encoding::of("Application/JSON; charset=utf-8").unwrap(), Encoding::Json);
    /// assert!(Encoding::of("text/plain").is_err());
    /// ```
    pub fn of(content_type: &str) -> Result<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        match [Self::Protobuf, Self::Json]
            .into_iter()
            .find(|known| known.media_type().eq_ignore_ascii_case(essence))
        {
            Some(encoding) => Ok(encoding),
            None => Err(Error::MediaType(format!(
                "unsupported content type `{essence}`, expected `{}` or `{}`",
                Self::Protobuf.media_type(),
                Self::Json.media_type()
            ))),
        }
    }

    /// Returns the `Content-Type` of a response in this encoding.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}
