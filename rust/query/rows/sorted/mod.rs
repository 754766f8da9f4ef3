//! Pages in other orders than newest first: by a number of the rows, by a cost of traces, or by start time, ascending
//! or descending. Traces without a cost come last, in the order of results.
//!
//! Every part has its rows in the order of each number. A page is found value by value ([`values`]), skipping rows that
//! are not selected ([`selected`]). The selected rows of one value, of all parts, form a selection of their own, in the
//! order of results. A deep page is found without walking to it ([`jump`]). Few selected rows are far apart, so they
//! are sorted instead. The cheapest plan is estimated ([`cost`]). Ascending start time is the order of results read
//! backwards ([`oldest`]).

mod cost;
mod jump;
mod oldest;
mod selected;
mod values;

use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::page::{Sort, Window};
use crate::query::rows::costs::{rows_with_cost, with_costs};
use crate::query::rows::page_rows::{PageRow, page_of};
use crate::query::rows::selection::Selection;
use cost::PagePlan;
use oldest::oldest_first;
use values::Values;

/// Values that are visited between two checks for cancellation.
const VALUES_PER_CHECK: usize = 1_024;

/// Selected rows in the order of a search. Any window of them can be read.
pub(crate) struct OrderedRows<'s, 'a> {
    sort: Sort,
    selections: &'s [Selection<'a>],
    /// The rows with and without a value, if a cost orders them.
    by_cost: Option<[Vec<Selection<'a>>; 2]>,
}

