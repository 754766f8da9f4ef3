//! Matches model names to prices. A model name may have a provider or a region as a prefix, and a date or a
//! version as a suffix.

/// Returns the normalized form of a model name, which is compared with price tables.
pub(super) fn normalized(model: &str) -> String {
    model.trim().to_lowercase()
}

/// Returns `true` if the price of `pattern` applies to the model `name`. `*` in the pattern matches any text.
/// Both must be in lower case.
pub(super) fn fits(name: &str, pattern: &str) -> bool {
    let names = [name, without_prefix(name)];
    if pattern.contains('*') {
        return names.iter().any(|name| is_like(name, pattern));
    }
    names.iter().any(|name| name.strip_prefix(pattern).is_some_and(is_suffix))
}

/// Returns a name without its prefixes: a provider with a slash, or a region and a vendor with dots.
fn without_prefix(name: &str) -> &str {
    if let Some((_, rest)) = name.rsplit_once('/') {
        return rest;
    }
    let mut rest = name;
    while let Some((word, after)) = rest.split_once('.') {
        if word.len() < 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            break;
        }
        rest = after;
    }
    rest
}

/// Returns `true` if a text is a suffix that does not change the price: a date or `latest`, an API version,
/// or a number.
fn is_suffix(text: &str) -> bool {
    let of_interface = |text: &str| {
        let after = text.strip_prefix("-v").and_then(after_digits).unwrap_or(text);
        after.is_empty() || after.strip_prefix(':').and_then(after_digits) == Some("")
    };
    if of_interface(text) {
        return true;
    }
    let Some(edition) = text.strip_prefix(['-', '@']) else { return false };
    let editions = [edition.strip_prefix("latest"), after_number(edition), after_date(edition)];
    editions.into_iter().flatten().any(of_interface)
}

/// Returns the text after the leading digits; `None` without a leading digit.
fn after_digits(text: &str) -> Option<&str> {
    let after = text.trim_start_matches(|character: char| character.is_ascii_digit());
    (after.len() < text.len()).then_some(after)
}

/// Returns the text after a number of three to eight digits.
fn after_number(text: &str) -> Option<&str> {
    after_digits(text).filter(|after| (3..=8).contains(&(text.len() - after.len())))
}

/// Returns the text after a date such as `2025-04-14`.
fn after_date(text: &str) -> Option<&str> {
    let (date, after) = text.split_at_checked("2025-04-14".len())?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_date.then_some(after)
}

/// Returns `true` if a name matches a pattern with `*`.
fn is_like(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(found) = rest.find(part) else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.is_empty()
}
