//! Deletion: rows are hidden, durably, in one manifest.
//!
//! The head is sealed first, and requests wait until the manifest is durable. So no write-ahead object
//! that will be replayed holds a span of a deleted trace, and what comes later finds no trace to join.

use crossbeam_channel::Receiver;
use rayon::prelude::*;
use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::storage::committer::{Committer, Order};
use crate::storage::snapshot::{Part, Snapshot};

/// Returns how many traces of a snapshot the filter matches.
pub(crate) fn count(snapshot: &Snapshot, filter: &Filter) -> Result<u64> {
    let parts = snapshot.parts().par_iter();
    parts.map(|part| Ok(part.rows(filter, &|| false)?.count() as u64)).sum()
}

impl Committer {
    /// Deletes the traces that the filter matches; requests that come meanwhile are held back.
    ///
    /// # Errors
    /// As [`Committer::install`].
    pub(crate) fn delete(&mut self, filter: &Filter, orders: &Receiver<Order>) -> Result<u64> {
        self.seal_head(orders)?;
        let sealed = self.state.sealed.par_iter();
        let matched = sealed.map(|sealed| {
            let part = Part::sealed(sealed.segment.clone(), sealed.hidden.clone());
            let rows = part.rows(filter, &|| false)?;
            Ok(rows.from(0).collect::<RoaringBitmap>())
        });
        let matched = matched.collect::<Result<Vec<_>>>()?;
        let count = matched.iter().map(RoaringBitmap::len).sum();
        if count > 0 {
            let mut next = self.state.sealed.clone();
            next.iter_mut().zip(&matched).for_each(|(sealed, rows)| sealed.hide(rows));
            self.install(next, self.state.manifest.wal_folded_through)?;
            self.publish();
        }
        Ok(count)
    }

    /// Seals the whole head; orders that come meanwhile are held back.
    ///
    /// # Errors
    /// [`Error::Storage`] if a seal failed, [`Error::Stopped`], [`Error::Closed`].
    pub(crate) fn seal_head(&mut self, orders: &Receiver<Order>) -> Result<()> {
        if self.state.open_generation().objects > 0 {
            self.cut();
        }
        (self.retry_at, self.seal_fault) = (None, None);
        loop {
            self.seal_next();
            if let Some(reason) = &self.stopped {
                return Err(Error::Stopped(reason.clone()));
            }
            if self.state.generations.len() == 1 {
                return Ok(());
            }
            if let Some(fault) = self.seal_fault.clone().filter(|_| !self.is_sealing) {
                return Err(fault);
            }
            match orders.recv() {
                Ok(Order::Sealed(written)) => self.sealed(written),
                Ok(Order::Merged(written)) => self.merged(written),
                Ok(order) => self.held_back.push_back(order),
                Err(_) => return Err(Error::Closed),
            }
        }
    }
}
