"""Prints the section of a version in CHANGELOG.md: `release_notes.py 0.1.0`."""

import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def section_of(changelog: str, version: str) -> str:
    """Returns the text below the heading `## <version>`, which may also have a date.

    Args:
        changelog: a text in the format of Keep a Changelog.
        version: the version, without `v` and brackets.

    Raises:
        LookupError: the heading does not exist, or its section is empty.
    """
    for section in f"\n{changelog}".split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        words = heading.replace("[", " ").replace("]", " ").split()
        if words[:1] == [version]:
            if not text.strip():
                raise LookupError(f"the section of {version} is empty")
            return text.strip() + "\n"
    raise LookupError(f"expected a heading `## {version}` in the changelog, found none")


if __name__ == "__main__":
    sys.stdout.write(section_of(CHANGELOG.read_text("utf-8"), sys.argv[1]))
