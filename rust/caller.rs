//! The caller that a thread serves. It is thread-local, so that functions between a request and a semaphore
//! need not pass it on.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};

thread_local! {
    static CURRENT: Cell<Caller> = const { Cell::new(Caller(0)) };
}

/// A caller, identified by a hash of its name. Callers with the same hash share their turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Caller(u64);

impl Caller {
    /// Returns the caller that this thread serves. Threads that never called [`serve`] share one.
    pub(crate) fn current() -> Self {
        CURRENT.get()
    }
}

/// Sets the caller that this thread serves, by name. An empty name stands for the program itself.
pub fn serve(name: &str) {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    CURRENT.set(if name.is_empty() { Caller(0) } else { Caller(hasher.finish()) });
}
