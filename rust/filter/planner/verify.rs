//! Decides rows by their spans if their columns alone do not.
//!
//! The columns give two sets of rows: the rows that match regardless of the conditions on spans, and the rows
//! that can match. The rows in only the second set are decided here. The span table of the segment decides
//! many of them at once. The remaining rows need document checks, one by one. In an `AND` the columns are
//! evaluated first.

use std::cell::OnceCell;
use std::sync::Arc;

use super::plan::contains;
use super::plan_node::PlanNode;
use super::resolve::{ResolveContext, SpanRows, resolve};
use super::text_rows::TextRows;
use crate::bitmap::{Bitmap, RowBlock};
use crate::error::{Error, Result};
use crate::filter::predicate::Predicate;
use crate::filter::spans::{SpanIndexes, SpanTest, TableTest, TernaryMask, Truth};
use crate::index::attributes::AttributeIndex;
use crate::index::columns::Index;
use crate::index::spans::SpanTable;
use crate::index::texts::TextIndex;
use crate::trace::Trace;
use crate::trace::view::{StoredTrace, TraceView};

/// The indexes of a segment, which decide rows without document checks.
#[derive(Debug, Clone, Copy)]
pub struct Indexes<'i> {
    /// The index of the rows.
    pub rows: &'i Index,
    /// The span table, once it is built.
    pub spans: Option<&'i SpanTable>,
    /// The attribute index, once it is built.
    pub attributes: Option<&'i AttributeIndex>,
    /// The text index, once it is built.
    pub texts: Option<&'i TextIndex>,
}

impl<'i> Indexes<'i> {
    /// Returns the indexes of the spans. The attribute index is included only if it has the ordinals of the
    /// same table.
    pub(super) fn of_spans(self) -> Option<SpanIndexes<'i>> {
        let table = self.spans?;
        let attributes = self.attributes.filter(|index| index.spans() == table.spans());
        Some(SpanIndexes { table, attributes })
    }
}

impl<'i> From<&'i Index> for Indexes<'i> {
    fn from(rows: &'i Index) -> Self {
        Self { rows, spans: None, attributes: None, texts: None }
    }
}

/// A filter in terms of one segment's indexes, for single rows.
#[derive(Debug)]
pub struct Verifier<'i>(RowPredicate<'i>);

/// The verdict on some rows, by their positions in the request.
#[derive(Debug, PartialEq, Eq)]
pub struct RowVerdicts {
    /// The rows that match.
    pub matching: Bitmap,
    /// The rows that need a document check.
    pub open: Bitmap,
}

/// A predicate, with `NOT` pushed down.
#[derive(Debug)]
enum RowPredicate<'i> {
    All(Vec<RowPredicate<'i>>),
    Any(Vec<RowPredicate<'i>>),
    /// A condition on columns.
    Columns(PlanNode),
    /// A condition on spans.
    Spans(SpanCheck<'i>),
}

/// A condition on spans that is evaluated for one truth value.
#[derive(Debug)]
struct SpanCheck<'i> {
    test: Arc<SpanTest>,
    in_table: Option<TableTest<'i>>,
    wanted: Truth,
}

impl<'i> Verifier<'i> {
    pub(in crate::filter) fn new(predicate: &Predicate, indexes: Indexes<'i>) -> Self {
        Self(RowPredicate::of(predicate, true, indexes))
    }

    /// Decides `rows`, which ascend, by the indexes.
    pub fn decide(&self, rows: &RowBlock<'_>) -> RowVerdicts {
        let TernaryMask { yes, no } = self.0.truths(rows);
        let open = Bitmap::all(0..rows.len()).without(&yes).without(&no);
        RowVerdicts { matching: yes, open }
    }

    /// Returns `true` if the filter matches a row. `read` returns its trace, or `None` if its document is
    /// damaged. Conditions on the spans of a damaged document are unknown.
    ///
    /// # Errors
    /// Any error of `read`; [`Error::Decode`] if a stored span cannot be decoded.
    pub fn holds(&self, row: u32, read: impl Fn() -> Result<Option<StoredTrace>>) -> Result<bool> {
        let (stored, trace, view) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let check = DocumentCheck {
            stored: &|| {
                if stored.get().is_none() {
                    let _first = stored.set(read()?);
                }
                Ok(stored.get().and_then(Option::as_ref))
            },
            view: &|stored| {
                let decode = || stored.trace().ok().map(|trace| trace.assembled().into_owned());
                let trace: Option<&Trace> = trace.get_or_init(decode).as_ref();
                trace.map(|trace| view.get_or_init(|| TraceView::of(trace)))
            },
        };
        self.0.holds(row, &check)
    }
}

/// A document check of a row. Each part of the document is read at its first use; `None` if it is damaged.
struct DocumentCheck<'l, 'v> {
    stored: &'l dyn Fn() -> Result<Option<&'v StoredTrace>>,
    view: &'l dyn Fn(&StoredTrace) -> Option<&'v TraceView<'v>>,
}

impl SpanCheck<'_> {
    fn holds(&self, check: &DocumentCheck<'_, '_>) -> Result<bool> {
        let Some(stored) = (check.stored)()? else { return Ok(false) };
        match self.test.is_of_stored(stored, self.wanted) {
            Ok(Some(matches)) => Ok(matches),
            // Only decoding the whole document shows whether it is damaged.
            Ok(None) | Err(Error::Decode(_)) => {
                (check.view)(stored).map_or(Ok(false), |view| self.test.is(self.wanted, view))
            }
            Err(error) => Err(error),
        }
    }
}

