//! The convention tables by name. The user's lines precede the built-in ones.

use std::sync::OnceLock;

use ahash::{HashMap, HashSet};

use super::table::{Attribute, Line, TABLE};
use super::types::{ANY, TYPE_WORDS, TYPES};
use crate::error::{Error, Result};

/// The maximum number of user lines.
const MAX_LINES: usize = 1_024;

/// The conventions of the process.
#[derive(Debug, Default)]
pub(super) struct Conventions {
    pub(super) by_name: HashMap<Box<[u8]>, Vec<Use>>,
    /// The rules for types, in order of precedence.
    pub(super) types: Vec<TypeRule>,
    /// The user lines that are included.
    lines: Vec<(String, String)>,
}

/// The meaning of a name; `rank` is its position in the line.
#[derive(Debug)]
pub(super) enum Use {
    /// The value is an attribute.
    Whole { attribute: Attribute, rank: u16 },
    /// A member of the JSON object in the value is an attribute.
    Member { attribute: Attribute, rank: u16, path: Box<str> },
    /// The sum of this value and others is an attribute.
    Sum { attribute: Attribute, rank: u16, others: Vec<Box<str>> },
    /// The value determines the type of a span.
    Type { rank: u16 },
}

/// An attribute that determines types, with pairs of a value and a type.
#[derive(Debug)]
pub(super) struct TypeRule {
    pub(super) name: Box<str>,
    pub(super) types: Vec<(Box<str>, Box<str>)>,
}

static CONVENTIONS: OnceLock<Conventions> = OnceLock::new();

/// Returns the conventions of this process.
pub(super) fn conventions() -> &'static Conventions {
    CONVENTIONS.get_or_init(|| Conventions::of(&[]))
}

/// Returns `true` if a value with this name, or a member of it, may be `attribute`.
pub fn may_hold(name: &[u8], attribute: Attribute) -> bool {
    conventions().by_name.get(name).is_some_and(|uses| {
        uses.iter().any(|of_name| match of_name {
            Use::Whole { attribute: own, .. }
            | Use::Member { attribute: own, .. }
            | Use::Sum { attribute: own, .. } => *own == attribute,
            Use::Type { .. } => false,
        })
    })
}

/// Puts `lines`, pairs of a name and a line of the table, before the built-in ones
/// (`docs/reference/traces.md#own-names`).
///
/// A process has one table, so that all rows are built with the same conventions. Call this before any span
/// is read.
///
/// # Errors
/// [`Error::Options`] if a line is invalid, or if other lines are already set.
pub fn set_conventions(lines: &[(String, String)]) -> Result<()> {
    check(lines)?;
    if CONVENTIONS.get_or_init(|| Conventions::of(lines)).lines != lines {
        return Err(Error::Options(
            "setting `conventions`: other conventions are in force in this process; expected the same in all its stores"
                .into(),
        ));
    }
    Ok(())
}

/// Returns a text that changes when spans are interpreted differently, by user lines, tables or the code
/// version. It is part of the identity of data derived from spans.
pub fn conventions_identity() -> String {
    let mut lines = String::new();
    for line in TABLE {
        lines.extend(
            [line.word, ":"].into_iter().chain(line.names.iter().copied()).flat_map(|text| [text, ","]),
        );
    }
    for (name, types) in TYPES.iter().map(|line| (line.name, line.types)) {
        lines.extend([name, ":"].into_iter().chain(types.iter().flat_map(|(value, word)| [*value, *word])));
    }
    for (name, meaning) in &conventions().lines {
        lines.extend([name, "=", meaning, ","]);
    }
    format!("{} {:08x}", env!("CARGO_PKG_VERSION"), crc32c::crc32c(lines.as_bytes()))
}

/// Returns the table lines that users may add names to. Types have words of their own.
fn facts() -> impl Iterator<Item = &'static Line> {
    TABLE.iter().filter(|line| !matches!(line.attribute, Attribute::Kind | Attribute::Operation))
}

fn check(lines: &[(String, String)]) -> Result<()> {
    let invalid = |reason: String| Err(Error::Options(format!("setting `conventions`: {reason}")));
    if lines.len() > MAX_LINES {
        return invalid(format!("{} lines, expected at most {MAX_LINES}", lines.len()));
    }
    let mut names = HashSet::default();
    for (name, meaning) in lines {
        let is_type = TYPE_WORDS.contains(&meaning.as_str());
        if !is_type && facts().all(|line| line.word != meaning) {
            let words = facts().map(|line| line.word).chain(TYPE_WORDS).collect::<Vec<_>>().join(", ");
            return invalid(format!("`{name}` stands for the unknown `{meaning}`; expected one of {words}"));
        }
        let separator = if is_type { ':' } else { '#' };
        if name.is_empty() || name.starts_with(separator) || name.ends_with(separator) {
            return invalid(format!("expected the name of an attribute, got `{name}`"));
        }
        if !names.insert(name) {
            return invalid(format!("`{name}` is listed twice"));
        }
    }
    Ok(())
}

impl Conventions {
    fn of(lines: &[(String, String)]) -> Self {
        let mut made = Self { lines: lines.to_vec(), ..Self::default() };
        for line in TABLE {
            let own = lines.iter().filter(|(_, meaning)| meaning == line.word).map(|(name, _)| name.as_str());
            for (rank, name) in (0..).zip(own.chain(line.names.iter().copied())) {
                made.add_name(line.attribute, rank, name);
            }
        }
        for (name, word) in lines.iter().filter(|(_, meaning)| TYPE_WORDS.contains(&meaning.as_str())) {
            let (name, value) = name.split_once(':').unwrap_or((name, ANY));
            made.add_type(name, &[(value, word)]);
        }
        for line in TYPES {
            made.add_type(line.name, line.types);
        }
        made
    }

    fn add_name(&mut self, attribute: Attribute, rank: u16, name: &str) {
        let (name, of_name) = if let Some((name, path)) = name.split_once('#') {
            (name, Use::Member { attribute, rank, path: path.into() })
        } else if let Some((name, others)) = name.split_once('+') {
            (name, Use::Sum { attribute, rank, others: others.split('+').map(Box::from).collect() })
        } else {
            (name, Use::Whole { attribute, rank })
        };
        self.by_name.entry(name.as_bytes().into()).or_default().push(of_name);
    }

    fn add_type(&mut self, name: &str, types: &[(&str, &str)]) {
        let rank = u16::try_from(self.types.len()).unwrap_or(u16::MAX);
        self.by_name.entry(name.as_bytes().into()).or_default().push(Use::Type { rank });
        let types = types.iter().map(|(value, word)| (Box::from(*value), Box::from(*word))).collect();
        self.types.push(TypeRule { name: name.into(), types });
    }
}
