//! The parts of a text that are searched.
//!
//! A text is searched as it was sent. Inside of JSON, a quotation mark, a line break or a letter beyond ASCII may be
//! written as an escape, so a text is also searched with its escapes resolved, once and twice: as texts of JSON inside of
//! JSON are. Of a run that is data only the beginning is searched.

use std::borrow::Cow;

/// Runs of more than so many letters, digits and `+/=_-` are data, such as images: not searched.
const MAX_RUN_BYTES: usize = 4_096;
/// What is searched of a run that is data.
const SEARCHED_RUN_BYTES: usize = 64;

/// How often the escapes of a text are resolved.
const ESCAPE_LEVELS: usize = 2;

/// Returns what `find` first finds in a part of `text` that is searched. It is called with one part after the other: as the
/// text was sent, then with its escapes resolved, then with these resolved again.
pub(crate) fn find_in_searched<T>(text: &str, mut find: impl FnMut(&str) -> Option<T>) -> Option<T> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ESCAPE_LEVELS {
        let found = searched(&text).into_iter().find_map(&mut find);
        if found.is_some() || !text.contains('\\') {
            return found;
        }
        text = Cow::Owned(unescaped(&text));
    }
    searched(&text).into_iter().find_map(find)
}

/// Returns `text` with the escapes of JSON strings resolved; what is no escape stays. Source: RFC 8259, 7.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (letter, length) = escape(&rest[at + 1..]).unwrap_or(('\\', 0));
        out.push(letter);
        rest = &rest[at + 1 + length..];
    }
    out + rest
}

/// Returns the character of the escape that follows a backslash, and the length of the escape in bytes.
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

/// Returns the parts of `text` that are searched: all of it but for the rest of each run that is data.
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
