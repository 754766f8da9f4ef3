//! Gathers a page of runs: the keys of windows of ranks, then the documents of the page. Of a first page most shards send
//! theirs with the keys, so that a round is enough.

use super::page_cut::{ItemKey, PageCut, Ranks, likely_share};
use super::wire::{Answered, Asked, AskedDocuments, AskedKeys, ItemList, Keys, unexpected};
use super::{Found, Gather};
use crate::error::Result;
use crate::search::items::total_bytes;
use crate::search::page::{Page, PageRequest, RunView, json_array};

/// The bytes of a trace id, the last ones of a key.
const ID_BYTES: usize = 16;

/// A search for a page of runs.
pub(super) struct RunGather {
    request: PageRequest,
    view: RunView,
    keys: KeyGather,
    /// The page, once it is known: of every item its shard and its key.
    page: Option<Vec<(usize, ItemKey)>>,
    documents: Documents,
}

impl RunGather {
    /// Searches `shards` shards for a page; for the newest runs alone with `is_newest`.
    pub(super) fn new(shards: usize, (request, is_newest): (PageRequest, bool), view: RunView) -> Self {
        let mut keys = KeyGather::new(shards, (request, is_newest));
        // The page begins with the first trace of every shard, which takes no key to know. What matches is looked for in
        // documents, of which there is a limit.
        if request.window().offset == 0 && !view.with_matches {
            let count = likely_share(request.window().limit, shards);
            keys.first_documents = (count, view.detail.word().to_owned());
        }
        Self { request, view, keys, page: None, documents: Documents::default() }
    }
}

impl Gather for RunGather {
    fn next_round(&mut self) -> Result<Option<Vec<Option<Asked>>>> {
        if self.page.is_some() {
            return Ok(None);
        }
        if let Some(asked) = self.keys.next_round()? {
            return Ok(Some(asked));
        }
        let page = self.keys.page();
        total_bytes(page.iter().map(|(_, item)| item.bytes))?;
        let asked = (0..self.keys.shards).map(|shard| {
            let own = page.iter().filter(|(owner, _)| *owner == shard).skip(self.documents.count(shard));
            let trace_ids: Vec<u8> =
                own.flat_map(|(_, item)| &item.key[item.key.len() - ID_BYTES..]).copied().collect();
            let RunView { detail, with_matches } = self.view;
            (!trace_ids.is_empty()).then(|| {
                Asked::Documents(AskedDocuments { trace_ids, detail: detail.word().to_owned(), with_matches })
            })
        });
        let asked: Vec<_> = asked.collect();
        self.page = Some(page);
        Ok(asked.iter().any(Option::is_some).then_some(asked))
    }

