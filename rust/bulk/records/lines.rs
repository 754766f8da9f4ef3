//! Splits text into its JSON values. A value may take one line or several lines.
//!
//! Each value is checked individually, so that a damaged line does not affect the others.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The members of OTLP messages, by their JSON and protobuf names, and the names of the signals.
const SIGNALS: [([&str; 2], &str); 4] = [
    (["resourceSpans", "resource_spans"], "traces"),
    (["resourceMetrics", "resource_metrics"], "metrics"),
    (["resourceLogs", "resource_logs"], "logs"),
    (["resourceProfiles", "resource_profiles"], "profiles"),
];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The maximum number of bytes that a rejection quotes.
const MAX_QUOTED_BYTES: usize = 40;
/// The maximum number of listed rejections. The others are counted.
const MAX_LISTED_REJECTIONS: usize = 100;
/// The maximum number of values in [`PartKind::Lines`].
const MAX_LINES: usize = 16_384;

/// A part of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPart {
    /// Its content.
    pub kind: PartKind,
    /// The range of its bytes within the text.
    pub range: Range<usize>,
    /// The number of lines before it.
    pub line: usize,
}

/// The content of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    /// An OTLP message of traces.
    Otlp,
    /// An OTLP message of another signal, with the name of the signal.
    OtherSignal(&'static str),
    /// Objects or lists with one line each, possibly between empty lines.
    Lines,
    /// An object or a list.
    Document,
    /// Bytes that are not JSON, or a value that is neither an object nor a list, with the reason.
    Rejected(String),
}

/// The parts of a text, in order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct JsonSplit {
    /// The parts.
    pub parts: Vec<JsonPart>,
    /// The number of bytes that were read. The others are the start of a value that may continue.
    pub used: usize,
    /// The number of lines that end in these bytes.
    pub lines: usize,
    /// The number of rejections that are not listed in the parts.
    pub unlisted: usize,
}

/// Returns the parts of `text`, which must start at the start of a line. `is_whole`: the text ends at the end
/// of the file.
pub fn split_json(text: &[u8], is_whole: bool) -> JsonSplit {
    let split = JsonSplit::default();
    let mut splitter = Splitter {
        text,
        is_whole,
        line_start: 0,
        unbounded_bytes: 2 * text.len(),
        listed: 0,
        values: 0,
        split,
    };
    while splitter.step() {}
    splitter.split
}

struct Splitter<'a> {
    text: &'a [u8],
    is_whole: bool,
    /// The start of the current line.
    line_start: usize,
    /// The remaining number of bytes that may be read in vain to find the end of a value in later lines.
    /// Otherwise a text in which each line starts an unfinished value would be read to its end for each line.
    unbounded_bytes: usize,
    /// The number of rejections among the parts.
    listed: usize,
    /// The number of values of the last part.
    values: usize,
    split: JsonSplit,
}

