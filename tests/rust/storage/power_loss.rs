//! Power loss: everything acknowledged survives, and nothing deleted comes back, for any subset of the
//! unsynced data.
//!
//! Killing a process keeps the page cache, so it does not test syncs. Here only synced data is guaranteed to
//! survive ([`UnreliableObjects`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use spanwise::bulk::{ImportOptions, import};
use spanwise::error::{Error, Result};
use spanwise::storage::objects::Objects as _;
use spanwise::storage::{Options, Snapshot, TraceStore};

use crate::bulk::batch;
use crate::support::contents::{Contents, contents, fragments, id_of, traces_in};
use crate::support::logs::{fragment, log, logs};
use crate::support::memory::Memory;
use crate::support::power_loss::{Accident, UnreliableObjects};
use crate::support::random::Random;
use crate::support::spans::{request, span};

/// The number of seeds in a test run; `POWER_LOSS_SEEDS` sets another number.
const SEEDS: u64 = 150;

/// The number of power losses in one run.
const LOSSES: u64 = 3;

/// The expected content of the store.
#[derive(Debug, Default)]
struct Expected {
    /// Spans that were acknowledged and not deleted since.
    spans: BTreeSet<(u64, u64)>,
    /// Acknowledged log records of traces that are not deleted.
    records: BTreeSet<(u64, u64)>,
    /// Traces whose deletion was acknowledged and that were not sent since.
    deleted: BTreeSet<u64>,
    /// Traces of requests that failed since the last accident. They may be stored when the store is reopened.
    uncertain: BTreeSet<u64>,
    /// Spans that were in the store before the run.
    before: Contents,
    next_id: u64,
}

impl Expected {
    /// Performs a step on the store. Returns an error if the store must be reopened.
    fn step(&mut self, store: &TraceStore, random: &mut Random) -> Result<()> {
        match random.below(16) {
            0..8 => self.send(store, random, |store, spans| store.ingest(request(spans)).map(drop)),
            8..10 => self.send(store, random, |store, spans| {
                let batches = std::iter::once(Ok(batch(spans, 1_000_000)));
                import(store, batches, &ImportOptions::of("")).map(drop)
            }),
            10..12 => store.flush(),
            12 => self.send_logs(store, random),
            13 => self.delete(store, 1 + random.below(8)),
            14 => store.compact(false),
            _ => store.compact(true),
        }
    }

    fn send(
        &mut self,
        store: &TraceStore,
        random: &mut Random,
        ingest: impl FnOnce(&TraceStore, &[spanwise::otlp::proto::Span]) -> Result<()>,
    ) -> Result<()> {
        let mut sent = Vec::new();
        for _ in 0..=random.below(3) {
            self.next_id += 1;
            sent.push((1 + random.below(8), self.next_id));
        }
        // The request may take effect even if it fails.
        self.deleted.retain(|deleted| sent.iter().all(|(trace, _)| trace != deleted));
        let spans: Vec<_> = sent.iter().map(|(trace, id)| span(*trace, *id, 0)).collect();
        ingest(store, &spans).inspect_err(|_| self.uncertain.extend(sent.iter().map(|(trace, _)| *trace)))?;
        self.spans.extend(sent);
        Ok(())
    }

    /// Sends a log record of a trace that no deletion matches.
    fn send_logs(&mut self, store: &TraceStore, random: &mut Random) -> Result<()> {
        self.next_id += 1;
        let record = (100 + random.below(4), self.next_id);
        store.ingest_logs(logs(&[log(record.0, 1, record.1)]))?;
        self.records.insert(record);
        Ok(())
    }

    fn delete(&mut self, store: &TraceStore, trace: u64) -> Result<()> {
        // The deletion may take effect even if it fails.
        self.spans.retain(|(deleted, _)| *deleted != trace);
        store.delete(&traces_in(&[trace]), false)?;
        if !self.uncertain.contains(&trace) {
            self.deleted.insert(trace);
        }
        Ok(())
    }

