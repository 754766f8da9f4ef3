//! Which names of models mean the same price: a provider or a region may stand before a name, a date or a version after it.

/// Returns a name of a model as names in tables of prices are compared with it.
pub(super) fn normalized(model: &str) -> String {
    model.trim().to_lowercase()
}

/// Whether the price of `pattern`, in which `*` stands for anything, is that of the model `name`. Both are in lower case.
pub(super) fn fits(name: &str, pattern: &str) -> bool {
    let names = [name, without_prefix(name)];
    if pattern.contains('*') {
        return names.iter().any(|name| is_like(name, pattern));
    }
    names.iter().any(|name| name.strip_prefix(pattern).is_some_and(is_suffix))
}

/// Returns a name without what may stand before it: a provider with a slash, or a region and a vendor with dots.
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

/// Whether a text may follow the name of a model of the same price: a date or `latest`, a version of the vendor's
/// interface, and a number of it.
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

/// Returns what follows the digits with which a text begins; `None` without a digit.
fn after_digits(text: &str) -> Option<&str> {
    let after = text.trim_start_matches(|character: char| character.is_ascii_digit());
    (after.len() < text.len()).then_some(after)
}

/// Returns what follows a number of three to eight digits.
fn after_number(text: &str) -> Option<&str> {
    after_digits(text).filter(|after| (3..=8).contains(&(text.len() - after.len())))
}

/// Returns what follows a date, as in `2025-04-14`.
fn after_date(text: &str) -> Option<&str> {
    let (date, after) = text.split_at_checked("2025-04-14".len())?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_date.then_some(after)
}

/// Whether a name is what a pattern with `*` describes.
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
