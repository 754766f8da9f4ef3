//! The content of a store, read like a search and comparable.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use spanwise::filter::Filter;
use spanwise::otlp::{Fragment, TraceId, WireSpan};
use spanwise::schema::Field;
use spanwise::storage::{Options, Snapshot, TraceStore};
use tempfile::TempDir;

use crate::support::spans::{request, span};

/// For every trace, its receipt time and its spans.
pub(crate) type Contents = BTreeMap<TraceId, (i64, Vec<WireSpan>)>;

/// Returns the contents of a snapshot. Asserts that every trace has exactly one live row, that rows are sorted, and that
/// each row agrees with its document.
pub(crate) fn contents(snapshot: &Snapshot) -> Contents {
    let mut contents = Contents::new();
    for (index, part) in snapshot.parts().iter().enumerate() {
        let batch = part.batch().expect("readable rows");
        let ids = batch.column(Field::TraceId.column()).as_string::<i32>();
        let starts = batch.column(Field::StartTime.column()).as_primitive::<TimestampMicrosecondType>();
        let created = batch.column(Field::CreatedAt.column()).as_primitive::<TimestampMicrosecondType>();
        let totals = batch.column_by_name("total_spans").expect("a column").as_primitive::<Int64Type>();
        let order: Vec<_> = (0..ids.len()).map(|row| (-starts.value(row), ids.value(row))).collect();
        assert!(order.is_sorted(), "rows are sorted newest first");
        for row in (0..ids.len()).filter(|row| !part.invisible().contains(u32::try_from(*row).expect("few")))
        {
            let trace = part.trace(row).expect("a readable document");
            assert_eq!(trace.trace_id.to_string(), ids.value(row));
            assert_eq!(trace.created_at, created.value(row));
            assert_eq!(i64::try_from(trace.spans().len()).expect("few"), totals.value(row));
            assert!(part.document_bytes(row) > 0);
            assert_eq!(snapshot.find(trace.trace_id), Some((index, row)));
            let spans = trace.spans().iter().map(|span| span.wire.clone()).collect();
            let twice = contents.insert(trace.trace_id, (trace.created_at, spans));
            assert!(twice.is_none(), "trace {} has two live rows", trace.trace_id);
        }
    }
    contents
}

/// For every trace with fragments: `true` if searches return it, and its fragments at position 0, because
/// tests send them in requests of any size.
pub(crate) type FragmentContents = BTreeMap<TraceId, (bool, Vec<Fragment>)>;

/// Returns the fragments in a snapshot, including fragments without a span.
pub(crate) fn fragments(snapshot: &Snapshot) -> FragmentContents {
    let mut found = FragmentContents::new();
    for part in snapshot.parts() {
        let waiting = part.waiting();
        let rows = (0..u32::try_from(part.count()).expect("few")).map(|row| (row, waiting.contains(row)));
        for (row, is_waiting) in
            rows.filter(|(row, is_waiting)| *is_waiting || !part.invisible().contains(*row))
        {
            let trace = part.trace(row as usize).expect("a readable document");
            assert_eq!(trace.spans().is_empty(), is_waiting);
            let fragments = trace.fragments().iter().cloned();
            let held = (
                !is_waiting,
                fragments.map(|fragment| Fragment { position: 0, ..fragment }).collect::<Vec<_>>(),
            );
            if !held.1.is_empty() {
                assert!(found.insert(trace.trace_id, held).is_none(), "{} has two live rows", trace.trace_id);
            }
        }
    }
    found
}

/// Returns the id of trace number `trace`.
pub(crate) fn id_of(trace: u64) -> TraceId {
    request(&[span(trace, 1, 0)]).spans[0].trace_id
}

/// Returns a filter that matches these traces.
pub(crate) fn traces_in(traces: &[u64]) -> Filter {
    let ids: Vec<String> = traces.iter().map(|trace| id_of(*trace).to_string()).collect();
    let source = serde_json::json!({"op": "IN", "key": "trace_id", "values": ids});
    Filter::compile(source.to_string().as_bytes()).expect("a good filter")
}

/// Opens the store in a folder.
pub(crate) fn open(folder: &TempDir) -> TraceStore {
    TraceStore::open(address(folder), Options::default()).expect("a store that opens")
}

/// Returns the address of a folder.
pub(crate) fn address(folder: &TempDir) -> &str {
    folder.path().to_str().expect("a path in UTF-8")
}

/// Returns the state after a crash: a copy of the folder. The copy is repeated if a manifest or a write-ahead
/// object is created or removed meanwhile, so that it has one state.
pub(crate) fn crashed(folder: &TempDir) -> TempDir {
    let from = folder.path();
    let state = || {
        ["manifest", "wal"].map(|folder| {
            let entries = fs::read_dir(from.join(folder)).expect("a folder");
            let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
            names.sort();
            names
        })
    };
    loop {
        let before = state();
        let copy = TempDir::new().expect("a folder");
        copy_folder(from, copy.path());
        if state() == before {
            return copy;
        }
    }
}

/// Copies a folder and everything in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    // A file that the store removes meanwhile counts as removed before.
    let Ok(entries) = fs::read_dir(from) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            let _removed = fs::copy(&path, &target);
        }
    }
}
