//! Error messages for failed bucket requests, without secrets.
//!
//! The text of the service is never passed on, because it may contain the request, its signature, and parts
//! of keys.

use object_store::Error;

/// The maximum length in bytes of a status or code that is passed on.
const MAX_CODE_BYTES: usize = 64;

pub(super) fn describe(error: &Error) -> String {
    match error {
        Error::NotFound { .. } => "there is no such bucket or object".into(),
        Error::PermissionDenied { .. } => with_code("the credentials do not allow it", error),
        Error::Unauthenticated { .. } => with_code("the credentials are missing or not valid", error),
        Error::AlreadyExists { .. } => "another request for this name is in progress".into(),
        Error::NotImplemented { .. } | Error::NotSupported { .. } => "the service does not offer it".into(),
        _ => with_code(describe_text(&full_text(error)), error),
    }
}

/// Returns `true` if the same request would fail again.
pub(super) fn is_permanent(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { .. }
            | Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::NotSupported { .. }
            | Error::InvalidPath { .. }
    )
}

/// Returns `true` if the response was missing or incomplete.
pub(super) fn is_interrupted(error: &Error) -> bool {
    let text = full_text(error);
    // `object_store` has already retried an error with such a text.
    let was_retried = text.contains("status code: ") || text.contains("retries");
    matches!(error, Error::Generic { .. }) && !was_retried
}

/// Returns a message for the full text of an error.
fn describe_text(text: &str) -> &'static str {
    let lower = text.to_ascii_lowercase();
    let messages = [
        ("status code: 404", "there is no such bucket"),
        ("credential", "no credentials are available"),
        ("169.254.", "no credentials are available"),
        ("metadata", "no credentials are available"),
        ("timed out", "the service did not respond in time"),
        ("timeout", "the service did not respond in time"),
        ("certificate", "the service's certificate is not trusted"),
        ("dns", "the service cannot be reached"),
        ("connect", "the service cannot be reached"),
    ];
    let known = messages.iter().find(|(pattern, _)| lower.contains(pattern));
    known.map_or("the request failed", |(_, message)| message)
}

/// Appends the HTTP status and the error code of the service, which contain no secret.
fn with_code(message: &str, error: &Error) -> String {
    let text = full_text(error);
    let status = code_after(&text, "status code: ", |letter| letter.is_ascii_digit());
    let code = code_after(&text, "<Code>", |letter| letter.is_ascii_alphanumeric());
    let codes: Vec<&str> = [status, code].into_iter().flatten().collect();
    if codes.is_empty() { message.into() } else { format!("{message} ({})", codes.join(" ")) }
}

/// Returns the characters accepted by `is_part` that follow `mark`.
fn code_after<'a>(text: &'a str, mark: &str, is_part: impl Fn(char) -> bool) -> Option<&'a str> {
    let rest = &text[text.find(mark)? + mark.len()..];
    let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len()).min(MAX_CODE_BYTES);
    Some(&rest[..end]).filter(|code| !code.is_empty())
}

/// Returns the text of an error and of its sources, which must not be shown.
fn full_text(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push('\n');
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