impl Splitter<'_> {
    /// Reads the next value of a line, or the end of the line. Returns `false` at the end of the text.
    fn step(&mut self) -> bool {
        let start = self.split.used;
        let end = memchr::memchr(b'\n', &self.text[start..]).map(|length| start + length);
        let Some(end) = end.or_else(|| (self.is_whole && start < self.text.len()).then_some(self.text.len()))
        else {
            return false;
        };
        let line = &self.text[start..end];
        let blank = line.len() - without_mark(line).trim_ascii_start().len();
        let start = start + blank;
        let nuls = self.text[start..end].iter().take_while(|byte| **byte == 0).count();
        if nuls > 0 {
            self.push(PartKind::Rejected(format!("{nuls} NUL bytes")), start..start + nuls);
            self.split.used = start + nuls;
            return true;
        }
        let content = self.text[start..end].trim_ascii_end();
        if content.is_empty() {
            self.end_line(end);
            return true;
        }
        match value_of(content) {
            ValueExtent::Value(kind, length) => self.value(kind, start..start + length, end),
            ValueExtent::Scalar(text) => {
                let reason = || format!("expected an object or a list, got `{text}`");
                self.reject_line(reason, start..end);
            }
            ValueExtent::Broken(error) => self.reject_line(|| describe(&error), start..end),
            ValueExtent::Unfinished(error) => return self.over_lines(start, end, &error),
        }
        true
    }

    /// Adds a value on a line that ends at `end`, and continues after it.
    fn value(&mut self, kind: PartKind, range: Range<usize>, end: usize) {
        let value = &self.text[range.clone()];
        let is_line = !value.contains(&b'\n') && self.text[self.line_start..end].trim_ascii() == value;
        let kind = match simdutf8::basic::from_utf8(value) {
            Ok(_) => kind,
            Err(_) => PartKind::Rejected("expected JSON in UTF-8".to_owned()),
        };
        let rest = self.text[range.end..end].trim_ascii_start();
        // Elements of an incomplete list are separated by commas.
        let rest = rest.strip_prefix(b",").unwrap_or(rest);
        match self.split.parts.last_mut() {
            Some(last)
                if is_line
                    && kind == PartKind::Document
                    && last.kind == PartKind::Lines
                    && self.values < MAX_LINES =>
            {
                last.range.end = range.end;
                self.values += 1;
            }
            _ if is_line && kind == PartKind::Document => self.push(PartKind::Lines, range.clone()),
            _ => self.push(kind, range.clone()),
        }
        if rest.trim_ascii_start().is_empty() {
            self.end_line(end);
        } else {
            self.split.used = end - rest.len();
        }
    }

    /// Reads a value that starts at `start` in a line that ends at `end`. Because of `error`, the value does
    /// not end in that line.
    fn over_lines(&mut self, start: usize, end: usize, error: &serde_json::Error) -> bool {
        let rest = &self.text[start..];
        let found = (self.unbounded_bytes > 0).then(|| value_of(rest));
        if let Some(ValueExtent::Value(kind, length)) = found {
            let range = start..start + length;
            let within = memchr::memchr_iter(b'\n', &self.text[range.clone()]).count();
            let last = memchr::memchr(b'\n', &self.text[range.end..]);
            self.value(kind, range.clone(), last.map_or(self.text.len(), |length| range.end + length));
            // `value` counts the line that it ends.
            self.split.lines += within;
            return true;
        }
        let read = match found {
            Some(ValueExtent::Broken(at)) => end_of_line(rest, at.line()),
            Some(_) => rest.len(),
            None => 0,
        };
        // The value may continue, and so may the line that shows its damage.
        if read == rest.len() && !self.is_whole {
            return false;
        }
        self.unbounded_bytes = self.unbounded_bytes.saturating_sub(read);
        let indent = start - self.line_start;
        let is_list = self.text[start] == b'[';
        self.reject_line(|| format!("a value without an end: {}", describe(error)), start..end);
        if !is_list && read > end - start {
            self.skip_inner_lines(indent, start + read);
        }
        true
    }

    /// Skips lines up to `end` that belong to a damaged value. The value ends before a line that starts an
    /// object or a list and is not indented deeper.
    fn skip_inner_lines(&mut self, indent: usize, end: usize) {
        while self.split.used < end.min(self.text.len()) {
            let line = &self.text[self.split.used..];
            let content = line.trim_ascii_start();
            let is_begin = matches!(content.first(), Some(b'{' | b'['));
            if is_begin && line.len() - content.len() <= indent {
                return;
            }
            match memchr::memchr(b'\n', line) {
                Some(length) => self.end_line(self.split.used + length),
                None => return,
            }
        }
    }

    fn reject_line(&mut self, reason: impl FnOnce() -> String, range: Range<usize>) {
        let end = range.end;
        let is_listed = self.listed < MAX_LISTED_REJECTIONS;
        self.push(PartKind::Rejected(if is_listed { reason() } else { String::new() }), range);
        self.end_line(end);
    }

    fn push(&mut self, kind: PartKind, range: Range<usize>) {
        if matches!(kind, PartKind::Rejected(_)) {
            if self.listed == MAX_LISTED_REJECTIONS {
                self.split.unlisted += 1;
                return;
            }
            self.listed += 1;
        }
        self.values = 1;
        self.split.parts.push(JsonPart { kind, range, line: self.split.lines });
    }

    fn end_line(&mut self, end: usize) {
        let has_end = end < self.text.len();
        self.split.used = end + usize::from(has_end);
        self.split.lines += usize::from(has_end);
        self.line_start = self.split.used;
    }
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
}

/// Returns the end of a line of `text`. Lines are numbered from 1.
fn end_of_line(text: &[u8], line: usize) -> usize {
    memchr::memchr_iter(b'\n', text).nth(line.saturating_sub(1)).unwrap_or(text.len())
}

/// Returns the text of an error with its column. The line is omitted, because it is counted in the file.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&position) {
        Some(message) => format!("{message} at column {}", error.column()),
        None => text,
    }
}

/// The result of reading the first value of a text.
enum ValueExtent {
    /// Its content and its length.
    Value(PartKind, usize),
    /// The text ends within an object or a list.
    Unfinished(serde_json::Error),
    Broken(serde_json::Error),
    Scalar(String),
}

fn value_of(text: &[u8]) -> ValueExtent {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Outline>();
    match values.next() {
        Some(Ok(Outline::Scalar)) => ValueExtent::Scalar(quoted(&text[..values.byte_offset()])),
        Some(Ok(Outline::Holds(kind))) => ValueExtent::Value(kind, values.byte_offset()),
        Some(Err(error)) if error.is_eof() && matches!(text.first(), Some(b'{' | b'[')) => {
            ValueExtent::Unfinished(error)
        }
        Some(Err(error)) => ValueExtent::Broken(error),
        None => ValueExtent::Scalar(String::new()),
    }
}

fn quoted(value: &[u8]) -> String {
    let more = if value.len() > MAX_QUOTED_BYTES { "..." } else { "" };
    let begin = String::from_utf8_lossy(&value[..value.len().min(MAX_QUOTED_BYTES)]);
    format!("{}{more}", begin.escape_debug())
}

/// A value without its content.
enum Outline {
    Holds(PartKind),
    Scalar,
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Outline, M::Error> {
        let mut kind = PartKind::Document;
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            members.next_value::<IgnoredAny>()?;
            let signal = SIGNALS.iter().find(|(names, _)| names.contains(&name.as_ref()));
            match signal {
                Some((_, "traces")) => kind = PartKind::Otlp,
                Some((_, signal)) if kind == PartKind::Document => kind = PartKind::OtherSignal(signal),
                _ => {}
            }
        }
        Ok(Outline::Holds(kind))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut elements: S) -> Result<Outline, S::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Outline::Holds(PartKind::Document))
    }

    fn visit_unit<E>(self) -> Result<Outline, E> {
        Ok(Outline::Scalar)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Outline, E> {
        Ok(Outline::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Outline, E> {
        Ok(Outline::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Outline, E> {
        Ok(Outline::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Outline, E> {
        Ok(Outline::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Outline, E> {
        Ok(Outline::Scalar)
    }
}
