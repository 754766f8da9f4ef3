//! Merges the keys of the items of a page.

use super::rank_search::{ItemKey, RankSearch, Ranks};
use super::{ID_BYTES, Keys, KeysRequest};
use crate::error::Result;
use crate::query::messages::{LeafRequest, unexpected};
use crate::query::page::{Page, PageRequest};
use crate::trace::detail::Detail;

/// Merges the keys of the items of a page.
pub(crate) struct KeyMerge {
    leaves: usize,
    page: PageRequest,
    /// The requested ranks of each leaf.
    requested: Vec<Option<Ranks>>,
    source: KeySource,
    damage: Vec<String>,
    /// The number of documents to send with the first keys, and their level of detail.
    first_documents: Option<(u64, Detail)>,
    /// True if documents of the page are requested after the keys.
    has_documents: bool,
}

/// Where the keys of a page come from.
enum KeySource {
    /// The page of the only leaf, the number of its items, and true if there may be more.
    Single { is_newest: bool, is_requested: bool, count: u64, has_more: bool, items: Vec<ItemKey> },
    /// Windows of ranks of several leaves.
    Windows(RankSearch),
    /// The newest items of several leaves.
    Newest { is_requested: bool, keys: Vec<(usize, Vec<ItemKey>)>, frontiers: Vec<Option<Vec<u8>>> },
}

impl KeyMerge {
    /// Starts a page. With `is_newest`, the leaves find only the newest items up to the end of the page.
    pub(crate) fn new(leaves: usize, page: PageRequest, is_newest: bool) -> Self {
        let window = page.window();
        let is_requested = false;
        let source = match (leaves, is_newest) {
            (1, _) => {
                KeySource::Single { is_newest, is_requested, count: 0, has_more: false, items: Vec::new() }
            }
            (_, true) => KeySource::Newest { is_requested, keys: Vec::new(), frontiers: Vec::new() },
            (_, false) => KeySource::Windows(RankSearch::new(window.offset, window.limit, leaves)),
        };
        let (requested, damage) = (Vec::new(), Vec::new());
        Self { leaves, page, requested, source, damage, first_documents: None, has_documents: false }
    }

    /// Requests the documents of the first items with their keys.
    pub(crate) fn request_documents(&mut self, count: u64, detail: Detail) {
        self.first_documents = Some((count, detail));
    }

    /// Says that documents of the page are requested after the keys.
    pub(crate) fn with_documents(mut self) -> Self {
        self.has_documents = true;
        self
    }

    pub(crate) fn leaves(&self) -> usize {
        self.leaves
    }

    /// Returns the number of newest items to find, which is one more than the pages so far have.
    fn target(&self) -> usize {
        self.page.window().end().saturating_add(1)
    }

