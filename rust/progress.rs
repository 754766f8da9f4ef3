//! How much of a long operation is done, for whoever watches it from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of one operation at a time. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Begins an operation of `total` units; what was done before is forgotten.
    pub fn begin(&self, total: u64) {
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Adds `units` to what there is to do.
    pub fn expect(&self, units: u64) {
        self.0.total.fetch_add(units, Ordering::Relaxed);
    }

    /// Counts `units` as done.
    pub fn add(&self, units: u64) {
        self.0.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Returns how many units are done, and how many there are: 0 if that is not known.
    pub fn done_of_total(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.total.load(Ordering::Relaxed))
    }
}

/// Equal are those that have come equally far.
impl PartialEq for Progress {
    fn eq(&self, other: &Self) -> bool {
        self.done_of_total() == other.done_of_total()
    }
}

impl Eq for Progress {}
