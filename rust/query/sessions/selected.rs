//! The sessions of selected rows. Few rows are read one by one ([`few`](super::few)). For many rows, sessions are
//! numbered ([`numbers`](super::numbers)) and counted in bitmaps.

use crate::bitmap::{ones, set};
use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::page::Window;
use crate::query::rows::page_rows::PageRow;
use crate::query::rows::selection::Selection;
use crate::query::sessions::few::{Session, sessions_of};
use crate::query::sessions::numbers::SessionNumbers;
use crate::query::sessions::page::{SessionRef, page};
use crate::query::sessions::traces::{SessionTrace, traces_of_key};
use crate::storage::Snapshot;

/// Up to this many selected rows are read one by one, which takes about 0.1 µs each. With ten million traces and
/// numbered sessions, bitmaps are faster from about 500 rows, by up to 0.1 ms. Numbering the sessions again takes up to
/// 10 ms.
const MAX_FEW_ROWS: usize = 1 << 10;

/// The sessions of selected rows.
pub(crate) struct SelectedSessions<'s> {
    selections: &'s [Selection<'s>],
    sessions: Sessions<'s>,
}

enum Sessions<'s> {
    Few(Vec<Session<'s>>),
    Many(SessionNumbers<'s>),
}

/// A session that has a selected row.
pub(crate) struct SelectedSession<'s> {
    /// The start of its newest selected trace, in microseconds since 1970.
    pub(crate) start: i64,
    /// The key, as input of [`split_session_key`](crate::index::columns::split_session_key).
    pub(crate) key: &'s [u8],
    rows: Rows<'s>,
}

/// How to find the selected rows of a session.
enum Rows<'s> {
    /// The rows, newest first.
    Read(&'s [PageRow]),
    /// A numbered session. Its rows are in the parts that may have it.
    Numbered(&'s SessionNumbers<'s>, SessionRef),
}

