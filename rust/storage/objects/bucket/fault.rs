//! What went wrong in a bucket, without a word that the service or the environment said in confidence.
//!
//! The service's own text is never passed on: it may hold the request, its signature, and parts of keys.

use object_store::Error as Fault;

/// No word that is passed on is longer.
const LONGEST_WORD: usize = 64;

/// Returns what is said of a fault.
pub(super) fn told(fault: &Fault) -> String {
    match fault {
        Fault::NotFound { .. } => "there is no such bucket or object".into(),
        Fault::PermissionDenied { .. } => with_code("the credentials do not allow it", fault),
        Fault::Unauthenticated { .. } => with_code("the credentials are missing or not valid", fault),
        Fault::AlreadyExists { .. } => "another request for this name is under way".into(),
        Fault::NotImplemented { .. } | Fault::NotSupported { .. } => "the service does not offer it".into(),
        _ => with_code(kind(&text_of(fault)), fault),
    }
}

/// Whether the same request would fail again.
pub(super) fn is_final(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::NotFound { .. }
            | Fault::PermissionDenied { .. }
            | Fault::Unauthenticated { .. }
            | Fault::NotSupported { .. }
            | Fault::InvalidPath { .. }
    )
}

/// Whether an answer did not come, or not to its end.
pub(super) fn is_broken_off(fault: &Fault) -> bool {
    let text = text_of(fault);
    // The words of a request that was tried often enough.
    let was_retried = text.contains("status code: ") || text.contains("retries");
    matches!(fault, Fault::Generic { .. }) && !was_retried
}

/// Returns what kind of fault a text tells of.
fn kind(text: &str) -> &'static str {
    let lower = text.to_ascii_lowercase();
    let kinds = [
        ("status code: 404", "there is no such bucket"),
        ("credential", "no credentials could be had"),
        ("169.254.", "no credentials could be had"),
        ("metadata", "no credentials could be had"),
        ("timed out", "the service did not answer in time"),
        ("timeout", "the service did not answer in time"),
        ("certificate", "the service's certificate is not trusted"),
        ("dns", "the service cannot be reached"),
        ("connect", "the service cannot be reached"),
    ];
    let known = kinds.iter().find(|(word, _)| lower.contains(word));
    known.map_or("the request failed", |(_, kind)| kind)
}

/// Adds the status and the service's own code, which are words without any value of ours.
fn with_code(sentence: &str, fault: &Fault) -> String {
    let text = text_of(fault);
    let status = word_after(&text, "status code: ", |letter| letter.is_ascii_digit());
    let code = word_after(&text, "<Code>", |letter| letter.is_ascii_alphanumeric());
    let said: Vec<&str> = [status, code].into_iter().flatten().collect();
    if said.is_empty() { sentence.into() } else { format!("{sentence} ({})", said.join(" ")) }
}

fn word_after<'a>(text: &'a str, mark: &str, is_part: impl Fn(char) -> bool) -> Option<&'a str> {
    let rest = &text[text.find(mark)? + mark.len()..];
    let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len()).min(LONGEST_WORD);
    Some(&rest[..end]).filter(|word| !word.is_empty())
}

/// Returns the texts of a fault and of what caused it; not to be shown.
fn text_of(fault: &Fault) -> String {
    let mut text = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(fault) = cause {
        text.push('\n');
        text.push_str(&fault.to_string());
        cause = fault.source();
    }
    text
}
