//! A counting semaphore that serves waiters in FIFO order.
//!
//! It bounds what is expensive, such as memory or parsing threads: callers beyond the limit wait.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Thread, current, park_timeout};
use std::time::Duration;

use crate::error::Result;

/// How often a waiter checks whether it was cancelled.
const CANCELLATION_POLL: Duration = Duration::from_millis(20);

/// A number of units of which callers acquire permits.
#[derive(Debug)]
pub struct Semaphore {
    state: Mutex<SemaphoreState>,
}

#[derive(Debug)]
struct SemaphoreState {
    limit: u64,
    acquired: u64,
    /// Waiters, first come first served, so that a large request is not starved by small ones.
    queue: VecDeque<(u64, Thread)>,
    next_ticket: u64,
}

impl Semaphore {
    /// Returns a semaphore with `limit` units.
    pub const fn new(limit: u64) -> Self {
        let state = SemaphoreState { limit, acquired: 0, queue: VecDeque::new(), next_ticket: 0 };
        Self { state: Mutex::new(state) }
    }

    /// Changes the number of units. Permits that are held stay valid.
    pub fn set_limit(&self, limit: u64) {
        let mut state = self.state();
        state.limit = limit;
        state.wake_first();
    }

    /// Returns the number of units.
    pub fn limit(&self) -> u64 {
        self.state().limit
    }

    /// Waits for `units` free units and returns a permit that holds them until it is dropped. Earlier
    /// waiters are served first. A request for more than the limit waits until all units are free.
    ///
    /// # Errors
    /// The error of `check_cancelled`, which is called repeatedly while waiting.
    pub fn acquire(&self, units: u64, check_cancelled: impl Fn() -> Result<()>) -> Result<Permit<'_>> {
        let mut state = self.state();
        if !(state.queue.is_empty() && state.has_free(units)) {
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            state.queue.push_back((ticket, current()));
            while !(state.is_first(ticket) && state.has_free(units)) {
                if let Err(cancelled) = check_cancelled() {
                    state.queue.retain(|(waiting, _)| *waiting != ticket);
                    state.wake_first();
                    return Err(cancelled);
                }
                drop(state);
                park_timeout(CANCELLATION_POLL);
                state = self.state();
            }
            state.queue.pop_front();
        }
        state.acquired += units;
        state.wake_first();
        Ok(Permit { semaphore: self, units })
    }

    fn state(&self) -> MutexGuard<'_, SemaphoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SemaphoreState {
    fn has_free(&self, units: u64) -> bool {
        self.acquired == 0 || self.acquired + units <= self.limit
    }

    fn is_first(&self, ticket: u64) -> bool {
        self.queue.front().is_some_and(|(first, _)| *first == ticket)
    }

    /// Wakes the first waiter, which checks again whether enough units are free.
    fn wake_first(&self) {
        if let Some((_, thread)) = self.queue.front() {
            thread.unpark();
        }
    }
}

/// Units acquired from a [`Semaphore`]; released when dropped.
#[derive(Debug)]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    units: u64,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.semaphore.state();
        state.acquired -= self.units;
        state.wake_first();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread::{scope, sleep};

    use super::*;
    use crate::error::Error;

    #[test]
    fn the_limit_holds_except_for_one_larger_request_alone() {
        let (semaphore, held) = (Semaphore::new(10), AtomicU64::new(0));
        scope(|scope| {
            for thread in 0..8_u64 {
                let (semaphore, held) = (&semaphore, &held);
                scope.spawn(move || {
                    for round in 0..200 {
                        let units = 1 + (thread * 7 + round) % 12;
                        let permit = semaphore.acquire(units, || Ok(())).expect("not cancelled");
                        let held_now = held.fetch_add(units, Ordering::SeqCst) + units;
                        assert!(held_now <= 10 || held_now == units, "{held_now}");
                        held.fetch_sub(units, Ordering::SeqCst);
                        drop(permit);
                    }
                });
            }
        });
        assert_eq!(semaphore.state().acquired, 0);
    }

    #[test]
    fn a_large_request_is_not_starved_and_a_cancelled_one_blocks_nobody() {
        let (semaphore, is_cancelled) = (Semaphore::new(4), AtomicU64::new(0));
        let check = || if is_cancelled.load(Ordering::SeqCst) > 0 { Err(Error::Cancelled) } else { Ok(()) };
        let wait_for_queue = |count: usize| {
            while semaphore.state().queue.len() < count {
                sleep(Duration::from_millis(1));
            }
        };
        let held = semaphore.acquire(1, || Ok(())).expect("free");
        scope(|scope| {
            let cancelled = scope.spawn(|| semaphore.acquire(4, check).map(drop));
            wait_for_queue(1);
            let large =
                scope.spawn(|| semaphore.acquire(4, || Ok(())).map(|_permit| semaphore.state().queue.len()));
            wait_for_queue(2);
            let small = scope.spawn(|| semaphore.acquire(1, || Ok(())).map(drop));
            wait_for_queue(3);
            is_cancelled.store(1, Ordering::SeqCst);
            assert!(matches!(cancelled.join().expect("ends"), Err(Error::Cancelled)));
            assert_eq!(semaphore.state().queue.len(), 2);
            drop(held);
            assert_eq!(large.join().expect("ends").expect("not cancelled"), 1);
            small.join().expect("ends").expect("not cancelled");
        });
    }

    #[test]
    fn a_lower_limit_holds_from_the_next_permit_on() {
        let semaphore = Semaphore::new(8);
        let first = semaphore.acquire(6, || Ok(())).expect("free");
        semaphore.set_limit(4);
        assert_eq!(semaphore.limit(), 4);
        assert!(semaphore.acquire(1, || Err(Error::Cancelled)).is_err());
        drop(first);
        drop(semaphore.acquire(4, || Err(Error::Cancelled)).expect("free"));
    }
}
