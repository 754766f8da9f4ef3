//! Decides rows by their spans, where columns alone do not.
//!
//! The columns give two sets of rows: those that match whatever the conditions on spans say, and those that can match.
//! Rows of the second set that are not in the first are decided here: many at once by the span table of the segment, and
//! those that it leaves open one by one, by a look at their traces. In an `AND` the columns are asked first.

use std::cell::OnceCell;
use std::sync::Arc;

use super::plan::contains;
use super::plan_node::PlanNode;
use super::resolve::{ResolveContext, SpanRows, resolve};
use super::text_rows::TextRows;
use crate::attribute_index::AttributeIndex;
use crate::error::{Error, Result};
use crate::filter::predicate::Predicate;
use crate::filter::spans::{SpanIndexes, SpanTest, TableTest, TernaryMask, Truth};
use crate::index::{Index, RowBlock};
use crate::span_table::{Bitmap, SpanTable};
use crate::text_index::TextIndex;
use crate::trace::Trace;
use crate::trace::view::{StoredTrace, TraceView};

/// What is known of a segment's rows without a look at their documents.
#[derive(Debug, Clone, Copy)]
pub struct Indexes<'i> {
    /// The index of the rows.
    pub rows: &'i Index,
    /// The table of their spans, once it is built.
    pub spans: Option<&'i SpanTable>,
    /// The index of their attributes, once it is built.
    pub attributes: Option<&'i AttributeIndex>,
    /// The index of their texts, once it is built.
    pub texts: Option<&'i TextIndex>,
}

impl<'i> Indexes<'i> {
    /// Returns what is known of the spans. Attributes are known by the places of the table.
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

/// A filter in terms of the indexes of one segment, for single rows.
#[derive(Debug)]
pub struct Verifier<'i>(RowPredicate<'i>);

/// Some rows by what is known of them: their positions among those that were asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Those that match.
    pub matching: Bitmap,
    /// Those whose traces must be looked at.
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
    Spans(SpanQuestion<'i>),
}

/// Whether what holds of the trace is this.
#[derive(Debug)]
struct SpanQuestion<'i> {
    test: Arc<SpanTest>,
    in_table: Option<TableTest<'i>>,
    wanted: Truth,
}

impl<'i> Verifier<'i> {
    pub(in crate::filter) fn new(predicate: &Predicate, indexes: Indexes<'i>) -> Self {
        Self(RowPredicate::of(predicate, true, indexes))
    }

    /// Returns which of `rows`, which ascend, match, and which are left open by the indexes.
    pub fn decide(&self, rows: &RowBlock<'_>) -> Verdict {
        let TernaryMask { yes, no } = self.0.truths(rows);
        let open = Bitmap::all(0..rows.len()).without(&yes).without(&no);
        Verdict { matching: yes, open }
    }

    /// Whether the filter matches a row. `read` returns its trace, or `None` if its document is damaged: then what
    /// conditions on spans ask is unknown.
    ///
    /// # Errors
    /// Those of `read`; [`Error::Decode`] if a stored span cannot be decoded.
    pub fn holds(&self, row: u32, read: impl Fn() -> Result<Option<StoredTrace>>) -> Result<bool> {
        let (stored, trace, view) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let look = DocumentCheck {
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
        self.0.holds(row, &look)
    }
}

/// A look at the document of a row, each part of which is read when it is first asked for; `None` if it is damaged.
struct DocumentCheck<'l, 'v> {
    stored: &'l dyn Fn() -> Result<Option<&'v StoredTrace>>,
    view: &'l dyn Fn(&StoredTrace) -> Option<&'v TraceView<'v>>,
}

impl SpanQuestion<'_> {
    fn holds(&self, look: &DocumentCheck<'_, '_>) -> Result<bool> {
        let Some(stored) = (look.stored)()? else { return Ok(false) };
        match self.test.is_of_stored(stored, self.wanted) {
            Ok(Some(matches)) => Ok(matches),
            // Whether a document is damaged shows when all of it is decoded.
            Ok(None) | Err(Error::Decode(_)) => {
                (look.view)(stored).map_or(Ok(false), |view| self.test.is(self.wanted, view))
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
                Self::Spans(SpanQuestion { test: test.clone(), in_table, wanted: Truth::of(truth) })
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

    /// Returns, for the position of each of `rows`, whether it matches; unknown if the indexes leave it open.
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
            Self::Spans(SpanQuestion { in_table: None, .. }) => TernaryMask::unknown(0..rows.len()),
            Self::Spans(SpanQuestion { in_table: Some(test), wanted, .. }) => test.matches(rows, *wanted),
        }
    }

    fn holds(&self, row: u32, look: &DocumentCheck<'_, '_>) -> Result<bool> {
        match self {
            Self::All(parts) => all(parts, |part| part.holds(row, look)),
            Self::Any(parts) => Ok(!all(parts, |part| Ok(!part.holds(row, look)?))?),
            Self::Columns(node) => Ok(contains(node, row)),
            Self::Spans(question) => question.holds(look),
        }
    }
}

/// Joins the truths of parts: an `OR` is the opposite of the `AND` of opposites. A part is asked of the rows that the ones
/// before it leave undecided.
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
        let asked: Vec<u32> = left.iter().map(|position| rows.row(*position)).collect();
        let own = part.truths(&RowBlock::List(&asked)).negated_if(is_or);
        let mut truths = TernaryMask::unknown(positions.clone());
        own.yes.iter(0..left.len()).for_each(|at| truths.yes.insert(left[at]));
        own.no.iter(0..left.len()).for_each(|at| truths.no.insert(left[at]));
        found.and(&truths);
    }
    found.negated_if(is_or)
}

/// Whether all parts hold; stops at the first that does not.
fn all<T>(parts: &[T], holds: impl Fn(&T) -> Result<bool>) -> Result<bool> {
    for part in parts {
        if !holds(part)? {
            return Ok(false);
        }
    }
    Ok(true)
}
