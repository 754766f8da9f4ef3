//! Merges a page of runs: the keys of windows of ranks, then the documents of the page.
//!
//! For a first page, most leaves of several send their documents with the keys, so that one round is enough.

use super::{DocumentsRequest, ItemList};
use crate::error::Result;
use crate::query::items::total_bytes;
use crate::query::keys::{ItemKey, KeyMerge, likely_share};
use crate::query::merge::{Merge, Response};
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};
use crate::query::page::{ItemView, PageRequest, RunView, json_array};

/// Merges a page of runs.
pub(crate) struct RunsMerge {
    view: ItemView,
    keys: KeyMerge,
    /// The leaf and the key of every item of the page, once they are known.
    items: Option<Vec<(usize, ItemKey)>>,
    documents: Documents,
}

impl RunsMerge {
    /// Starts a page. With `is_newest`, the total is a lower bound.
    pub(crate) fn new(leaves: usize, page: PageRequest, is_newest: bool, view: ItemView) -> Self {
        let mut keys = KeyMerge::new(leaves, page, is_newest);
        if let ItemView::Run(RunView { detail, with_matches }) = view {
            keys = keys.with_documents();
            if leaves > 1 && !with_matches && page.window().offset == 0 {
                keys.request_documents(likely_share(page.window().limit, leaves), detail);
            }
        }
        Self { view, keys, items: None, documents: Documents::default() }
    }

    /// Returns the requests for the documents of the page that no leaf has sent.
    fn missing_documents(&self, RunView { detail, with_matches }: RunView) -> Vec<Option<LeafRequest>> {
        let items = self.items.as_deref().unwrap_or_default();
        let request = |leaf: usize| {
            let own = items.iter().filter(|(owner, _)| *owner == leaf).skip(self.documents.count(leaf));
            let trace_ids: Vec<u8> = own.flat_map(|(_, item)| item.trace_id()).copied().collect();
            let detail = detail.word().to_owned();
            let request = DocumentsRequest { trace_ids, detail, with_matches };
            (!request.trace_ids.is_empty()).then_some(LeafRequest::Documents(request))
        };
        (0..self.keys.leaves()).map(request).collect()
    }
}

impl Merge for RunsMerge {
    fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        if self.items.is_some() {
            return Ok(None);
        }
        if let Some(requests) = self.keys.next_round()? {
            return Ok(Some(requests));
        }
        let items = self.keys.page();
        let ItemView::Run(view) = self.view else {
            self.items = Some(items);
            return Ok(None);
        };
        total_bytes(items.iter().map(|(_, item)| item.bytes))?;
        self.items = Some(items);
        let requests = self.missing_documents(view);
        Ok(requests.iter().any(Option::is_some).then_some(requests))
    }

    fn add(&mut self, leaf: usize, response: LeafResponse) -> Result<()> {
        match response {
            LeafResponse::Keys(mut keys) => {
                let items = std::mem::take(&mut keys.first_documents);
                self.documents.add(leaf, ItemList { items, damage: Vec::new() });
                self.keys.add(leaf, keys)
            }
            LeafResponse::Items(items) => {
                self.documents.add(leaf, items);
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn finish(&mut self) -> Result<Response> {
        let items = self.items.take().unwrap_or_default();
        let (documents, damage) = match self.view {
            ItemView::Run(_) => self.documents.in_order(items.iter().map(|(leaf, _)| *leaf))?,
            ItemView::Id => (items.iter().map(|(_, item)| item.id_as_json()).collect(), Vec::new()),
        };
        Ok(Response::Page(self.keys.finish(json_array(&documents), damage)))
    }
}

/// The items that leaves have sent, each leaf in the order of the page.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    of_leaves: Vec<(usize, ItemList)>,
}

impl Documents {
    /// Adds items of a leaf that follow those that it has sent before.
    pub(crate) fn add(&mut self, leaf: usize, mut items: ItemList) {
        match self.of_leaves.iter_mut().find(|(own, _)| *own == leaf) {
            Some((_, known)) => {
                known.items.append(&mut items.items);
                known.damage.append(&mut items.damage);
            }
            None => self.of_leaves.push((leaf, items)),
        }
    }

    /// Returns how many items a leaf has sent.
    fn count(&self, leaf: usize) -> usize {
        self.of_leaves.iter().find(|(own, _)| *own == leaf).map_or(0, |(_, known)| known.items.len())
    }

    /// Returns the items of a page and their damage. `page` names the leaf of each item; a leaf may have sent more.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if an item is missing.
    pub(crate) fn in_order(
        &mut self,
        page: impl Iterator<Item = usize>,
    ) -> Result<(Vec<Vec<u8>>, Vec<String>)> {
        let mut damage = Vec::new();
        let mut of_leaves: Vec<_> = std::mem::take(&mut self.of_leaves)
            .into_iter()
            .map(|(leaf, list)| {
                damage.extend(list.damage);
                (leaf, list.items.into_iter())
            })
            .collect();
        let mut items = Vec::new();
        for leaf in page {
            let own = of_leaves.iter_mut().find(|(own, _)| *own == leaf);
            items.push(own.and_then(|(_, items)| items.next()).ok_or_else(unexpected)?);
        }
        Ok((items, damage))
    }
}