    fn verify(&self, snapshot: &Snapshot, what: &str) {
        let (held, held_fragments) = (contents(snapshot), fragments(snapshot));
        for (trace, number) in &self.records {
            let sent = fragment(&log(*trace, 1, *number));
            let is_there = held_fragments.get(&sent.trace_id).is_some_and(|(_, held)| held.contains(&sent));
            assert!(is_there, "{what}: log record {number} of trace {trace} is lost");
        }
        for (trace, id) in &self.spans {
            let sent = request(&[span(*trace, *id, 0)]).spans.remove(0);
            let is_there = held.get(&sent.trace_id).is_some_and(|(_, spans)| spans.contains(&sent.wire));
            assert!(is_there, "{what}: span {id} of trace {trace} is lost");
        }
        for trace in &self.deleted {
            assert!(!held.contains_key(&id_of(*trace)), "{what}: trace {trace} is back");
        }
        for (trace_id, (_, spans)) in &self.before {
            let (_, found) = held.get(trace_id).unwrap_or_else(|| panic!("{what}: {trace_id} is lost"));
            assert!(spans.iter().all(|span| found.contains(span)), "{what}: spans of {trace_id} are lost");
        }
    }
}

/// Returns the objects of a store of the first format, without the traces that the run may change.
fn old_store() -> (BTreeMap<String, Bytes>, Contents) {
    let memory = Memory::of_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/store-1"));
    let objects = memory.paths("", "").into_iter().map(|path| (path.clone(), memory.content(&path).into()));
    let objects = objects.collect();
    let store = TraceStore::open_in(Arc::new(memory.deep_clone()), Options::default()).expect("a store");
    let mut held = contents(&store.snapshot());
    (1..=8).for_each(|trace| drop(held.remove(&id_of(trace))));
    (objects, held)
}

/// Uses a store on a machine with accidents, and asserts after each one that no data is lost.
fn run(seed: u64) {
    let mut random = Random::new(seed);
    let (mut objects, mut expected) = (BTreeMap::new(), Expected { next_id: 1_000, ..Expected::default() });
    if seed.is_multiple_of(3) {
        (objects, expected.before) = old_store();
    }
    let options = Options { seal_objects: 1 + random.below(6), max_segments: 3, ..Options::default() };
    for loss in 0..LOSSES {
        let what = format!("seed {seed}, accident {loss}");
        let accident = if random.below(4) == 0 { Accident::FailedSync } else { Accident::PowerLoss };
        let machine = UnreliableObjects::new(objects, random.next(), accident, 1 + random.below(400));
        let machine = if seed.is_multiple_of(2) { machine.keeping_indexes() } else { machine };
        if let Ok(store) = TraceStore::open_in(Arc::new(machine.clone()), options.clone()) {
            for _ in 0..40 {
                let had_failed_sync = accident == Accident::FailedSync && machine.had_accident();
                let before = expected.spans.len() + expected.records.len();
                let outcome = expected.step(&store, &mut random);
                assert!(!matches!(outcome, Err(Error::Damage { .. })), "{what}: {outcome:?}");
                let is_acknowledged = expected.spans.len() + expected.records.len() > before;
                assert!(
                    !(had_failed_sync && is_acknowledged),
                    "{what}: acknowledged after a sync had failed"
                );
                if machine.had_accident() && random.below(3) == 0 {
                    break;
                }
            }
            if random.below(2) == 0 {
                store.close().expect("closed");
            }
        }
        objects = machine.after_power_loss();
        let found = UnreliableObjects::new(objects.clone(), seed, Accident::PowerLoss, u64::MAX);
        let store = TraceStore::open_in(Arc::new(found), options.clone());
        expected.uncertain.clear();
        expected.verify(&store.unwrap_or_else(|error| panic!("{what}: {error}")).snapshot(), &what);
    }
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_damaged() {
    let seeds = std::env::var("POWER_LOSS_SEEDS").map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    let threads = 4_u8;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || (u64::from(thread)..seeds).step_by(usize::from(threads)).for_each(run));
        }
    });
}

#[test]
fn the_machine_keeps_what_was_synced_and_may_keep_the_rest() {
    let (mut kept, mut back) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..64 {
        let machine = UnreliableObjects::new(BTreeMap::new(), seed, Accident::PowerLoss, u64::MAX);
        machine.put_new("wal/1", "synced".into()).expect("created");
        let mut unfinished = machine.create("segments/1").expect("created");
        unfinished.write(b"unsynced").expect("written");
        machine.put_new("wal/2", "removed".into()).expect("created");
        machine.delete("wal/2").expect("removed");
        let survived = machine.after_power_loss();
        assert_eq!(survived["wal/1"], "synced");
        kept.insert(survived.get("segments/1").cloned());
        back.insert(survived.contains_key("wal/2"));
        assert!(machine.put_new("wal/3", "late".into()).is_err());
    }
    assert!(kept.len() > 4 && back.len() == 2, "{kept:?}");
}