    /// Returns the requests for keys; `None` once the page is known.
    pub(crate) fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        let (window, target) = (self.page.window(), self.target() as u64);
        let is_newest =
            matches!(self.source, KeySource::Newest { .. } | KeySource::Single { is_newest: true, .. });
        let ranks = match &mut self.source {
            KeySource::Single { is_requested: true, .. } | KeySource::Newest { is_requested: true, .. } => {
                None
            }
            KeySource::Single { is_requested, .. } => {
                *is_requested = true;
                let end = if is_newest { target } else { window.end() as u64 };
                Some(vec![Some(Ranks { first: window.offset as u64, end, step: 1 })])
            }
            KeySource::Windows(search) => search.next_ranks()?,
            KeySource::Newest { is_requested, .. } => {
                *is_requested = true;
                Some(vec![Some(Ranks { first: 0, end: target, step: 1 }); self.leaves])
            }
        };
        let Some(ranks) = ranks else { return Ok(None) };
        let (sort, is_ascending) = self.page.sort.key();
        let (documents, has_documents) = (self.first_documents.take(), self.has_documents);
        let request = |ranks: &Option<Ranks>| {
            let Ranks { first, end, step } = (*ranks)?;
            let first_documents = documents.map_or(0, |(count, _)| count);
            let detail = documents.map(|(_, detail)| detail.word().to_owned()).unwrap_or_default();
            let sort = sort.to_owned();
            Some(LeafRequest::Keys(KeysRequest {
                sort,
                is_ascending,
                is_newest,
                first,
                end,
                step,
                first_documents,
                detail,
                has_documents,
            }))
        };
        let requests = ranks.iter().map(request).collect();
        self.requested = ranks;
        Ok(Some(requests))
    }

    /// Adds the keys of a leaf.
    pub(crate) fn add(&mut self, leaf: usize, response: Keys) -> Result<()> {
        let Keys { count, packed: keys, bytes, frontier, damage, first_documents: _ } = response;
        for damage in damage {
            if !self.damage.contains(&damage) {
                self.damage.push(damage);
            }
        }
        let width = keys.len().checked_div(bytes.len()).unwrap_or_default();
        if keys.len() != width * bytes.len() || !bytes.is_empty() && width < ID_BYTES {
            return Err(unexpected());
        }
        let keys = keys.chunks_exact(width.max(1)).zip(bytes);
        let keys = keys.map(|(key, bytes)| ItemKey { key: key.to_vec(), bytes }).collect();
        match &mut self.source {
            KeySource::Single { count: own_count, has_more, items, .. } => {
                (*own_count, *has_more, *items) = (count, frontier.is_some(), keys);
            }
            KeySource::Windows(search) => {
                let requested = self.requested.get(leaf).copied().flatten();
                search.add(leaf, count, requested.ok_or_else(unexpected)?, keys);
            }
            KeySource::Newest { keys: known, frontiers, .. } => {
                known.push((leaf, keys));
                frontiers.push(frontier);
            }
        }
        Ok(())
    }

    /// Returns the items of the page in order, each with its leaf. Called once.
    pub(crate) fn page(&mut self) -> Vec<(usize, ItemKey)> {
        let window = self.page.window();
        match &mut self.source {
            KeySource::Single { items, .. } => {
                std::mem::take(items).into_iter().take(window.limit).map(|item| (0, item)).collect()
            }
            KeySource::Windows(search) => search.page(),
            KeySource::Newest { keys, frontiers, .. } => {
                newest(keys, frontiers).into_iter().skip(window.offset).take(window.limit).collect()
            }
        }
    }

    /// Returns the page with these items.
    pub(crate) fn finish(&mut self, data: Vec<u8>, damage: Vec<String>) -> Page {
        let mut all_damage = std::mem::take(&mut self.damage);
        for damage in damage {
            if !all_damage.contains(&damage) {
                all_damage.push(damage);
            }
        }
        let page = |total_count| Page { data, total_count, is_exact: true, damage: all_damage };
        match &self.source {
            KeySource::Single { is_newest: false, count, .. } => page(*count),
            KeySource::Single { count, has_more, .. } => page(*count).up_to(self.target(), !has_more),
            KeySource::Windows(search) => page(search.count()),
            KeySource::Newest { keys, frontiers, .. } => {
                let is_complete = frontiers.iter().all(Option::is_none);
                page(newest(keys, frontiers).len() as u64).up_to(self.target(), is_complete)
            }
        }
    }
}

/// Returns the newest items of several leaves, up to the lowest frontier of a leaf.
fn newest(keys: &[(usize, Vec<ItemKey>)], frontiers: &[Option<Vec<u8>>]) -> Vec<(usize, ItemKey)> {
    let frontier = frontiers.iter().flatten().min();
    let own = |(leaf, keys): &(usize, Vec<ItemKey>)| {
        let leaf = *leaf;
        keys.clone().into_iter().map(move |item| (leaf, item))
    };
    let mut newest: Vec<(usize, ItemKey)> = keys.iter().flat_map(own).collect();
    newest.retain(|(_, item)| frontier.is_none_or(|frontier| item.key <= *frontier));
    newest.sort_by(|(_, one), (_, other)| one.cmp(other));
    newest
}
