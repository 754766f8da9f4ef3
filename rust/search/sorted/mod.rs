//! Pages in another order than that of results: by a number of the rows, by what traces cost, or by start time, ascending or
//! descending. Traces without a cost come last, in the order of results.
//!
//! The rows of every part are kept in order of each number. A page is found value by value ([`values`]): the selected rows
//! of one value, of all parts, are a selection of their own, in the order of results. Where the page begins is found without
//! walking there ([`jump`]). Where few rows are selected, most values have none of them, and the rows are sorted instead.
//! The order of start times is that of results from its end ([`oldest`]).

mod jump;
mod oldest;
mod values;

use super::cancellation::CancellationToken;
use super::costs::{rows_with_cost, with_costs};
use super::merge::{PageRow, page_of};
use super::page::{Sort, Window};
use super::selection::Selection;
use crate::error::Result;
use oldest::oldest_first;
use values::Values;

/// How far values are walked rather than jumped over, in rows of all parts: to the offset, and from one that has selected
/// rows to the next one.
const MAX_WALKED_ROWS: usize = 1 << 11;

/// To step over a value that no selected row has takes as long as to walk over so many rows.
const WALKED_PER_EMPTY_VALUE: usize = 64;

/// The number of selected rows up to which they may be sorted.
const MAX_SORTED_ROWS: usize = 1 << 12;

/// To sort a row takes as long as to walk over so many.
const WALKED_PER_SORTED_ROW: usize = 8;

/// Values that are visited between two checks whether the search is cancelled.
const VALUES_PER_CHECK: usize = 1_024;

/// Selected rows in the order of a search, of which any window can be read.
pub(super) struct OrderedRows<'s, 'a> {
    sort: Sort,
    selections: &'s [Selection<'a>],
    /// Of an order by a cost: the rows that have one, and those that do not.
    by_cost: Option<[Vec<Selection<'a>>; 2]>,
}

impl<'s, 'a> OrderedRows<'s, 'a> {
    /// Orders selected rows.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`]; [`crate::error::Error::TooLarge`] if too many documents would have to be read.
    pub(super) fn new(
        selections: &'s [Selection<'a>],
        sort: Sort,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let Some(field) = sort.by.cost() else { return Ok(Self { sort, selections, by_cost: None }) };
        let with_costs = with_costs(selections, cancel)?;
        let rows = |is_present: bool| -> Vec<Selection<'a>> {
            let each = with_costs.iter();
            each.map(|selection| selection.among(rows_with_cost(selection, field, is_present))).collect()
        };
        Ok(Self { sort, selections, by_cost: Some([rows(true), rows(false)]) })
    }

    /// Returns the rows of a window, in order.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(super) fn window(&self, window: Window, cancel: &CancellationToken) -> Result<Vec<PageRow>> {
        if self.sort == Sort::NEWEST_FIRST {
            return Ok(page_of(self.selections, window.offset, window.limit));
        }
        if self.sort == Sort::OLDEST_FIRST {
            return Ok(oldest_first(self.selections, window));
        }
        let Some([present, missing]) = &self.by_cost else {
            return sorted_rows(self.selections, (self.sort, window), MAX_WALKED_ROWS, cancel);
        };
        let mut page = sorted_rows(present, (self.sort, window), MAX_WALKED_ROWS, cancel)?;
        let before: usize = present.iter().map(|selection| selection.count).sum();
        let first = (window.offset + page.len()).saturating_sub(before);
        page.extend(page_of(missing, first, window.limit - page.len()));
        Ok(page)
    }

    /// Returns the number by which a row is ordered, if it has one.
    pub(super) fn value(&self, (selection, row): PageRow) -> Option<i64> {
        match &self.by_cost {
            Some([present, _]) => present[selection].view.costs()?.value(self.sort.by.cost()?, row),
            None => Some(self.selections[selection].view.number(self.sort.by, row)),
        }
    }
}

