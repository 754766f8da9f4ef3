//! The commands of the committer, which executes them one by one.

use std::sync::Arc;

use crossbeam_channel::{Sender, bounded};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::storage::head::batch::HeadBatch;
use crate::storage::segment::builder::NewSegment;
use crate::storage::snapshot::RowKind;
use crate::storage::state::bulk_load::BulkLoad;
use crate::storage::state::merge_spans::{GroupedRequest, IngestOutcome};

/// The channel for the result of a command.
pub(crate) type Reply<T> = Sender<Result<T>>;

pub(crate) enum Command {
    /// Make these spans and fragments durable.
    Ingest { request: GroupedRequest, reply: Reply<IngestOutcome> },
    /// Flush the whole head.
    Flush(Reply<()>),
    /// Delete the rows of `kind` that the filter matches, and reply with their number. Rows that are only in
    /// the head stay. To delete them, flush first.
    Delete { filter: Filter, kind: RowKind, reply: Reply<u64> },
    /// Merge all segments that can be merged.
    Compact { purge: bool, reply: Reply<()> },
    /// Make a segment of loaded traces live.
    BulkLoad { load: Box<BulkLoad>, reply: Reply<()> },
    /// Rows of the head were indexed.
    HeadIndexed { indexed: Result<Arc<HeadBatch>>, by: HeadIndexer },
    /// The flush thread has written the segment of the oldest generation.
    Flushed(Result<NewSegment>),
    /// The merge thread has written its segment; `None` if all rows were dropped.
    Merged(Result<Option<NewSegment>>),
    /// Index objects were written, see [`crate::storage::snapshot::published::Published::index_records`].
    Indexed,
    /// End the committer.
    Close,
}

/// The origin of an indexed head batch.
pub(crate) enum HeadIndexer {
    /// The head indexing thread.
    Thread,
    /// The flush thread, before it writes the segment.
    Flush,
    /// A caller that waits until searches use the indexes.
    Caller(Reply<()>),
}

/// Sends the committer a command and waits for its reply; `None` if the committer has ended.
pub(crate) fn execute<T>(
    commands: &Sender<Command>,
    command: impl FnOnce(Reply<T>) -> Command,
) -> Option<Result<T>> {
    let (reply, replies) = bounded(1);
    // An unsent command is dropped at once, and so is the sender of its reply channel.
    drop(commands.send(command(reply)));
    replies.recv().ok()
}

/// Sends each request of a group its outcome. Callers that no longer wait are ignored.
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
