//! Pages: which page a query returns, its order and its content.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::index::columns::Projection;
use crate::schema::{FIELDS, Field, FieldType};
use crate::trace::cost::{CostField, TraceNumber};
use crate::trace::detail::Detail;

/// The largest page, in items.
pub const MAX_LIMIT: usize = 100;

/// The page to return. As JSON, an object with `number`, `limit`, and optionally `sort` (the key of a field) and
/// `ascending`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PageMembers")]
pub struct PageRequest {
    /// The number of the page, from 1.
    pub page: u64,
    /// Items per page, 1 to [`MAX_LIMIT`].
    pub limit: usize,
    /// The order of runs; sessions have one order.
    pub sort: Sort,
}

#[derive(Deserialize)]
struct PageMembers {
    number: u64,
    limit: usize,
    sort: Option<String>,
    #[serde(default)]
    ascending: bool,
}

impl TryFrom<PageMembers> for PageRequest {
    type Error = Error;

    fn try_from(members: PageMembers) -> Result<Self> {
        let page = Self::new(members.number, members.limit)?;
        members.sort.map_or(Ok(page), |key| Ok(page.sorted(Sort::by(&key, members.ascending)?)))
    }
}

impl PageRequest {
    /// Returns the request for page number `page` of pages of `limit` items in the order of results.
    ///
    /// # Errors
    /// [`Error::Options`] if `page` is 0 or `limit` is not in 1 to [`MAX_LIMIT`].
    pub fn new(page: u64, limit: usize) -> Result<Self> {
        if page == 0 || !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Error::Options(format!(
                "expected a page from 1 and a limit from 1 to {MAX_LIMIT}, got page {page} and limit {limit}"
            )));
        }
        Ok(Self { page, limit, sort: Sort::NEWEST_FIRST })
    }

    /// Returns this request in another order.
    #[must_use]
    pub fn sorted(self, sort: Sort) -> Self {
        Self { sort, ..self }
    }

    /// True if runs are in the order of results.
    pub(crate) fn is_newest_first(self) -> bool {
        self.sort == Sort::NEWEST_FIRST
    }

    /// Returns the number of items before this page, saturating.
    pub(crate) fn offset(self) -> usize {
        let pages = usize::try_from(self.page.saturating_sub(1)).unwrap_or(usize::MAX);
        pages.saturating_mul(self.limit)
    }

    pub(crate) fn window(self) -> Window {
        Window { offset: self.offset(), limit: self.limit }
    }
}

/// A run of items in the order of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// The number of items before the window.
    pub(crate) offset: usize,
    /// The maximum number of items.
    pub(crate) limit: usize,
}

impl Window {
    /// Returns the number of items before the end of this window, saturating.
    pub(crate) fn end(self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

impl Sort {
    /// Returns the key of the field that orders runs, and whether the order is ascending.
    pub(crate) fn key(self) -> (&'static str, bool) {
        let key = match self.by {
            TraceNumber::Column(field) => field.key(),
            TraceNumber::Cost(field) => field.key(),
        };
        (key, self.ascending)
    }

    /// Returns the columns that ordering reads.
    pub(crate) fn projection(self) -> Projection {
        self.by.column().map_or(Projection::SORT_KEY, |field| Projection::SORT_KEY.and(field))
    }
}

/// The content of each run of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct RunView {
    /// The level of detail.
    #[serde(default)]
    pub detail: Detail,
    /// True to show the spans and texts that made the filter match.
    #[serde(default)]
    pub with_matches: bool,
}

/// The items of a page of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemView {
    /// Traces.
    Run(RunView),
    /// Trace ids, without reading documents.
    Id,
}

impl From<Detail> for RunView {
    fn from(detail: Detail) -> Self {
        Self { detail, with_matches: false }
    }
}

/// The order of the runs of a page. Runs of equal value are in the order of results: newest start first, then trace
/// id ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// The number that orders runs: the start time, an integer field or a cost.
    pub(crate) by: TraceNumber,
    /// True if the least value comes first.
    pub(crate) ascending: bool,
}

impl Sort {
    /// The order of results.
    pub const NEWEST_FIRST: Self = Self { by: TraceNumber::Column(Field::StartTime), ascending: false };

    /// Ascending start time. Runs that started at the same time are in the order of results.
    pub const OLDEST_FIRST: Self = Self { ascending: true, ..Self::NEWEST_FIRST };

    /// Returns the order by the field named `key`. Traces without a value come last.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no such field or it is not sortable. The message names the sortable fields.
    pub fn by(key: &str, ascending: bool) -> Result<Self> {
        if let Some(field) = CostField::from_key(key) {
            return Ok(Self { by: TraceNumber::Cost(field), ascending });
        }
        let is_sortable = |field: Field| field == Field::StartTime || field.field_type() == FieldType::Number;
        let field = Field::from_key(key).filter(|field| is_sortable(*field));
        let field = field.ok_or_else(|| {
            let known: Vec<String> = FIELDS
                .iter()
                .filter(|info| is_sortable(info.field))
                .map(|info| info.key)
                .chain(CostField::ALL.map(CostField::key))
                .map(|key| format!("`{key}`"))
                .collect();
            Error::Options(format!("expected one of {} to sort by, got `{key}`", known.join(", ")))
        })?;
        Ok(Self { by: TraceNumber::Column(field), ascending })
    }
}

/// One page of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The items, as a JSON array.
    pub data: Vec<u8>,
    /// The number of items on all pages together.
    pub total_count: u64,
    /// True if `total_count` is exact, false if it is a lower bound.
    pub is_exact: bool,
    /// The damage of the items that are marked as damaged.
    pub damage: Vec<String>,
}

impl Page {
    /// Returns this page of a search that stopped early, with a total of at most `max_count`. The search looked for
    /// `max_count` items, which is one more than the pages so far have. The cap makes the total independent of how far
    /// the search went beyond the page.
    pub(crate) fn up_to(self, max_count: usize, is_complete: bool) -> Self {
        let max_count = max_count as u64;
        let is_exact = is_complete && self.total_count < max_count;
        Self { total_count: self.total_count.min(max_count), is_exact, ..self }
    }
}

/// Returns `items`, each a JSON value, as a JSON array.
pub(crate) fn json_array(items: &[Vec<u8>]) -> Vec<u8> {
    let bytes: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut array = Vec::with_capacity(bytes + 2);
    array.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            array.push(b',');
        }
        array.extend_from_slice(item);
    }
    array.push(b']');
    array
}