impl<'i> RowPredicate<'i> {
    /// Recursion is bounded by the depth of the predicate.
    fn of(predicate: &Predicate, truth: bool, indexes: Indexes<'i>) -> Self {
        match predicate {
            Predicate::Not(part) => Self::of(part, !truth, indexes),
            Predicate::Spans(test) => {
                let in_table = indexes.of_spans().and_then(|spans| test.in_table(spans));
                Self::Spans(SpanCheck { test: test.clone(), in_table, wanted: Truth::of(truth) })
            }
            Predicate::And(parts) | Predicate::Or(parts) if predicate.reads_spans() => {
                let parts = parts.iter().map(|part| Self::of(part, truth, indexes)).collect();
                let is_and = matches!(predicate, Predicate::And(_));
                if is_and == truth { Self::All(parts) } else { Self::Any(parts) }
            }
            columns => {
                let context = ResolveContext {
                    index: indexes.rows,
                    texts: &TextRows::default(),
                    is_cancelled: &|| false,
                    span_rows: SpanRows::Possible,
                    rows_left: indexes.rows.rows() as usize,
                };
                Self::Columns(resolve(columns, truth, &context).read())
            }
        }
    }

    /// Returns the truth for the position of each row; unknown if the indexes do not decide it.
    fn truths(&self, rows: &RowBlock<'_>) -> TernaryMask {
        match self {
            Self::All(parts) => joined(parts, rows, false),
            Self::Any(parts) => joined(parts, rows, true),
            Self::Columns(node) => {
                let mut truths = TernaryMask::unknown(0..rows.len());
                for (position, row) in rows.iter().enumerate() {
                    truths.insert(position, Truth::of(contains(node, row)));
                }
                truths
            }
            Self::Spans(SpanCheck { in_table: None, .. }) => TernaryMask::unknown(0..rows.len()),
            Self::Spans(SpanCheck { in_table: Some(test), wanted, .. }) => test.matches(rows, *wanted),
        }
    }

    fn holds(&self, row: u32, check: &DocumentCheck<'_, '_>) -> Result<bool> {
        match self {
            Self::All(parts) => all(parts, |part| part.holds(row, check)),
            Self::Any(parts) => Ok(!all(parts, |part| Ok(!part.holds(row, check)?))?),
            Self::Columns(node) => Ok(contains(node, row)),
            Self::Spans(spans) => spans.holds(check),
        }
    }
}

/// Joins the truths of parts. An `OR` is the negation of the `AND` of negations. Each part is evaluated only
/// for the rows that earlier parts leave undecided.
fn joined(parts: &[RowPredicate<'_>], rows: &RowBlock<'_>, is_or: bool) -> TernaryMask {
    let positions = 0..rows.len();
    let mut found = TernaryMask::all(positions.clone());
    for part in parts {
        let mut left = Bitmap::all(positions.clone());
        left.subtract(&found.no);
        let left: Vec<usize> = left.iter(positions.clone()).collect();
        if left.len() == rows.len() {
            found.and(&part.truths(rows).negated_if(is_or));
            continue;
        }
        let remaining: Vec<u32> = left.iter().map(|position| rows.row(*position)).collect();
        let own = part.truths(&RowBlock::List(&remaining)).negated_if(is_or);
        let mut truths = TernaryMask::unknown(positions.clone());
        own.yes.iter(0..left.len()).for_each(|at| truths.yes.insert(left[at]));
        own.no.iter(0..left.len()).for_each(|at| truths.no.insert(left[at]));
        found.and(&truths);
    }
    found.negated_if(is_or)
}

/// Returns `true` if `holds` is true for all parts; stops at the first one for which it is false.
fn all<T>(parts: &[T], holds: impl Fn(&T) -> Result<bool>) -> Result<bool> {
    for part in parts {
        if !holds(part)? {
            return Ok(false);
        }
    }
    Ok(true)
}
