"""Checks the subject of a commit message: `commit_subject.py FILE`, as git's commit-msg hook calls it."""

import re
import sys
from pathlib import Path

MAX_CHARACTERS = 70
FORM = re.compile(r"(?P<area>[a-z][a-z0-9/_.-]*): (?P<verb>\S+) \S")
WRITTEN_BY_GIT = ("Merge ", 'Revert "', "fixup! ", "squash! ", "amend! ")
NOT_VERBS = {
    "a",
    "an",
    "the",
    "all",
    "each",
    "every",
    "more",
    "no",
    "one",
    "some",
    "this",
    "what",
    "when",
    "where",
    "who",
}
VERB_FORMS = re.compile(r".*(?:ed|ing|[^s]s)")
IMPERATIVES = {
    "bring",
    "embed",
    "exceed",
    "feed",
    "focus",
    "need",
    "ping",
    "proceed",
    "seed",
    "speed",
    "string",
    "succeed",
}


def problem_of(subject: str) -> str | None:
    """Returns the fault of a subject and its remedy; `None` for a valid subject."""
    if subject.startswith(WRITTEN_BY_GIT):
        return None
    form = FORM.match(subject)
    if form is None:
        return "write `area: verb object`, such as `filter: read the whole batch`"
    if len(subject) > MAX_CHARACTERS:
        return f"{len(subject)} characters; shorten it to {MAX_CHARACTERS} and give the reason in the body"
    if subject.endswith("."):
        return "remove the period at the end"
    verb = form["verb"].lower()
    if verb in NOT_VERBS or (VERB_FORMS.fullmatch(verb) and verb not in IMPERATIVES):
        return (
            f"begin with a verb in the imperative after the area, such as `add` or `fix`, instead of `{form['verb']}`"
        )
    return None


if __name__ == "__main__":
    first = Path(sys.argv[1]).read_text("utf-8").partition("\n")[0]
    problem = problem_of(first)
    if problem is not None:
        sys.exit(f"commit subject `{first}`: {problem}")
