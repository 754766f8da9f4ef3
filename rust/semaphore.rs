//! A counting semaphore whose callers take turns.
//!
//! It limits the use of expensive resources, such as memory or threads. Callers beyond the limit wait.
//!
//! Start-time fair queueing gives the next permit to the caller with the least use. A permit starts at the
//! virtual time of the permit before it, or at the end of its caller's last permit if that is later. An idle
//! caller therefore saves up no time. A caller with many requests delays another caller only by the permits that
//! it already holds.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Thread, current, park_timeout};
use std::time::{Duration, Instant};

use crate::caller::Caller;
use crate::error::Result;

/// The interval at which a waiter checks for cancellation.
const CANCELLATION_POLL: Duration = Duration::from_millis(20);
/// The number of callers whose use is remembered. Beyond that, the caller with the least use is forgotten.
const MAX_REMEMBERED: usize = 256;

/// A number of units that callers acquire as permits.
#[derive(Debug)]
pub struct Semaphore {
    state: Mutex<SemaphoreState>,
}

#[derive(Debug)]
struct SemaphoreState {
    limit: u64,
    acquired: u64,
    waiters: Vec<Waiter>,
    next_ticket: u64,
    /// The virtual time, in microseconds times units.
    now: u64,
    /// The virtual time at which the use of each caller ends.
    ends: BTreeMap<Caller, u64>,
}

#[derive(Debug)]
struct Waiter {
    caller: Caller,
    ticket: u64,
    thread: Thread,
}

impl Semaphore {
    /// Returns a semaphore with `limit` units.
    pub const fn new(limit: u64) -> Self {
        let state = SemaphoreState {
            limit,
            acquired: 0,
            waiters: Vec::new(),
            next_ticket: 0,
            now: 0,
            ends: BTreeMap::new(),
        };
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

    /// Waits for `units` free units and returns a permit that holds them until it is dropped.
    ///
    /// The caller with the least use is served first. Requests of one caller are served in order, so that
    /// small requests do not starve a large one. A request for more than the limit waits until all units are
    /// free.
    ///
    /// # Errors
    /// The error of `check_cancelled`, which is called repeatedly during the wait.
    pub fn acquire(&self, units: u64, check_cancelled: impl Fn() -> Result<()>) -> Result<Permit<'_>> {
        let mut state = self.state();
        let caller = Caller::current();
        if !(state.waiters.is_empty() && state.has_free(units)) {
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            state.waiters.push(Waiter { caller, ticket, thread: current() });
            while !(state.is_first(ticket) && state.has_free(units)) {
                if let Err(cancelled) = check_cancelled() {
                    state.leave(ticket);
                    state.wake_first();
                    return Err(cancelled);
                }
                drop(state);
                park_timeout(CANCELLATION_POLL);
                state = self.state();
            }
            state.leave(ticket);
        }
        state.acquired += units;
        state.now = state.start_of(caller);
        state.wake_first();
        Ok(Permit { semaphore: self, units, caller, start: state.now, since: Instant::now() })
    }

    /// Returns true if a request waits. Work that can pause then releases its permit and acquires a new one.
    pub fn is_wanted(&self) -> bool {
        !self.state().waiters.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, SemaphoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SemaphoreState {
    fn has_free(&self, units: u64) -> bool {
        self.acquired == 0 || self.acquired + units <= self.limit
    }

    /// Returns the virtual time at which the next use of a caller starts.
    fn start_of(&self, caller: Caller) -> u64 {
        self.ends.get(&caller).map_or(self.now, |end| self.now.max(*end))
    }

    fn first(&self) -> Option<&Waiter> {
        self.waiters.iter().min_by_key(|waiter| (self.start_of(waiter.caller), waiter.ticket))
    }

    fn is_first(&self, ticket: u64) -> bool {
        self.first().is_some_and(|first| first.ticket == ticket)
    }

    fn leave(&mut self, ticket: u64) {
        self.waiters.retain(|waiter| waiter.ticket != ticket);
    }

    /// Charges a permit that was released to its caller.
    fn charge(&mut self, permit: &Permit<'_>) {
        let micros = u64::try_from(permit.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let used = micros.max(1).saturating_mul(permit.units.max(1));
        let end = self.ends.entry(permit.caller).or_default();
        *end = (*end).max(permit.start).saturating_add(used);
        if self.acquired == 0 && self.waiters.is_empty() {
            self.now = self.ends.values().copied().fold(self.now, u64::max);
            self.ends.clear();
        } else if self.ends.len() > MAX_REMEMBERED {
            let least = self.ends.iter().min_by_key(|(_, end)| **end).map(|(caller, _)| *caller);
            self.ends.retain(|caller, _| Some(*caller) != least);
        }
    }

    /// Wakes the first waiter, which checks again whether enough units are free.
    fn wake_first(&self) {
        if let Some(first) = self.first() {
            first.thread.unpark();
        }
    }
}

/// Units acquired from a [`Semaphore`]; released when dropped.
#[derive(Debug)]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    units: u64,
    caller: Caller,
    /// The virtual time at which this use starts.
    start: u64,
    since: Instant,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.semaphore.state();
        state.acquired -= self.units;
        state.charge(self);
        state.wake_first();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread::{scope, sleep, yield_now};

    use super::*;
    use crate::caller;
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
            while semaphore.state().waiters.len() < count {
                sleep(Duration::from_millis(1));
            }
        };
        let held = semaphore.acquire(1, || Ok(())).expect("free");
        scope(|scope| {
            let cancelled = scope.spawn(|| semaphore.acquire(4, check).map(drop));
            wait_for_queue(1);
            let large = scope
                .spawn(|| semaphore.acquire(4, || Ok(())).map(|_permit| semaphore.state().waiters.len()));
            wait_for_queue(2);
            let small = scope.spawn(|| semaphore.acquire(1, || Ok(())).map(drop));
            wait_for_queue(3);
            is_cancelled.store(1, Ordering::SeqCst);
            assert!(matches!(cancelled.join().expect("ends"), Err(Error::Cancelled)));
            assert_eq!(semaphore.state().waiters.len(), 2);
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

    #[test]
    fn callers_take_turns_and_each_of_them_is_served_in_order() {
        let (semaphore, served) = (Semaphore::new(1), Mutex::new(Vec::new()));
        let serve = |name: &'static str| {
            caller::serve(name);
            let permit = semaphore.acquire(1, || Ok(())).expect("not cancelled");
            served.lock().expect("no panic").push(name);
            drop(permit);
        };
        caller::serve("greedy");
        let held = semaphore.acquire(1, || Ok(())).expect("free");
        assert!(!semaphore.is_wanted());
        scope(|scope| {
            for (waiting, name) in ["greedy", "greedy", "greedy", "modest"].into_iter().enumerate() {
                scope.spawn(move || serve(name));
                while semaphore.state().waiters.len() <= waiting {
                    yield_now();
                }
            }
            assert!(semaphore.is_wanted());
            drop(held);
        });
        assert_eq!(served.into_inner().expect("no panic"), ["modest", "greedy", "greedy", "greedy"]);
    }

    #[test]
    fn few_callers_are_remembered_and_none_of_an_idle_semaphore() {
        let semaphore = Semaphore::new(2);
        let held = semaphore.acquire(1, || Ok(())).expect("free");
        for number in 0..10 * MAX_REMEMBERED {
            caller::serve(&number.to_string());
            drop(semaphore.acquire(1, || Ok(())).expect("free"));
        }
        assert_eq!(semaphore.state().ends.len(), MAX_REMEMBERED);
        drop(held);
        assert!(semaphore.state().ends.is_empty());
    }
}
