//! The commands that the committer executes, one after the other.

use std::sync::Arc;

use crossbeam_channel::{Sender, bounded};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::storage::head::batch::HeadBatch;
use crate::storage::segment::builder::NewSegment;
use crate::storage::snapshot::RowKind;
use crate::storage::state::bulk_load::BulkLoad;
use crate::storage::state::merge_spans::{GroupedRequest, IngestOutcome};

/// Where the result of a command is sent.
pub(crate) type Reply<T> = Sender<Result<T>>;

/// What the committer is to do.
pub(crate) enum Command {
    /// Make these spans and fragments durable.
    Ingest { request: GroupedRequest, reply: Reply<IngestOutcome> },
    /// Seal the whole head.
    Flush(Reply<()>),
    /// Delete the rows of this kind that the filter matches; the reply is how many. Those that only the head has stay: who
    /// wants them deleted flushes first.
    Delete { filter: Filter, kind: RowKind, reply: Reply<u64> },
    /// Merge all segments that can be merged.
    Compact { purge: bool, reply: Reply<()> },
    /// Make a segment of loaded traces live.
    BulkLoad { load: Box<BulkLoad>, reply: Reply<()> },
    /// Rows of the head were indexed.
    HeadIndexed { indexed: Result<Arc<HeadBatch>>, by: HeadIndexer },
    /// The sealing thread has written the segment of the oldest generation.
    Sealed(Result<NewSegment>),
    /// The merging thread has written its segment; `None` if no row was left.
    Merged(Result<Option<NewSegment>>),
    /// Objects of indexes were written, see [`crate::storage::snapshot::published::Published::index_records`].
    Indexed,
    /// End.
    Close,
}

/// Who has indexed rows of the head.
pub(crate) enum HeadIndexer {
    /// The thread that indexes what has settled.
    Thread,
    /// The sealing thread, of what it is about to seal.
    Seal,
    /// A caller, who waits until searches use the indexes.
    Caller(Reply<()>),
}

/// Sends the committer a command and waits for its reply; `None` if the committer has ended.
pub(crate) fn execute<T>(
    commands: &Sender<Command>,
    command: impl FnOnce(Reply<T>) -> Command,
) -> Option<Result<T>> {
    let (reply, replies) = bounded(1);
    // A command that cannot be sent is dropped at once, and with it the other end of the reply's channel.
    drop(commands.send(command(reply)));
    replies.recv().ok()
}

/// Sends each request of a group its outcome. A caller that no longer waits is no error.
pub(crate) fn reply_all(replies: &[Reply<IngestOutcome>], outcomes: Vec<Result<IngestOutcome>>) {
    replies.iter().zip(outcomes).for_each(|(reply, outcome)| {
        let _caller_is_gone = reply.send(outcome);
    });
}

/// Rejects all requests of a group.
pub(crate) fn reject_all(replies: &[Reply<IngestOutcome>], error: &Error) {
    reply_all(replies, replies.iter().map(|_| Err(error.clone())).collect());
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_command_to_a_committer_that_has_ended_returns_at_once() {
        let (commands, ended) = crossbeam_channel::unbounded();
        drop(ended);
        let (done, returned) = bounded(1);
        std::thread::spawn(move || done.send(execute(&commands, Command::Flush).is_none()));
        assert_eq!(returned.recv_timeout(Duration::from_secs(30)), Ok(true));
    }
}
