//! Gathers a page of sessions. The traces of a session lie on many shards.
//!
//! Whoever is on the page is among the first sessions of the shard that has its newest trace, so the first ones of all shards
//! say which are on the page. What is shown of them are sums, least and greatest values over shards. How many sessions there
//! are is counted exactly, by digests of 128 bits of them.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::digest::read_digests;
use super::wire::{
    Answered, Asked, AskedDigests, AskedSessionParts, AskedSessions, SessionPart, Sessions, ValueOfTrace,
    unexpected,
};
use super::{Found, Gather};
use crate::error::Result;
use crate::index::columns::split_session_key;
use crate::search::page::{Page, PageRequest};
use crate::search::sessions::print_sessions;

/// Up to so many sessions of a shard send their digests along with the first of them.
const MAX_DIGESTS: u64 = 25_000;
/// About as many digests are counted at once.
const DIGESTS_AT_ONCE: u64 = 1 << 20;
/// A page that ends behind so many sessions is looked for only if there are so many.
const MAX_UNCOUNTED: u64 = 1 << 16;

/// A search for a page of sessions.
pub(super) struct SessionGather {
    shards: usize,
    request: PageRequest,
    step: Step,
    /// The number of sessions of each shard, as each counts them.
    counts: Vec<u64>,
    /// The newest start of the first sessions.
    newest: HashMap<Vec<u8>, i64>,
    digests: Vec<u128>,
    has_digests: bool,
    total: u64,
    page: Vec<Vec<u8>>,
    parts: Vec<SessionPart>,
}

/// What is asked next.
enum Step {
    Count,
    First,
    /// The digests of a range, of so many.
    Digests(u32, u32),
    Parts,
    Done,
}

impl SessionGather {
    pub(super) fn new(shards: usize, request: PageRequest) -> Self {
        let is_far = request.window().end() as u64 > MAX_UNCOUNTED;
        Self {
            shards,
            request,
            step: if is_far { Step::Count } else { Step::First },
            counts: Vec::new(),
            newest: HashMap::new(),
            digests: Vec::new(),
            has_digests: true,
            total: 0,
            page: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn everyone(&self, asked: &Asked) -> Vec<Option<Asked>> {
        vec![Some(asked.clone()); self.shards]
    }

    fn ask_first(&self, limit: u64) -> Vec<Option<Asked>> {
        let max_digests = if self.shards > 1 { MAX_DIGESTS } else { 0 };
        self.everyone(&Asked::Sessions(AskedSessions { limit, max_digests }))
    }

    /// Counts the digests that are there.
    fn count_digests(&mut self) {
        self.digests.sort_unstable();
        self.digests.dedup();
        self.total += self.digests.len() as u64;
        self.digests = Vec::new();
    }

    /// Says how the sessions are counted, once the first ones are known.
    fn begin_to_count(&mut self) -> Step {
        let most: u64 = self.counts.iter().sum();
        if self.shards == 1 {
            self.total = most;
        } else if self.has_digests {
            self.count_digests();
        } else {
            self.digests = Vec::new();
            let ranges = u32::try_from(most.div_ceil(DIGESTS_AT_ONCE)).unwrap_or(u32::MAX);
            return Step::Digests(0, ranges.max(1));
        }
        Step::Parts
    }

    /// Says which sessions are on the page.
    fn cut(&mut self) {
        let window = self.request.window();
        let mut all: Vec<(Vec<u8>, i64)> = std::mem::take(&mut self.newest).into_iter().collect();
        all.sort_by(|(one, newest), (other, other_newest)| {
            let own = (Reverse(*newest), split_session_key(one));
            own.cmp(&(Reverse(*other_newest), split_session_key(other)))
        });
        let page = all.into_iter().skip(window.offset).take(window.limit);
        self.page = page.map(|(session, _)| session).collect();
    }

    fn take_first(&mut self, answer: Sessions) -> Result<()> {
        let Sessions { count, first, digests } = answer;
        self.counts.push(count);
        for session in first {
            let newest = self.newest.entry(session.session).or_insert(session.start);
            *newest = session.start.max(*newest);
        }
        match digests {
            Some(digests) => self.digests.extend(read_digests(&digests).ok_or_else(unexpected)?),
            None => self.has_digests = false,
        }
        Ok(())
    }
}

impl Gather for SessionGather {
    fn next_round(&mut self) -> Result<Option<Vec<Option<Asked>>>> {
        let end = self.request.window().end() as u64;
        loop {
            match self.step {
                Step::Count if self.counts.is_empty() => return Ok(Some(self.ask_first(0))),
                Step::Count => {
                    let is_there = self.request.window().offset as u64 <= self.counts.iter().sum();
                    if is_there {
                        (self.counts, self.digests, self.has_digests) = (Vec::new(), Vec::new(), true);
                    }
                    self.step = if is_there { Step::First } else { self.begin_to_count() };
                }
                Step::First if self.counts.is_empty() => return Ok(Some(self.ask_first(end))),
                Step::First => self.step = self.begin_to_count(),
                Step::Digests(range, ranges) => {
                    self.count_digests();
                    if range < ranges {
                        self.step = Step::Digests(range + 1, ranges);
                        return Ok(Some(
                            self.everyone(&Asked::SessionDigests(AskedDigests { range, ranges })),
                        ));
                    }
                    self.step = Step::Parts;
                }
                Step::Parts => {
                    self.step = Step::Done;
                    self.cut();
                    if !self.page.is_empty() {
                        let sessions = self.page.clone();
                        return Ok(Some(self.everyone(&Asked::SessionParts(AskedSessionParts { sessions }))));
                    }
                }
                Step::Done => return Ok(None),
            }
        }
    }

    fn take(&mut self, _shard: usize, answered: Answered) -> Result<()> {
        match answered {
            Answered::Sessions(answer) => self.take_first(answer),
            Answered::SessionDigests(digests) => {
                self.digests.extend(read_digests(&digests).ok_or_else(unexpected)?);
                Ok(())
            }
            Answered::SessionParts(answer) if answer.parts.len() == self.page.len() => {
                if self.parts.is_empty() {
                    self.parts = answer.parts;
                } else {
                    self.parts.iter_mut().zip(answer.parts).for_each(|(sum, part)| merge(sum, part));
                }
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn found(&mut self) -> Result<Found> {
        let sessions = self.page.iter().map(Vec::as_slice).zip(&self.parts);
        let data = print_sessions(sessions)?;
        Ok(Found::Page(Page { data, total_count: self.total, is_exact: true, damage: Vec::new() }))
    }
}

/// Adds what another shard has of a session.
fn merge(sum: &mut SessionPart, part: SessionPart) {
    sum.count += part.count;
    sum.oldest = sum.oldest.min(part.oldest);
    sum.newest = sum.newest.max(part.newest);
    for (own, other) in [(&mut sum.team, part.team), (&mut sum.workflow, part.workflow)] {
        // The key of a newer trace is less.
        *own = own.take().into_iter().chain(other).min_by(|one, other| one.key.cmp(&other.key));
    }
    let mut agents: HashMap<String, Vec<u8>> = HashMap::new();
    for agent in sum.agents.drain(..).chain(part.agents) {
        let oldest = agents.entry(agent.value).or_default();
        *oldest = std::mem::take(oldest).max(agent.key);
    }
    sum.agents = agents.into_iter().map(|(value, key)| ValueOfTrace { key, value }).collect();
    sum.agents.sort_by(|one, other| other.key.cmp(&one.key));
}
