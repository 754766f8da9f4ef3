//! Merges a page of sessions. The traces of a session may be on many leaves.
//!
//! A session of the page is among the first sessions of the leaf with its newest trace, so the first sessions of all
//! leaves determine the page. The response shows sums, minima and maxima over leaves. The number of sessions is exact:
//! it is the number of distinct digests of 128 bits. A single leaf knows its page, and one round is enough.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::digest::read_digests;
use super::finish::print_sessions;
use super::{
    DigestsRequest, SessionPart, SessionPartsRequest, SessionStart, Sessions, SessionsRequest, TraceValue,
};
use crate::error::Result;
use crate::index::columns::split_session_key;
use crate::query::merge::{Merge, Response};
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};
use crate::query::page::{Page, PageRequest};

/// A leaf with up to this many sessions sends their digests with its first sessions.
const MAX_DIGESTS: u64 = 25_000;
/// The approximate number of digests that are counted together.
const DIGESTS_PER_RANGE: u64 = 1 << 20;
/// If a page ends after this many sessions, sessions are counted first.
const MAX_UNCOUNTED: u64 = 1 << 16;

/// Merges a page of sessions.
pub(crate) struct SessionsMerge {
    leaves: usize,
    page: PageRequest,
    round: Round,
    /// The number of sessions of each leaf, by its own count.
    counts: Vec<u64>,
    /// The newest start of each of the first sessions.
    newest: HashMap<Vec<u8>, i64>,
    digests: Vec<u128>,
    has_digests: bool,
    total: u64,
    /// The keys of the sessions of the page, and their parts.
    sessions: Vec<Vec<u8>>,
    parts: Vec<SessionPart>,
}

/// The next requests.
enum Round {
    /// The page of the only leaf.
    Whole,
    Count,
    First,
    /// The digests of one range, and the number of ranges.
    Digests(u32, u32),
    Parts,
    Done,
}

impl SessionsMerge {
    pub(crate) fn new(leaves: usize, page: PageRequest) -> Self {
        let is_far = page.window().end() as u64 > MAX_UNCOUNTED;
        let round = match leaves {
            1 => Round::Whole,
            _ if is_far => Round::Count,
            _ => Round::First,
        };
        Self {
            leaves,
            page,
            round,
            counts: Vec::new(),
            newest: HashMap::new(),
            digests: Vec::new(),
            has_digests: true,
            total: 0,
            sessions: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn to_all(&self, request: &LeafRequest) -> Vec<Option<LeafRequest>> {
        vec![Some(request.clone()); self.leaves]
    }

    fn request_first(&self, limit: u64) -> Vec<Option<LeafRequest>> {
        let request = SessionsRequest { limit, max_digests: MAX_DIGESTS, offset: 0, with_parts: false };
        self.to_all(&LeafRequest::Sessions(request))
    }

    /// Adds the number of distinct digests to the total.
    fn count_digests(&mut self) {
        self.digests.sort_unstable();
        self.digests.dedup();
        self.total += self.digests.len() as u64;
        self.digests = Vec::new();
    }

    /// Returns the round that counts the sessions, once the first ones are known.
    fn counting_round(&mut self) -> Round {
        if self.has_digests {
            self.count_digests();
            return Round::Parts;
        }
        self.digests = Vec::new();
        let most: u64 = self.counts.iter().sum();
        let ranges = u32::try_from(most.div_ceil(DIGESTS_PER_RANGE)).unwrap_or(u32::MAX);
        Round::Digests(0, ranges.max(1))
    }

    /// Determines the sessions of the page.
    fn select_page(&mut self) {
        let window = self.page.window();
        let mut all: Vec<(Vec<u8>, i64)> = std::mem::take(&mut self.newest).into_iter().collect();
        all.sort_by(|(one, newest), (other, other_newest)| {
            let own = (Reverse(*newest), split_session_key(one));
            own.cmp(&(Reverse(*other_newest), split_session_key(other)))
        });
        let page = all.into_iter().skip(window.offset).take(window.limit);
        self.sessions = page.map(|(session, _)| session).collect();
    }

    fn add_first(&mut self, response: Sessions) -> Result<()> {
        let Sessions { count, window, digests, parts } = response;
        if self.leaves == 1 {
            self.total = count;
            self.sessions = window.into_iter().map(|session| session.session).collect();
            self.parts = parts;
            return if self.parts.len() == self.sessions.len() { Ok(()) } else { Err(unexpected()) };
        }
        self.counts.push(count);
        for SessionStart { start, session } in window {
            let newest = self.newest.entry(session).or_insert(start);
            *newest = start.max(*newest);
        }
        match digests {
            Some(digests) => self.digests.extend(read_digests(&digests).ok_or_else(unexpected)?),
            None => self.has_digests = false,
        }
        Ok(())
    }
}

impl Merge for SessionsMerge {
    fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        let window = self.page.window();
        loop {
            match self.round {
                Round::Whole => {
                    self.round = Round::Done;
                    let (offset, limit) = (window.offset as u64, window.limit as u64);
                    let request = SessionsRequest { limit, max_digests: 0, offset, with_parts: true };
                    return Ok(Some(vec![Some(LeafRequest::Sessions(request))]));
                }
                Round::Count if self.counts.is_empty() => return Ok(Some(self.request_first(0))),
                Round::Count => {
                    let may_exist = window.offset as u64 <= self.counts.iter().sum();
                    if may_exist {
                        (self.counts, self.digests, self.has_digests) = (Vec::new(), Vec::new(), true);
                    }
                    self.round = if may_exist { Round::First } else { self.counting_round() };
                }
                Round::First if self.counts.is_empty() => {
                    return Ok(Some(self.request_first(window.end() as u64)));
                }
                Round::First => self.round = self.counting_round(),
                Round::Digests(range, ranges) => {
                    self.count_digests();
                    if range < ranges {
                        self.round = Round::Digests(range + 1, ranges);
                        let request = DigestsRequest { range, ranges };
                        return Ok(Some(self.to_all(&LeafRequest::SessionDigests(request))));
                    }
                    self.round = Round::Parts;
                }
                Round::Parts => {
                    self.round = Round::Done;
                    self.select_page();
                    if !self.sessions.is_empty() {
                        let sessions = self.sessions.clone();
                        let request = LeafRequest::SessionParts(SessionPartsRequest { sessions });
                        return Ok(Some(self.to_all(&request)));
                    }
                }
                Round::Done => return Ok(None),
            }
        }
    }

    fn add(&mut self, _leaf: usize, response: LeafResponse) -> Result<()> {
        match response {
            LeafResponse::Sessions(response) => self.add_first(response),
            LeafResponse::SessionDigests(digests) => {
                self.digests.extend(read_digests(&digests).ok_or_else(unexpected)?);
                Ok(())
            }
            LeafResponse::SessionParts(response) if response.parts.len() == self.sessions.len() => {
                if self.parts.is_empty() {
                    self.parts = response.parts;
                } else {
                    self.parts.iter_mut().zip(response.parts).for_each(|(sum, part)| merge(sum, part));
                }
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn finish(&mut self) -> Result<Response> {
        let sessions = self.sessions.iter().map(Vec::as_slice).zip(&self.parts);
        let data = print_sessions(sessions)?;
        Ok(Response::Page(Page { data, total_count: self.total, is_exact: true, damage: Vec::new() }))
    }
}

/// Adds the part of another leaf to a session.
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
    sum.agents = agents.into_iter().map(|(value, key)| TraceValue { key, value }).collect();
    sum.agents.sort_by(|one, other| other.key.cmp(&one.key));
}
