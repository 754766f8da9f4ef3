//! The matches of one trace in a response, as JSON.

use serde::{Serialize, Serializer};

use crate::filter::spans::{MAX_PIECES, Piece, SpanMatches};
use crate::trace::view::TraceView;

/// Maximum number of span ids that are returned for one name.
const MAX_SPAN_IDS: usize = 32;

/// The spans and texts that make a filter match a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Matches {
    /// The spans of each `SPAN` and axis by name, in the order of the filter.
    #[serde(serialize_with = "as_object")]
    pub spans: Vec<(String, MatchedSpans)>,
    /// Excerpts of the texts that the filter searches for: the first one of each condition, then the second
    /// ones.
    pub texts: Vec<MatchedText>,
}

/// The spans with one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchedSpans {
    /// The number of spans.
    pub count: usize,
    /// The ids of the first spans in tree order.
    pub span_ids: Vec<String>,
}

/// An excerpt of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchedText {
    /// The id of the span that has the text.
    pub span_id: String,
    /// The field of the span.
    pub field: &'static str,
    /// The match with some text around it.
    pub context: String,
    /// The start of the match in the context, in characters.
    pub start: usize,
    /// The end of the match in the context, in characters.
    pub end: usize,
}

impl Matches {
    /// Converts the matches of a trace to their response form.
    pub(super) fn of(matches: SpanMatches, view: &TraceView<'_>) -> Self {
        let id = |ordinal: usize| view.span(ordinal).span_id.to_string();
        let spans = matches.spans.into_iter().map(|(name, ordinals)| {
            let span_ids = ordinals.iter().take(MAX_SPAN_IDS).map(|ordinal| id(*ordinal)).collect();
            (name, MatchedSpans { count: ordinals.len(), span_ids })
        });
        let texts =
            in_turns(matches.pieces).into_iter().map(|Piece { ordinal, field, excerpt }| MatchedText {
                span_id: id(ordinal),
                field,
                context: excerpt.context,
                start: excerpt.matched.start,
                end: excerpt.matched.end,
            });
        Self { spans: spans.collect(), texts: texts.collect() }
    }
}

/// Returns distinct excerpts, taken from each condition in turn, so that no condition crowds out the others.
fn in_turns(of_conditions: Vec<Vec<Piece>>) -> Vec<Piece> {
    let mut taken: Vec<Piece> = Vec::new();
    let mut open: Vec<_> = of_conditions.into_iter().map(Vec::into_iter).collect();
    while taken.len() < MAX_PIECES && !open.is_empty() {
        open.retain_mut(|pieces| {
            let Some(piece) = pieces.next() else { return false };
            if taken.len() < MAX_PIECES && !taken.contains(&piece) {
                taken.push(piece);
            }
            true
        });
    }
    taken
}

fn as_object<S: Serializer>(
    spans: &[(String, MatchedSpans)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(spans.iter().map(|(name, spans)| (name, spans)))
}