impl<'s, 'a> OrderedRows<'s, 'a> {
    /// Orders selected rows.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`]; [`crate::error::Error::TooLarge`] if too many documents would have to be read.
    pub(crate) fn new(
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
    pub(crate) fn window(&self, window: Window, cancel: &CancellationToken) -> Result<Vec<PageRow>> {
        if self.sort == Sort::NEWEST_FIRST {
            return Ok(page_of(self.selections, window.offset, window.limit));
        }
        if self.sort == Sort::OLDEST_FIRST {
            return Ok(oldest_first(self.selections, window));
        }
        let Some([present, missing]) = &self.by_cost else {
            return sorted_rows(self.selections, (self.sort, window), cancel);
        };
        let mut page = sorted_rows(present, (self.sort, window), cancel)?;
        let before: usize = present.iter().map(|selection| selection.count).sum();
        let first = (window.offset + page.len()).saturating_sub(before);
        page.extend(page_of(missing, first, window.limit - page.len()));
        Ok(page)
    }

    /// Returns the number that orders a row; `None` if it has no value.
    pub(crate) fn value(&self, (selection, row): PageRow) -> Option<i64> {
        match &self.by_cost {
            Some([present, _]) => present[selection].view.costs()?.value(self.sort.by.cost()?, row),
            None => Some(self.selections[selection].view.number(self.sort.by, row)),
        }
    }
}

/// Returns the rows of a window, by the cheapest plan.
fn sorted_rows(
    selections: &[Selection<'_>],
    order: (Sort, Window),
    cancel: &CancellationToken,
) -> Result<Vec<PageRow>> {
    let total: usize = selections.iter().map(|selection| selection.count).sum();
    if order.1.offset >= total {
        return Ok(Vec::new());
    }
    rows_with_plan(PagePlan::of(selections, order.1), selections, order, cancel)
}

/// Returns the rows of a window that contains at least one row.
fn rows_with_plan(
    plan: PagePlan,
    selections: &[Selection<'_>],
    (sort, window): (Sort, Window),
    cancel: &CancellationToken,
) -> Result<Vec<PageRow>> {
    let Window { offset, limit } = window;
    let mut values = Values::new(selections, sort);
    let mut before = match plan {
        PagePlan::Sort => return Ok(first_sorted(selections, sort, window.end()).split_off(offset)),
        PagePlan::Walk => 0,
        PagePlan::Jump => values.jump(offset, cancel)?,
    };
    let total: usize = selections.iter().map(|selection| selection.count).sum();
    values.begin(window.end().min(total) - before, cancel)?;
    let mut page = Vec::new();
    for step in 1_usize.. {
        if step % VALUES_PER_CHECK == 0 {
            cancel.check()?;
        }
        if page.len() == limit {
            break;
        }
        let Some(tied) = values.next() else { break };
        let after = before + tied.count;
        if after > offset {
            page.extend(values.page_of(&tied, offset.saturating_sub(before), limit - page.len()));
        }
        before = after;
    }
    Ok(page)
}

/// Returns the first `count` selected rows in order, or all if there are fewer.
fn first_sorted(selections: &[Selection<'_>], sort: Sort, count: usize) -> Vec<PageRow> {
    let rows = selections.iter().enumerate().flat_map(|(part, selection)| {
        let value = |row| selection.view.number(sort.by, row);
        selection.rows.from(0).map(move |row| (value(row as usize), (part, row as usize)))
    });
    let mut rows: Vec<(i64, PageRow)> = rows.collect();
    let key = |(part, row): PageRow| selections[part].key(row);
    let in_order = |(left, left_row): &(i64, PageRow), (right, right_row): &(i64, PageRow)| {
        let by_value = if sort.ascending { left.cmp(right) } else { right.cmp(left) };
        by_value.then_with(|| key(*left_row).cmp(&key(*right_row)))
    };
    if count < rows.len() {
        rows.select_nth_unstable_by(count, in_order);
        rows.truncate(count);
    }
    rows.sort_unstable_by(in_order);
    rows.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message as _;

    use super::*;
    use crate::filter::Filter;
    use crate::index::columns::Projection;
    use crate::otlp::{TraceId, proto, wire};
    use crate::query::rows::selection::select;
    use crate::schema::Field;
    use crate::storage::{Snapshot, SnapshotPart};
    use crate::trace::cost::TraceNumber;
    use crate::trace::{Span, Trace};

    /// Returns a trace of one span.
    fn trace(number: u16, duration_ms: u64, is_error: bool) -> Trace {
        let trace_id = TraceId::from_bytes(&number.to_be_bytes().repeat(8)).expect("an id");
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

    /// Filters that match all traces, about half of them, and those that come first or last in order.
    const FILTERS: [&str; 4] = [
        "{}",
        r#"{"op":"EQ","key":"status","value":"ERROR"}"#,
        r#"{"op":"LT","key":"duration_ms","value":2}"#,
        r#"{"op":"GT","key":"duration_ms","value":500000000}"#,
    ];

    proptest! {
        #[test]
        fn every_plan_returns_the_same_rows(
            durations in prop::collection::vec((prop_oneof![0..4_u64, 0..1_000_000_000_u64], any::<bool>()), 1..400),
            parts in 1..4_usize, ascending in any::<bool>(), filter in prop::sample::select(&FILTERS), page in 0..200_usize,
        ) {
            let mut of_parts = vec![Vec::new(); parts];
            for (number, (duration, is_error)) in (1_u16..).zip(durations) {
                of_parts[usize::from(number) % parts].push(trace(number, duration, is_error));
            }
            let snapshot = Snapshot::new(of_parts.into_iter().map(SnapshotPart::of_traces).collect());
            let filter = Filter::compile(filter.as_bytes()).expect("a good filter");
            let projection = Projection::SORT_KEY.and(Field::DurationMs);
            let token = CancellationToken::default();
            let selections = select(&snapshot, &filter, projection, &token).expect("selections");
            let sort = Sort { by: TraceNumber::Column(Field::DurationMs), ascending };
            let total: usize = selections.iter().map(|selection| selection.count).sum();
            if total > 0 {
                let window = Window { offset: page % total, limit: 2 };
                let sorted = first_sorted(&selections, sort, total);
                let expected = &sorted[window.offset..window.end().min(total)];
                for plan in [PagePlan::Sort, PagePlan::Walk, PagePlan::Jump] {
                    let rows = rows_with_plan(plan, &selections, (sort, window), &token).expect("rows");
                    prop_assert_eq!(&rows, expected, "{:?}", plan);
                }
            }
            let past = Window { offset: total, limit: 2 };
            prop_assert_eq!(sorted_rows(&selections, (sort, past), &token).expect("rows"), []);
        }
    }
}
