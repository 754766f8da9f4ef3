//! The rows of conditions on texts, from the text index of a segment. Each pattern is looked up once.

use std::cell::RefCell;
use std::rc::Rc;

use crate::bitmap::RowSet;
use crate::filter::spans::{SpanTest, TextKey};
use crate::index::texts::{PatternRows, TextIndex};

/// Caches lookups in the text index of a segment.
#[derive(Debug, Default)]
pub(in crate::filter) struct TextRows<'i> {
    index: Option<&'i TextIndex>,
    cache: RefCell<Vec<(TextKey, Rc<TextBounds>)>>,
}

/// The rows of one condition.
#[derive(Debug)]
struct TextBounds {
    /// Rows that certainly have a text with the pattern, and a superset of all rows that have one.
    certain: RowSet,
    possible: RowSet,
    /// Rows that have a text in the channel.
    present: RowSet,
}

impl<'i> TextRows<'i> {
    pub(in crate::filter) fn new(index: Option<&'i TextIndex>) -> Self {
        Self { index, cache: RefCell::default() }
    }

    /// Returns the rows for which a condition is certainly `truth`, and a superset of the rows for which it
    /// is. `None` if there is no index, the condition is not on texts, or the search is cancelled.
    pub(super) fn bounds(
        &self,
        test: &SpanTest,
        truth: bool,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<[RowSet; 2]> {
        let (index, key) = (self.index?, test.text_key()?);
        let all = RowSet::Range(0..index.rows());
        let Some(pattern) = key.pattern.clone() else {
            let present = index.present(key.channel);
            let rows = if truth { present } else { all.without(&present) };
            return Some([rows.clone(), rows]);
        };
        let bounds = self.looked_up(index, (key, &pattern), is_cancelled)?;
        let TextBounds { certain, possible, present } = bounds.as_ref();
        Some(if truth {
            [certain.clone(), possible.clone()]
        } else {
            // For a trace without any such text the condition is unknown.
            [possible, certain].map(|rows| present.without(rows))
        })
    }

    fn looked_up(
        &self,
        index: &TextIndex,
        (key, pattern): (TextKey, &str),
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<Rc<TextBounds>> {
        if let Some((_, known)) = self.cache.borrow().iter().find(|(own, _)| *own == key) {
            return Some(known.clone());
        }
        let PatternRows { certain, possible } =
            index.find(pattern, key.channel, key.ignore_case, is_cancelled)?;
        let bounds = Rc::new(TextBounds { certain, possible, present: index.present(key.channel) });
        self.cache.borrow_mut().push((key, bounds.clone()));
        Some(bounds)
    }
}
