//! The sealing thread: writes cut generations of the head as segments.
//!
//! The committer commits what is written here ([`crate::storage::state::command::Command::Sealed`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender};

use crate::error::Error;
use crate::storage::head::batch::HeadEntry;
use crate::storage::head::into_segment::write_segment;
use crate::storage::objects::Objects;
use crate::storage::options::Indexing;
use crate::storage::priority;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::state::command::Command;

/// A generation to seal.
pub(crate) struct SealTask {
    /// The rows of its segment.
    pub(crate) entries: Arc<[Arc<HeadEntry>]>,
    /// Whether its documents are stored as they are, to be compressed by a later merge.
    pub(crate) defer_compression: bool,
    /// Whether the indexes of its documents are made before it is part of the store.
    pub(crate) with_indexes: bool,
}

/// Starts the sealing thread. It reports each task to the committer, and ends when the committer drops its end.
pub(crate) fn start(
    (objects, cache, indexing): (Arc<dyn Objects>, IndexCache, Indexing),
    tasks: Receiver<SealTask>,
    reports: Sender<Command>,
) -> std::io::Result<JoinHandle<()>> {
    let run = move || {
        priority::lower();
        for SealTask { entries, defer_compression, with_indexes } in tasks {
            let indexing = Some(&indexing).filter(|_| with_indexes);
            // Without a report the committer would wait for ever.
            let sealed = catch_unwind(AssertUnwindSafe(|| {
                write_segment((objects.as_ref(), &cache, indexing), &entries, defer_compression)
            }));
            let sealed = sealed.unwrap_or_else(|_| Err(Error::storage("segments", "sealing panicked")));
            if reports.send(Command::Sealed(sealed)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("spanwise-seal".into()).spawn(run)
}
