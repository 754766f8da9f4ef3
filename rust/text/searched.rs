//! The parts of a text that are searched.
//!
//! A text is searched as it was sent. Inside JSON, a quotation mark, a line break or a letter beyond ASCII
//! may be written as an escape. A text is therefore also searched with its escapes resolved once, and once
//! more for JSON inside JSON strings. Only the beginning of a long data run is searched.
//!
//! Bytes between two [token boundaries](is_token_boundary) that have no escape are the same at every escape
//! level.

use std::borrow::Cow;

/// Longer runs of letters, digits and `+/=_-` are data, such as images, and are not searched.
const MAX_RUN_BYTES: usize = 4_096;
/// The number of bytes at the start of a data run that are searched.
const SEARCHED_RUN_BYTES: usize = 64;

/// How many times the escapes of a text are resolved.
const ESCAPE_LEVELS: usize = 2;

/// Returns the first result of `find`. It is called with each searched part of `text`: first as it was sent,
/// then with its escapes resolved once and twice.
pub(crate) fn find_in_searched<T>(text: &str, find: impl FnMut(&str) -> Option<T>) -> Option<T> {
    find_in_levels(text, unescaped, find)
}

/// Calls `visit` with parts that have the same tokens between [token boundaries](is_token_boundary) as all
/// searched parts. These are the text as it was sent and, per escape level, only the tokens that the level
/// changes.
pub(crate) fn for_each_searched_word(text: &str, mut visit: impl FnMut(&str)) {
    let _nothing_ends_it: Option<()> = find_in_levels(text, unescaped_words, |part| {
        visit(part);
        None
    });
}

/// Returns `true` if no word, escape or data run continues across a byte.
pub(crate) fn is_token_boundary(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"-_+/=\"\\".contains(&byte)
}

/// Returns the first result of `find` in `text`, or in the output of `resolve` for each further escape level.
fn find_in_levels<T>(
    text: &str,
    resolve: impl Fn(&str) -> String,
    mut find: impl FnMut(&str) -> Option<T>,
) -> Option<T> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ESCAPE_LEVELS {
        let found = searched(&text).into_iter().find_map(&mut find);
        if found.is_some() || !text.contains('\\') {
            return found;
        }
        text = Cow::Owned(resolve(&text));
    }
    searched(&text).into_iter().find_map(find)
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    unescape(text, &mut out);
    out
}

/// Returns the tokens of `text` that have an escape, resolved and separated by spaces. Tokens end at token
/// boundaries.
fn unescaped_words(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('\\') {
        let (before, after) = rest.as_bytes().split_at(at);
        let start = before.iter().rposition(|byte| is_token_boundary(*byte)).map_or(0, |last| last + 1);
        let length = after.iter().position(|byte| is_token_boundary(*byte)).unwrap_or(after.len());
        unescape(&rest[start..at + length], &mut out);
        out.push(' ');
        rest = &rest[at + length..];
    }
    out
}

/// Appends `text` with the escapes of JSON strings resolved. Other backslashes stay. Source: RFC 8259, 7.
fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (letter, length) = escape(&rest[at + 1..]).unwrap_or(('\\', 0));
        out.push(letter);
        rest = &rest[at + 1 + length..];
    }
    out.push_str(rest);
}

/// Returns the character of the escape after a backslash, and the length of the escape in bytes.
fn escape(text: &str) -> Option<(char, usize)> {
    let letter = match text.as_bytes().first()? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let first = code_unit(&text[1..])?;
            let second = || text.get(5..)?.strip_prefix("\\u").and_then(code_unit);
            let one = char::from_u32(u32::from(first)).map(|letter| (letter, 5));
            return one.or_else(|| {
                let pair = char::decode_utf16([first, second()?]).next()?.ok()?;
                Some((pair, 11))
            });
        }
        _ => return None,
    };
    Some((letter, 1))
}

fn code_unit(text: &str) -> Option<u16> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

/// Returns the searched parts of `text`: all of it except the rest of each data run.
fn searched(text: &str) -> Vec<&str> {
    let is_of_run = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    if text.len() <= MAX_RUN_BYTES {
        return vec![text];
    }
    let (bytes, mut parts, mut part, mut at) = (text.as_bytes(), Vec::new(), 0, 0);
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|byte| is_of_run(**byte)).count();
        if run > MAX_RUN_BYTES {
            parts.push(&text[part..at + SEARCHED_RUN_BYTES]);
            part = at + run;
        }
        at += run.max(1);
    }
    parts.push(&text[part..]);
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Returns the tokens between token boundaries in the parts that `visit` receives.
    fn words(for_each: impl FnOnce(&mut dyn FnMut(&str))) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        for_each(&mut |part| {
            let is_token_boundary = |letter: char| letter.is_ascii() && is_token_boundary(letter as u8);
            words.extend(part.split(is_token_boundary).map(String::from));
        });
        words.remove("");
        words
    }

    fn text() -> impl Strategy<Value = String> {
        let run = (4_090_usize..4_100).prop_map(|length| "aB+/=_-".chars().cycle().take(length).collect());
        let piece = prop_oneof![
            20 => r#"[ab_é中 ,{"/\\nu0e]{1,6}"#,
            2 => Just(r"\u00e9".to_owned()),
            2 => Just(r"\\ud83d\\ude42".to_owned()),
            1 => Just(r"\\\".to_owned()),
            1 => run,
        ];
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn words_are_those_of_all_that_is_searched(text in text()) {
            let all = words(|visit| {
                let _nothing_ends_it: Option<()> = find_in_searched(&text, |part| {
                    visit(part);
                    None
                });
            });
            prop_assert_eq!(words(|visit| for_each_searched_word(&text, visit)), all);
        }
    }

    #[test]
    fn only_what_escapes_change_is_visited_again() {
        let mut parts = Vec::new();
        for_each_searched_word(r#"{\"city\": \"Zürich\\nLake\"}, {}"#, |part| parts.push(part.to_owned()));
        assert_eq!(parts[1..], [r#""city" "Zürich\nLake" "#, "\"Zürich\nLake\" "]);
    }
}
