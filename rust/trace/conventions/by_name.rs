//! The tables by name, with the lines of a user before the built-in ones.

use std::sync::OnceLock;

use ahash::{HashMap, HashSet};

use super::table::{Attribute, Line, TABLE};
use super::types::{ANY, TYPE_WORDS, TYPES};
use crate::error::{Error, Result};

/// Maximum number of a user's lines.
const MAX_LINES: usize = 1_024;

/// The conventions in force.
#[derive(Debug, Default)]
pub(super) struct Conventions {
    pub(super) by_name: HashMap<Box<[u8]>, Vec<Use>>,
    /// The lines of types, in order of precedence.
    pub(super) types: Vec<TypeRule>,
    /// The user's lines that they were made with.
    lines: Vec<(String, String)>,
}

/// What a name stands for; `rank` is its position in the line.
#[derive(Debug)]
pub(super) enum Use {
    /// An attribute.
    Whole { attribute: Attribute, rank: u16 },
    /// An attribute is a member of the JSON object.
    Member { attribute: Attribute, rank: u16, path: Box<str> },
    /// An attribute is the sum of this one and others.
    Sum { attribute: Attribute, rank: u16, others: Vec<Box<str>> },
    /// Its value says the type of a span.
    Type { rank: u16 },
}

/// An attribute that says types, with pairs of a value and a type.
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

/// Whether a value of this name may be `attribute`, or have a member that is.
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

/// Puts `lines`, pairs of a name and what it stands for, before the built-in ones (`docs/reference/traces.md#own-names`).
///
/// A process has one table, so that no two of its rows are made by different ones: it is set before a span is read.
///
/// # Errors
/// [`Error::Options`] if a line is invalid, or if other lines are in force.
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

/// Returns a text that is another one wherever spans are read in another way: by a user's lines, by tables or by code of
/// another version. What is made of spans and kept has it as a part of its identity.
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

/// Returns the lines of the table that a user may add names to: types have words of their own.
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