impl<'s> SelectedSessions<'s> {
    /// Finds the sessions of `selections`, all of `snapshot`.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub(crate) fn new(snapshot: &'s Snapshot, selections: &'s [Selection<'s>]) -> Result<Self> {
        let rows: usize = selections.iter().map(|selection| selection.count).sum();
        if rows <= MAX_FEW_ROWS { Ok(Self::few(selections)) } else { Self::many(snapshot, selections) }
    }

    fn few(selections: &'s [Selection<'s>]) -> Self {
        Self { selections, sessions: Sessions::Few(sessions_of(selections)) }
    }

    fn many(snapshot: &'s Snapshot, selections: &'s [Selection<'s>]) -> Result<Self> {
        Ok(Self { selections, sessions: Sessions::Many(SessionNumbers::new(snapshot, selections)?) })
    }

    /// True if reading the rows is faster than waking another thread.
    pub(crate) fn are_few(&self) -> bool {
        matches!(self.sessions, Sessions::Few(_))
    }

    /// Returns the number of sessions, and the sessions of a window in the order of [`super::sessions`].
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn page(
        &self,
        window: Window,
        cancel: &CancellationToken,
    ) -> Result<(u64, Vec<SelectedSession<'_>>)> {
        match &self.sessions {
            Sessions::Few(sessions) => {
                let page = sessions.iter().skip(window.offset).take(window.limit);
                let page = page.map(|session| SelectedSession {
                    start: session.start,
                    key: session.key,
                    rows: Rows::Read(&session.rows),
                });
                Ok((sessions.len() as u64, page.collect()))
            }
            Sessions::Many(numbers) => {
                let (count, page) = page((self.selections, numbers), window, cancel)?;
                let page = page.into_iter().map(|(start, (part, code))| SelectedSession {
                    start,
                    key: self.selections[part].view.session(code),
                    rows: Rows::Numbered(numbers, (part, code)),
                });
                Ok((count, page.collect()))
            }
        }
    }

    /// Returns the selected traces of a session, newest first.
    pub(crate) fn traces(&self, session: &SelectedSession<'_>) -> Vec<SessionTrace<'_>> {
        let selections = self.selections;
        match session.rows {
            Rows::Read(rows) => {
                rows.iter().map(|(part, row)| SessionTrace::of(&selections[*part], *row)).collect()
            }
            Rows::Numbered(numbers, session_ref) => {
                let parts = selections.iter().enumerate();
                let having = parts.filter(|(part, _)| numbers.may_have(*part, session_ref));
                traces_of_key(having.map(|(_, selection)| selection), session.key)
            }
        }
    }

    /// Calls `visit` with the key of every session, once per session.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn for_each(&self, cancel: &CancellationToken, mut visit: impl FnMut(&[u8])) -> Result<()> {
        match &self.sessions {
            Sessions::Few(sessions) => sessions.iter().for_each(|session| visit(session.key)),
            Sessions::Many(numbers) => {
                let mut seen = vec![0; numbers.end().div_ceil(64)];
                for (part, selection) in self.selections.iter().enumerate() {
                    cancel.check()?;
                    let mut codes = vec![0; selection.view.session_codes().div_ceil(64)];
                    selection.view.for_each_session(&selection.rows, |code| _ = set(&mut codes, code));
                    for (word, bits) in codes.into_iter().enumerate() {
                        for code in ones(word, bits).map(|code| code as usize) {
                            if set(&mut seen, numbers.of_part(part)[code] as usize) {
                                visit(selection.view.session(code));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message as _;

    use super::super::count::count;
    use super::super::page::{deep_sessions, first_sessions};
    use super::super::traces::projection;
    use super::*;
    use crate::filter::Filter;
    use crate::otlp::{self, proto};
    use crate::query::rows::selection::select;
    use crate::storage::{Options, TraceStore};

    /// A trace: its start, its session, its user, and whether it failed. The few values make ties common.
    type Run = (u64, Option<u8>, Option<u8>, bool);

    fn body(runs: &[(u16, Run)]) -> Vec<u8> {
        let value =
            |text: String| proto::AnyValue { value: Some(proto::any_value::Value::StringValue(text)) };
        let attribute = |key: &str, number: Option<u8>| {
            number.map(|number| proto::KeyValue {
                key: key.to_owned(),
                value: Some(value(number.to_string())),
                ..Default::default()
            })
        };
        let span = |(number, (start, session, user, is_error)): &(u16, Run)| {
            let attributes = [attribute("session.id", *session), attribute("user.id", *user)];
            let mut trace_id = [1; 16];
            trace_id[..2].copy_from_slice(&number.to_be_bytes());
            let span = proto::Span {
                trace_id: trace_id.to_vec().into(),
                span_id: vec![1; 8].into(),
                name: "run".into(),
                start_time_unix_nano: 1_000_000 * (start + 1),
                end_time_unix_nano: 1_000_000 * (start + 2),
                attributes: attributes.into_iter().flatten().collect(),
                status: is_error.then(|| proto::Status { code: 2, ..Default::default() }),
                ..Default::default()
            };
            span.encode_to_vec().into()
        };
        let scope_spans =
            vec![proto::ScopeSpans { spans: runs.iter().map(span).collect(), ..Default::default() }];
        let resource_spans = vec![proto::ResourceSpans { scope_spans, ..Default::default() }];
        proto::TracesData { resource_spans }.encode_to_vec()
    }

    /// A session of a page: the start of its newest trace, its key, and the sort key of each of its traces.
    type Shown = (i64, Vec<u8>, Vec<Vec<u8>>);

    /// Returns the number of sessions, and the sessions of a window.
    fn shown(sessions: &SelectedSessions<'_>, window: Window) -> (u64, Vec<Shown>) {
        let (count, page) = sessions.page(window, &CancellationToken::default()).expect("sessions");
        let shown = |session: &SelectedSession<'_>| {
            let traces = sessions.traces(session).into_iter();
            let traces = traces.map(|trace| trace.key.to_bytes().to_vec()).collect();
            (session.start, session.key.to_vec(), traces)
        };
        (count, page.iter().map(shown).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn few_and_many_return_the_same_sessions_and_traces(
            runs in prop::collection::vec(
                (0..9_u64, prop::option::of(0..12_u8), prop::option::of(0..3_u8), any::<bool>()), 1..80),
            chunk in 1..30_usize, flush_after in 0..4_usize, errors in any::<bool>(), user in prop::option::of(0..3_u8),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let store = TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
            let numbered: Vec<(u16, Run)> = (1..).zip(runs).collect();
            for (number, runs) in numbered.chunks(chunk).enumerate() {
                let export = otlp::decode(body(runs).into(), "application/x-protobuf", None, 0);
                store.ingest(export.expect("a good request")).expect("an acknowledgement");
                if number % (flush_after + 1) == flush_after {
                    store.flush().expect("a segment");
                }
            }
            let deleted = user.map(|user| format!(r#"{{"op":"EQ","key":"user_id","value":"{user}"}}"#));
            if let Some(deleted) = deleted {
                store.delete(&Filter::compile(deleted.as_bytes()).expect("a good filter"), false).expect("deleted");
            }
            let source = if errors { r#"{"op":"EQ","key":"status","value":"ERROR"}"# } else { "{}" };
            let filter = Filter::compile(source.as_bytes()).expect("a good filter");
            let (snapshot, token) = (store.snapshot(), CancellationToken::default());
            let selections = select(&snapshot, &filter, projection(), &token).expect("selections");
            let few = SelectedSessions::few(&selections);
            let many = SelectedSessions::many(&snapshot, &selections).expect("numbers");
            let Sessions::Many(numbers) = &many.sessions else { unreachable!("constructed by `many`") };
            let many_of = (selections.as_slice(), numbers);
            let count = count(&selections, numbers, &token).expect("a count");
            let end = usize::try_from(count).expect("few");
            for rows in (0..=end).flat_map(|start| [start..start + 1, start..start + 3, start..end]) {
                let window = Window { offset: rows.start, limit: rows.len() };
                let (total, few) = shown(&few, window);
                prop_assert_eq!(total, count);
                prop_assert_eq!((count, few), shown(&many, window));
                let shown = |page: Vec<(i64, SessionRef)>| -> Vec<(i64, Vec<u8>)> {
                    let shown = page.into_iter();
                    shown.map(|(start, (part, code))| (start, selections[part].view.session(code).to_vec())).collect()
                };
                let walked = first_sessions(many_of, rows.start..rows.end.min(end), &token).expect("sessions");
                let (total, deep) = deep_sessions(many_of, window, &token).expect("sessions");
                prop_assert_eq!(total, count);
                prop_assert_eq!(shown(walked), shown(deep));
            }
            let beyond = Window { offset: 1_000, limit: 3 };
            prop_assert_eq!(shown(&few, beyond), (count, Vec::new()));
            prop_assert_eq!(shown(&many, beyond), (count, Vec::new()));
            let keys = |sessions: &SelectedSessions<'_>| {
                let mut keys = Vec::new();
                sessions.for_each(&token, |key| keys.push(key.to_vec())).expect("sessions");
                keys.sort_unstable();
                keys
            };
            prop_assert_eq!(keys(&few).len() as u64, count);
            prop_assert_eq!(keys(&few), keys(&many));
        }
    }
}