fn sorted_rows(
    selections: &[Selection<'_>],
    (sort, window): (Sort, Window),
    max_walked: usize,
    cancel: &CancellationToken,
) -> Result<Vec<PageRow>> {
    let total: usize = selections.iter().map(|selection| selection.count).sum();
    let Window { offset, limit } = window;
    if offset >= total {
        return Ok(Vec::new());
    }
    let rows: usize = selections.iter().map(|selection| selection.view.count()).sum();
    let end = offset.saturating_add(limit);
    let walked = if end > total { rows } else { end * (rows / total) };
    if total <= MAX_SORTED_ROWS && total * WALKED_PER_SORTED_ROW <= walked {
        let mut sorted = all_sorted(selections, sort);
        sorted.truncate(end);
        return Ok(sorted.split_off(offset));
    }
    let mut values = Values::new(selections, sort);
    let mut before = 0;
    if offset.saturating_mul(rows / total) > max_walked {
        before = values.jump(offset, cancel)?;
    }
    let mut page = Vec::with_capacity(limit.min(total));
    let mut empty_values = 0;
    for step in 1_usize.. {
        if step % VALUES_PER_CHECK == 0 {
            cancel.check()?;
        }
        if page.len() == limit || before == total {
            break;
        }
        let Some(tied) = values.next() else { break };
        let count: usize = tied.iter().map(|selection| selection.count).sum();
        if before + count > offset {
            let first = offset.saturating_sub(before);
            page.extend(page_of(&tied, first, limit - page.len()));
        }
        before += count;
        empty_values = if count == 0 { empty_values + 1 } else { 0 };
        if empty_values * WALKED_PER_EMPTY_VALUE > max_walked && before < total {
            before = values.jump(before.max(offset), cancel)?;
            empty_values = 0;
        }
    }
    Ok(page)
}

/// Returns all selected rows in order.
fn all_sorted(selections: &[Selection<'_>], sort: Sort) -> Vec<PageRow> {
    let rows = selections.iter().enumerate().flat_map(|(part, selection)| {
        let value = |row| selection.view.number(sort.by, row);
        selection.rows.from(0).map(move |row| (value(row as usize), (part, row as usize)))
    });
    let mut rows: Vec<(i64, PageRow)> = rows.collect();
    let key = |(part, row): PageRow| selections[part].key(row);
    rows.sort_unstable_by(|(left, left_row), (right, right_row)| {
        let by_value = if sort.ascending { left.cmp(right) } else { right.cmp(left) };
        by_value.then_with(|| key(*left_row).cmp(&key(*right_row)))
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message as _;

    use super::*;
    use crate::filter::Filter;
    use crate::index::Projection;
    use crate::otlp::{TraceId, proto, wire};
    use crate::schema::Field;
    use crate::search::selection::select;
    use crate::storage::{Snapshot, SnapshotPart};
    use crate::trace::cost::TraceNumber;
    use crate::trace::{Span, Trace};

    /// Returns a trace of one span.
    fn trace(number: u8, duration_ms: u64, is_error: bool) -> Trace {
        let trace_id = TraceId::from_bytes(&[number.max(1); 16]).expect("an id");
        let span = proto::Span {
            trace_id: trace_id.as_bytes().to_vec().into(),
            span_id: vec![1; 8].into(),
            start_time_unix_nano: 1,
            end_time_unix_nano: 1 + duration_ms * 1_000_000,
            status: is_error.then(|| proto::Status { code: 2, ..Default::default() }),
            ..Default::default()
        };
        let scope_spans =
            vec![proto::ScopeSpans { spans: vec![span.encode_to_vec().into()], ..Default::default() }];
        let resource_spans = vec![proto::ResourceSpans { scope_spans, ..Default::default() }];
        let document = proto::TracesData { resource_spans }.encode_to_vec();
        let spans = wire::split(document.into()).expect("one span").into_iter();
        Trace::new(trace_id, 0).with(spans.map(|span| Span::from_wire(span).expect("a span").into()))
    }

    proptest! {
        #[test]
        fn jumping_to_a_page_finds_the_rows_that_walking_there_finds(
            durations in prop::collection::vec((prop_oneof![0..4_u64, 0..1_000_000_000_u64], any::<bool>()), 1..60),
            parts in 1..4_usize, ascending in any::<bool>(), errors in any::<bool>(), page in 0..30_usize,
        ) {
            let mut of_parts = vec![Vec::new(); parts];
            for (number, (duration, is_error)) in (1_u8..).zip(durations) {
                of_parts[usize::from(number) % parts].push(trace(number, duration, is_error));
            }
            let snapshot = Snapshot::new(of_parts.into_iter().map(SnapshotPart::of_traces).collect());
            let source = if errors { r#"{"op":"EQ","key":"status","value":"ERROR"}"# } else { "{}" };
            let filter = Filter::compile(source.as_bytes()).expect("a good filter");
            let projection = Projection::SORT_KEY.and(Field::DurationMs);
            let token = CancellationToken::default();
            let selections = select(&snapshot, &filter, projection, &token).expect("selections");
            let sort = Sort { by: TraceNumber::Column(Field::DurationMs), ascending };
            let window = Window { offset: page * 2, limit: 2 };
            let rows = |max_walked| sorted_rows(&selections, (sort, window), max_walked, &token).expect("rows");
            prop_assert_eq!(&rows(0), &rows(usize::MAX));
            let sorted = all_sorted(&selections, sort).into_iter().skip(window.offset).take(window.limit);
            prop_assert_eq!(sorted.collect::<Vec<_>>(), rows(usize::MAX));
        }
    }
}
