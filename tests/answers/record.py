"""Records the answers of this engine to seeded HTTP requests, and compares two recordings byte for byte.

Use it before and after a change of the engine that must not change any answer:

    python tests/answers/record.py store FOLDER                 # once: builds a store; keep it for both recordings
    python tests/answers/record.py answers FOLDER old.jsonl     # with the old engine
    python tests/answers/record.py answers FOLDER new.jsonl     # with the new engine
    python tests/answers/record.py compare old.jsonl new.jsonl  # exit status 1 on a difference

The engine comes from the package `spanwise` on `PYTHONPATH`. `answers` copies the store before each use. It calls the
application in its own process, as an administrator and as users who see only their own traces. Durations of searches
are masked, nothing else. Use the release engine: the debug engine is ten times slower. `store --shards 3` builds a
store of three shards.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

# The modules beside this file and the support of tests are packages of the folder of tests.
sys.path.insert(0, str(Path(__file__).parents[1]))

from answers.fixture import build
from answers.recording import compare, differences, read, record, summary

if TYPE_CHECKING:
    from collections.abc import Iterable

TRACES = 5_000
REQUESTS = 5_000
SEED = 7


def main() -> int:
    """Runs the command line, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    store = commands.add_parser("store", help="build the store of the recordings in a new folder")
    store.add_argument("folder", type=Path)
    store.add_argument("--traces", type=int, default=TRACES)
    store.add_argument("--shards", type=int, default=1)
    answers = commands.add_parser("answers", help="record the answers to seeded requests, one line of JSON each")
    answers.add_argument("store", type=Path)
    answers.add_argument("recording", type=Path)
    answers.add_argument("--requests", type=int, default=REQUESTS)
    for command in (store, answers):
        command.add_argument("--seed", type=int, default=SEED)
    comparison = commands.add_parser("compare", help="compare two recordings; exit status 1 on a difference")
    comparison.add_argument("one", type=Path)
    comparison.add_argument("other", type=Path)
    given = parser.parse_args()
    # Every damaged trace is an error in the log. Both recordings have them.
    logging.disable(logging.CRITICAL)
    if given.command == "store":
        found = asyncio.run(build(given.folder, given.traces, given.seed, given.shards))
        damaged = sum(trace.is_damaged for trace in found.traces)
        _print([f"{len(found.traces)} traces, {damaged} of them damaged; {found.missing_indexes} missing indexes"])
        return 0
    if given.command == "answers":
        is_settled = asyncio.run(record(given.store, given.recording, given.requests, given.seed))
        if not is_settled:
            _print(["the segments do not have the indexes that they had; answers may depend on the time"])
        _print(summary(read(given.recording)))
        return 0
    result = compare(read(given.one), read(given.other))
    _print(differences(result))
    return 0 if result.is_equal else 1


def _print(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
