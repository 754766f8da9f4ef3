//! Axes: the relations between the spans of a trace, as one table (`docs/reference/filter.md#axes`).

use std::fmt;

use super::error::LocatedError;
use super::json::{Json, excerpt, write_text};

/// A relation from one span to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// The parent.
    Parent,
    /// A child.
    Child,
    /// A span above this one in the tree.
    Ancestor,
    /// A span below this one in the tree.
    Descendant,
    /// Another child of the same parent.
    Sibling,
    /// A span elsewhere in the tree that starts after this one has ended.
    FollowedBy,
    /// A span elsewhere in the tree that has ended before this one starts.
    PrecededBy,
}

/// A row of the table of axes.
struct AxisInfo {
    axis: Axis,
    word: &'static str,
    /// The members of its conditions, in canonical order: `op`, `as`, the options, `where`.
    members: &'static [&'static str],
}

const fn row(axis: Axis, word: &'static str, members: &'static [&'static str]) -> AxisInfo {
    AxisInfo { axis, word, members }
}

const OF_ORDER: &[&str] = &["op", "as", "from", "scope", "same", "without", "where"];

/// The axes, in the order of the enum.
static AXES: [AxisInfo; 7] = [
    row(Axis::Parent, "PARENT", &["op", "as", "where"]),
    row(Axis::Child, "CHILD", &["op", "as", "where"]),
    row(Axis::Ancestor, "ANCESTOR", &["op", "as", "where"]),
    row(Axis::Descendant, "DESCENDANT", &["op", "as", "where"]),
    row(Axis::Sibling, "SIBLING", &["op", "as", "same", "where"]),
    row(Axis::FollowedBy, "FOLLOWED_BY", OF_ORDER),
    row(Axis::PrecededBy, "PRECEDED_BY", OF_ORDER),
];

impl Axis {
    /// Returns every axis.
    pub fn all() -> impl Iterator<Item = Self> {
        AXES.iter().map(|info| info.axis)
    }

    /// Returns the axis with this name in filters.
    pub fn from_word(word: &str) -> Option<Self> {
        AXES.iter().find(|info| info.word == word).map(|info| info.axis)
    }

    /// Returns the axis's name in filters.
    pub fn word(self) -> &'static str {
        AXES[self as usize].word
    }

    /// Returns the members of its conditions, in canonical order.
    pub fn members(self) -> &'static [&'static str] {
        AXES[self as usize].members
    }

    /// Returns the members that narrow the axis.
    pub fn options(self) -> &'static [&'static str] {
        let members = self.members();
        &members[2..members.len() - 1]
    }

    /// Returns the axis in the opposite direction.
    #[must_use]
    pub fn converse(self) -> Self {
        match self {
            Self::Parent => Self::Child,
            Self::Child => Self::Parent,
            Self::Ancestor => Self::Descendant,
            Self::Descendant => Self::Ancestor,
            Self::Sibling => Self::Sibling,
            Self::FollowedBy => Self::PrecededBy,
            Self::PrecededBy => Self::FollowedBy,
        }
    }
}

/// The time of the earlier span that orders two spans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OrderFrom {
    /// The later span starts after the earlier one has ended.
    #[default]
    End,
    /// The later span starts after the earlier one. If both start at the same time, the later one in tree
    /// order is later.
    Start,
}

impl OrderFrom {
    const WORDS: [(&'static str, Self); 2] = [("end", Self::End), ("start", Self::Start)];
}

/// The spans of a trace that an order relates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OrderScope {
    /// All spans except ancestors and descendants.
    #[default]
    Trace,
    /// Siblings.
    Siblings,
}

impl OrderScope {
    const WORDS: [(&'static str, Self); 2] = [("trace", Self::Trace), ("siblings", Self::Siblings)];
}

/// The options of an axis, as the source gives them. `without` is a condition and is stored separately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AxisOptions {
    /// `from`.
    pub from: Option<OrderFrom>,
    /// `scope`.
    pub scope: Option<OrderScope>,
    /// `same`: names of fields, not yet resolved.
    pub same: Vec<String>,
}

impl AxisOptions {
    /// Reads the options of a condition. The caller has checked that its axis allows its members.
    pub(super) fn read(json: &Json) -> Result<Self, LocatedError> {
        Ok(Self {
            from: choice(json, "from", OrderFrom::WORDS)?,
            scope: choice(json, "scope", OrderScope::WORDS)?,
            same: same(json).map_err(|error| error.in_member("same"))?,
        })
    }
}

/// Writes the members, each after a comma.
impl fmt::Display for AxisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((word, _)) = OrderFrom::WORDS.iter().find(|(_, from)| Some(*from) == self.from) {
            write!(f, r#","from":"{word}""#)?;
        }
        if let Some((word, _)) = OrderScope::WORDS.iter().find(|(_, scope)| Some(*scope) == self.scope) {
            write!(f, r#","scope":"{word}""#)?;
        }
        for (index, field) in self.same.iter().enumerate() {
            f.write_str(if index == 0 { r#","same":["# } else { "," })?;
            write_text(f, field)?;
        }
        f.write_str(if self.same.is_empty() { "" } else { "]" })
    }
}

fn choice<T: Copy>(
    json: &Json,
    name: &'static str,
    words: [(&'static str, T); 2],
) -> Result<Option<T>, LocatedError> {
    let Some(given) = json.member(name) else { return Ok(None) };
    let is_given = |(word, _): &&(&str, T)| matches!(given, Json::Text(text) if **text == **word);
    if let Some((_, value)) = words.iter().find(is_given) {
        return Ok(Some(*value));
    }
    let [(one, _), (other, _)] = words;
    let message = format!("expected `{one}` or `{other}`, got {}", given.described());
    Err(LocatedError::new(message).in_member(name))
}

fn same(json: &Json) -> Result<Vec<String>, LocatedError> {
    let given = match json.member("same") {
        None => return Ok(Vec::new()),
        Some(Json::Array(given)) => given,
        Some(other) => {
            let message = format!("expected an array of fields, got {}", other.described());
            return Err(LocatedError::new(message));
        }
    };
    if given.is_empty() {
        return Err(LocatedError::new("expected one or more fields, got none"));
    }
    let mut fields: Vec<String> = Vec::new();
    for (index, field) in given.iter().enumerate() {
        let error = |message: String| Err(LocatedError::new(message).in_element(index));
        let Json::Text(field) = field else {
            return error(format!("expected a field, got {}", field.described()));
        };
        if fields.iter().any(|earlier| *earlier == **field) {
            return error(format!("field `{}` is given twice, expected once", excerpt(field)));
        }
        fields.push(field.to_string());
    }
    Ok(fields)
}
