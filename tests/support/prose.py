"""Reads the prose of the repository and finds sentence patterns that make technical English hard to read."""

from __future__ import annotations

import ast
import io
import re
import shutil
import subprocess
import tokenize
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Pattern:
    """A construction to avoid, one sentence that has it, and the same sentence without it."""

    name: str
    regex: str
    bad: str
    good: str
    flags: re.RegexFlag = re.IGNORECASE

    def hits(self, line: str) -> int:
        """Returns how often the construction occurs in `line`."""
        return len(re.findall(self.regex, line, self.flags))


_PRONOUN = "(?:is|are|was|were|it|they|has|have|had|a|an|the|there|this|that|comes|goes|stands|holds|remains|follows)"
_NOT_A_QUESTION = r"(?![^.!?]*\?)"
PATTERNS = (
    Pattern(
        "relative clause with of",
        r"\bof wh(?:ich|ose|om)\b",
        "A store of which the lock is lost.",
        "A store that lost its lock.",
    ),
    Pattern(
        "clause as subject",
        rf"(?:^|[.:;!?|] )(?:What|Who|Whoever|Whatever|Whether|Of (?:it|them|these|those|all|the))\b{_NOT_A_QUESTION}",
        "What is deleted stays on disk.",
        "Deleted rows stay on disk.",
        re.NOFLAG,
    ),
    Pattern(
        "noun clause with what",
        rf"(?<=[a-z,] )what {_PRONOUN}\b{_NOT_A_QUESTION}",
        "It returns what is stored.",
        "It returns the stored rows.",
    ),
    Pattern(
        "what after a preposition",
        rf"\b(?:and|or|than|of|by|to|with|for|from|in|on) what\b(?! (?:extent|degree)){_NOT_A_QUESTION}",
        "It depends on what callers send.",
        "It depends on the request.",
    ),
    Pattern(
        "for instead of because",
        r", for (?:it|they|the|a|an|there|this|that|these|nobody|nothing|all|no|one|its|their|then|only)\b"
        r"(?! (?:example|instance|each|every))",
        "The row is skipped, for it is deleted.",
        "The row is skipped because it is deleted.",
    ),
    Pattern(
        "none as predicate",
        r"\b(?:is|are|was|were|has|have) none\b",
        "If there is none, the default holds.",
        "The default is used if the header is missing.",
    ),
    Pattern(
        "indefinite pronoun",
        r"\b(?:whoever|whatever|whichever|nobody|nothing of)\b",
        "Nobody waits for it.",
        "No caller waits for it.",
    ),
    Pattern(
        "so many",
        r"\b(?:so many|so much|at most so|as many as there)\b",
        "It starts so many threads.",
        "It starts up to 16 threads.",
    ),
    Pattern(
        "that of",
        r"\b(?:those|that) of (?:a|an|the|all|its|their|our|others?|these|those|this|one|each|every|it|them)\b",
        "Its size is that of the file.",
        "It has the size of the file.",
    ),
    Pattern("in place of", r"\bin place of\b", "5 ms in place of 9.", "9 ms before, 5 ms after."),
    Pattern(
        "impersonal passive",
        r"\b(?:is|are|was|were) (?:said|told|known|meant|begun|reckoned) (?:to|of|by|as|in|so)\b",
        "The lock is said to be lost.",
        "The store reports a lost lock.",
    ),
)

# Data, generated files, and texts of other programs.
_OTHERS = re.compile(
    r"(?:^|/)(?:node_modules|dist|golden|corpus|cases|imports|otlp|agno_databases)/|^LICENSE$|schema\.d\.ts$|\.lock$"
    r"|docs/benchmarks\.md$|tests/support/prose\.py$"
)
_WORDS_OF_A_MESSAGE = 4


@dataclass
class Count:
    """Words of an area, and the lines that hold a pattern, as `path:line: [pattern] text`."""

    words: int = 0
    hits: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Hits per 1,000 words."""
        return 1000 * len(self.hits) / max(self.words, 1)


def area_of(path: str) -> str:
    """Returns the area that a path of the repository is counted in."""
    if path == "CHANGELOG.md" or path.startswith("docs/decisions/"):
        return path.removesuffix(".md")[:14]
    if path.startswith(("python/spanwise/bench/", "ui/src/pricing/")):
        return "later"
    return "docs" if path.endswith(".md") else path.split("/", 1)[0] if "/" in path else "root"


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the lines of prose in a file with their numbers from 1: comments, docstrings, messages, Markdown."""
    if reader := _READERS.get(path.suffix):
        yield from reader(path.read_text("utf-8"))


def count_areas() -> dict[str, Count]:
    """Returns the count of every area, from the files that git tracks."""
    git = shutil.which("git") or "git"
    tracked = subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    areas: dict[str, Count] = {}
    for name in tracked.splitlines():
        if _OTHERS.search(name) or not (ROOT / name).is_file():
            continue
        count = areas.setdefault(area_of(name), Count())
        for number, line in lines_of(ROOT / name):
            count.words += len(re.findall(r"[A-Za-z']{2,}", line))
            for pattern in PATTERNS:
                count.hits += [f"{name}:{number}: [{pattern.name}] {line}"] * pattern.hits(line)
    return areas


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code:
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "x", line.strip())


def _python(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_message(node.value):
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line.strip()


def _slashes(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if comment := re.search(r"(?:^|\s)(?://[/!]?|/\*\*?|\*|<!--)\s+(.*)$", line):
            yield number, comment[1]
        else:
            literals = re.findall(r"""(["'`])((?:(?!\1)[^\\]|\\.)+)\1|>([^<>{}]+)<""", line)
            yield from ((number, quoted or shown) for _, quoted, shown in literals if _is_message(quoted or shown))


def _hashes(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if comment := re.search(r"(?:^|\s)#+\s+(.*)$", line):
            yield number, comment[1]


_READERS = {".md": _markdown} | dict.fromkeys((".py", ".pyi"), _python)
_READERS |= dict.fromkeys((".rs", ".ts", ".svelte", ".js", ".mjs"), _slashes)
_READERS |= dict.fromkeys((".toml", ".yaml", ".yml", ".sh", ""), _hashes)


def _is_message(literal: str) -> bool:
    return len(re.findall(r"[A-Za-z']{2,}", literal)) >= _WORDS_OF_A_MESSAGE and not literal.lstrip().startswith("{")