    fn take(&mut self, shard: usize, answered: Answered) -> Result<()> {
        match answered {
            Answered::Keys(mut keys) => {
                let items = std::mem::take(&mut keys.first_documents);
                self.documents.add(shard, ItemList { items, damage: Vec::new() });
                self.keys.take(shard, keys)
            }
            Answered::Items(items) => {
                self.documents.add(shard, items);
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn found(&mut self) -> Result<Found> {
        let page = self.page.take().unwrap_or_default();
        let (items, damage) = self.documents.in_order(page.iter().map(|(shard, _)| *shard))?;
        Ok(Found::Page(self.keys.finished(json_array(&items), damage, self.request)))
    }
}

/// The items that shards have sent, each in the order of the page.
#[derive(Debug, Default)]
pub(super) struct Documents {
    of_shards: Vec<(usize, ItemList)>,
}

impl Documents {
    /// Adds items of a shard that follow those that it has sent before.
    pub(super) fn add(&mut self, shard: usize, mut items: ItemList) {
        match self.of_shards.iter_mut().find(|(own, _)| *own == shard) {
            Some((_, known)) => {
                known.items.append(&mut items.items);
                known.damage.append(&mut items.damage);
            }
            None => self.of_shards.push((shard, items)),
        }
    }

    /// Returns how many items a shard has sent.
    fn count(&self, shard: usize) -> usize {
        self.of_shards.iter().find(|(own, _)| *own == shard).map_or(0, |(_, known)| known.items.len())
    }

    /// Returns the items in the order of a page, of which each shard has sent its own in that order, and perhaps more: `page`
    /// names the shard of each item. And what is wrong with them.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if one was not sent.
    pub(super) fn in_order(
        &mut self,
        page: impl Iterator<Item = usize>,
    ) -> Result<(Vec<Vec<u8>>, Vec<String>)> {
        let mut damage = Vec::new();
        let of_shards = std::mem::take(&mut self.of_shards).into_iter();
        let mut of_shards: Vec<_> = of_shards
            .map(|(shard, list)| {
                damage.extend(list.damage);
                (shard, list.items.into_iter())
            })
            .collect();
        let mut items = Vec::new();
        for shard in page {
            let own = of_shards.iter_mut().find(|(own, _)| *own == shard);
            items.push(own.and_then(|(_, items)| items.next()).ok_or_else(unexpected)?);
        }
        Ok((items, damage))
    }
}

/// Gathers the keys of a page.
pub(super) struct KeyGather {
    pub(super) shards: usize,
    sort: (&'static str, bool),
    /// The ranks that each shard was asked for.
    asked: Vec<Option<Ranks>>,
    source: KeySource,
    damage: Vec<String>,
    /// How many documents are wanted with the first keys, and how much of each is shown.
    first_documents: (u64, String),
}

/// Where the keys of a page come from.
enum KeySource {
    /// Windows of ranks.
    Windows(PageCut),
    /// The newest ones of every shard, of which so many are wanted; and what is known of them.
    Newest {
        offset: usize,
        wanted: usize,
        is_asked: bool,
        keys: Vec<(usize, Vec<ItemKey>)>,
        frontiers: Vec<Option<Vec<u8>>>,
    },
}

impl KeyGather {
    pub(super) fn new(shards: usize, (request, is_newest): (PageRequest, bool)) -> Self {
        let window = request.window();
        let source = if is_newest {
            let wanted = window.end().saturating_add(1);
            KeySource::Newest {
                offset: window.offset,
                wanted,
                is_asked: false,
                keys: Vec::new(),
                frontiers: Vec::new(),
            }
        } else {
            KeySource::Windows(PageCut::new(window.offset, window.limit, shards))
        };
        let (sort, asked, damage) = (request.sort.key(), Vec::new(), Vec::new());
        Self { shards, sort, asked, source, damage, first_documents: (0, String::new()) }
    }

    /// Returns the keys to ask for; `None` once the page is known.
    pub(super) fn next_round(&mut self) -> Result<Option<Vec<Option<Asked>>>> {
        let is_newest = matches!(self.source, KeySource::Newest { .. });
        let ranks = match &mut self.source {
            KeySource::Windows(cut) => cut.wanted()?,
            KeySource::Newest { is_asked: true, .. } => None,
            KeySource::Newest { wanted, is_asked, .. } => {
                *is_asked = true;
                Some(vec![Some(Ranks { first: 0, end: *wanted as u64, step: 1 }); self.shards])
            }
        };
        let Some(ranks) = ranks else { return Ok(None) };
        let documents = std::mem::take(&mut self.first_documents);
        let question = |ranks: &Option<Ranks>| {
            let Ranks { first, end, step } = (*ranks)?;
            let (sort, is_ascending) = (self.sort.0.to_owned(), self.sort.1);
            let (first_documents, detail) = documents.clone();
            let asked =
                AskedKeys { sort, is_ascending, is_newest, first, end, step, first_documents, detail };
            Some(Asked::Keys(asked))
        };
        let asked = ranks.iter().map(question).collect();
        self.asked = ranks;
        Ok(Some(asked))
    }

    pub(super) fn take(&mut self, shard: usize, answer: Keys) -> Result<()> {
        let Keys { count, packed: keys, bytes, frontier, damage, first_documents: _ } = answer;
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
            KeySource::Windows(cut) => {
                let asked = self.asked.get(shard).copied().flatten();
                cut.add(shard, count, asked.ok_or_else(unexpected)?, keys);
            }
            KeySource::Newest { keys: known, frontiers, .. } => {
                known.push((shard, keys));
                frontiers.push(frontier);
            }
        }
        Ok(())
    }

    /// Returns the items of the page in order, each with its shard.
    pub(super) fn page(&self) -> Vec<(usize, ItemKey)> {
        match &self.source {
            KeySource::Windows(cut) => cut.page(),
            KeySource::Newest { offset, wanted, .. } => {
                let page = self.newest().into_iter().skip(*offset);
                page.take(wanted.saturating_sub(*offset).saturating_sub(1)).collect()
            }
        }
    }

    /// Returns the newest items, up to where all of them are known.
    fn newest(&self) -> Vec<(usize, ItemKey)> {
        let KeySource::Newest { keys, frontiers, .. } = &self.source else { return Vec::new() };
        let frontier = frontiers.iter().flatten().min();
        let own = |(shard, keys): &(usize, Vec<ItemKey>)| {
            let shard = *shard;
            keys.clone().into_iter().map(move |item| (shard, item))
        };
        let mut newest: Vec<(usize, ItemKey)> = keys.iter().flat_map(own).collect();
        newest.retain(|(_, item)| frontier.is_none_or(|frontier| item.key <= *frontier));
        newest.sort_by(|(_, one), (_, other)| one.cmp(other));
        newest
    }

    /// Returns the page of these items, with what is known of all.
    pub(super) fn finished(&mut self, data: Vec<u8>, damage: Vec<String>, request: PageRequest) -> Page {
        let mut all_damage = std::mem::take(&mut self.damage);
        for damage in damage {
            if !all_damage.contains(&damage) {
                all_damage.push(damage);
            }
        }
        let (total_count, is_complete) = match &self.source {
            KeySource::Windows(cut) => (cut.count(), true),
            KeySource::Newest { frontiers, .. } => {
                (self.newest().len() as u64, frontiers.iter().all(Option::is_none))
            }
        };
        let page = Page { data, total_count, is_exact: true, damage: all_damage };
        match self.source {
            KeySource::Windows(_) => page,
            KeySource::Newest { .. } => page.cut_at(request.window().end().saturating_add(1), is_complete),
        }
    }
}
