//! Merges the keys of the items of a page.

use super::rank_search::{ItemKey, RankSearch, Ranks};
use super::{ID_BYTES, Keys, KeysRequest};
use crate::error::Result;
use crate::query::messages::{LeafRequest, unexpected};
use crate::query::page::{Page, PageRequest};
use crate::trace::detail::Detail;

/// Merges the keys of the items of a page.
pub(in crate::query) struct KeyMerge {
    leaves: usize,
    page: PageRequest,
    /// The requested ranks of each leaf.
    requested: Vec<Option<Ranks>>,
    source: KeySource,
    damage: Vec<String>,
    /// The number of documents to send with the first keys, and their level of detail.
    first_documents: Option<(u64, Detail)>,
}

/// Where the keys of a page come from.
enum KeySource {
    /// Windows of ranks.
    Windows(RankSearch),
    /// The newest items of every leaf, and the number that each has total.
    Newest {
        is_requested: bool,
        total: u64,
        keys: Vec<(usize, Vec<ItemKey>)>,
        frontiers: Vec<Option<Vec<u8>>>,
    },
}

impl KeyMerge {
    /// Starts a page. With `is_newest`, the leaves find only the newest items up to the end of the page.
    pub(in crate::query) fn new(leaves: usize, page: PageRequest, is_newest: bool) -> Self {
        let window = page.window();
        let source = if is_newest {
            KeySource::Newest { is_requested: false, total: 0, keys: Vec::new(), frontiers: Vec::new() }
        } else {
            KeySource::Windows(RankSearch::new(window.offset, window.limit, leaves))
        };
        Self { leaves, page, requested: Vec::new(), source, damage: Vec::new(), first_documents: None }
    }

    /// Requests the documents of the first items with their keys.
    pub(in crate::query) fn request_documents(&mut self, count: u64, detail: Detail) {
        self.first_documents = Some((count, detail));
    }

    pub(in crate::query) fn leaves(&self) -> usize {
        self.leaves
    }

    /// Returns the number of newest items to find, which is one more than the pages so far have.
    fn target(&self) -> usize {
        self.page.window().end().saturating_add(1)
    }

    /// Returns the rank of the first newest item whose key is needed. A single leaf sends only the keys of the page.
    fn first_newest(&self) -> usize {
        if self.leaves == 1 { self.page.window().offset } else { 0 }
    }

    /// Returns the requests for keys; `None` once the page is known.
    pub(in crate::query) fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        let (first, end) = (self.first_newest() as u64, self.target() as u64);
        let is_newest = matches!(self.source, KeySource::Newest { .. });
        let ranks = match &mut self.source {
            KeySource::Windows(search) => search.next_ranks()?,
            KeySource::Newest { is_requested: true, .. } => None,
            KeySource::Newest { is_requested, .. } => {
                *is_requested = true;
                Some(vec![Some(Ranks { first, end, step: 1 }); self.leaves])
            }
        };
        let Some(ranks) = ranks else { return Ok(None) };
        let (sort, is_ascending) = self.page.sort.key();
        let documents = self.first_documents.take();
        let request = |ranks: &Option<Ranks>| {
            let Ranks { first, end, step } = (*ranks)?;
            let first_documents = documents.map_or(0, |(count, _)| count);
            let detail = documents.map(|(_, detail)| detail.word().to_owned()).unwrap_or_default();
            let sort = sort.to_owned();
            let request =
                KeysRequest { sort, is_ascending, is_newest, first, end, step, first_documents, detail };
            Some(LeafRequest::Keys(request))
        };
        let requests = ranks.iter().map(request).collect();
        self.requested = ranks;
        Ok(Some(requests))
    }

    /// Adds the keys of a leaf.
    pub(in crate::query) fn add(&mut self, leaf: usize, response: Keys) -> Result<()> {
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
            KeySource::Windows(search) => {
                let requested = self.requested.get(leaf).copied().flatten();
                search.add(leaf, count, requested.ok_or_else(unexpected)?, keys);
            }
            KeySource::Newest { total, keys: known, frontiers, .. } => {
                *total += count;
                known.push((leaf, keys));
                frontiers.push(frontier);
            }
        }
        Ok(())
    }

    /// Returns the items of the page in order, each with its leaf.
    pub(in crate::query) fn page(&self) -> Vec<(usize, ItemKey)> {
        match &self.source {
            KeySource::Windows(search) => search.page(),
            KeySource::Newest { .. } => {
                let window = self.page.window();
                let skipped = window.offset - self.first_newest();
                self.newest().into_iter().skip(skipped).take(window.limit).collect()
            }
        }
    }

    /// Returns the newest items from [`Self::first_newest`], up to the lowest frontier of a leaf.
    fn newest(&self) -> Vec<(usize, ItemKey)> {
        let KeySource::Newest { keys, frontiers, .. } = &self.source else { return Vec::new() };
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

    /// Returns the page with these items.
    pub(in crate::query) fn finish(&mut self, data: Vec<u8>, damage: Vec<String>) -> Page {
        let mut all_damage = std::mem::take(&mut self.damage);
        for damage in damage {
            if !all_damage.contains(&damage) {
                all_damage.push(damage);
            }
        }
        let page = |total_count| Page { data, total_count, is_exact: true, damage: all_damage };
        match &self.source {
            KeySource::Windows(search) => page(search.count()),
            KeySource::Newest { total, frontiers, .. } => {
                let is_complete = frontiers.iter().all(Option::is_none);
                let count = if self.leaves == 1 { *total } else { self.newest().len() as u64 };
                page(count).up_to(self.target(), is_complete)
            }
        }
    }
}
