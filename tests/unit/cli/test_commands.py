"""Help, arguments and progress of the command line, in this process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from spanwise.cli import PANELS, commands
from spanwise.cli.shared import progress as shown
from spanwise.cli.shared.arguments import folder_and_filter
from spanwise.cli.shared.flags import FIRST, MOST_USED
from spanwise.settings import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

FILTER = '{"op": "EQ"}'


def help_of(*arguments: str) -> str:
    done = CliRunner().invoke(commands, arguments, prog_name="spanwise")
    assert done.exit_code == 0, done.output
    return done.output


def flags_in(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines() if line.startswith("  --")]


def test_every_command_is_in_one_group() -> None:
    context = click.Context(commands)
    grouped = [name for panel in PANELS for name in panel.commands]
    assert sorted(grouped) == commands.list_commands(context)
    for name in grouped:
        assert f"  {name}" in help_of("--help")


def test_the_first_page_of_help_has_ten_flags() -> None:
    page = flags_in(help_of("serve", "--help"))
    first = [TABLE[name].flag for name in FIRST]
    assert page == [*first, "--config", "--help-all", "--help"]
    assert len([*first, "--config", "--help-all"]) == 10


def test_all_flags_are_on_the_other_page_each_in_one_group() -> None:
    text = help_of("serve", "--help-all")
    expected = {setting.flag for setting in TABLE.values() if setting.flag} | {"--config", "--help-all", "--help"}
    found = flags_in(text)
    assert set(found) == expected
    assert len(found) == len(expected)
    titles = [line.removesuffix(":") for line in text.splitlines() if line.endswith(":") and line[0] not in " -"]
    groups = dict.fromkeys(setting.group for setting in TABLE.values() if setting.name not in FIRST)
    assert titles == [MOST_USED, *groups, "Options"]


def test_no_line_of_help_is_too_long_for_a_terminal() -> None:
    pages = [["--help"], ["serve", "--help-all"], *([name, "--help"] for panel in PANELS for name in panel.commands)]
    for arguments in pages:
        assert max(map(len, help_of(*arguments).splitlines())) <= 100


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((), (None, "{}")),
        (("folder",), ("folder", "{}")),
        ((FILTER,), (None, FILTER)),
        (("folder", FILTER), ("folder", FILTER)),
        (("s3://bucket/a", "{}"), ("s3://bucket/a", "{}")),
    ],
)
def test_what_begins_with_a_brace_is_the_filter(given: tuple[str, ...], found: tuple[str | None, str]) -> None:
    with click.Context(click.Command("search"), info_name="search"):
        assert folder_and_filter(given) == found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((FILTER, "folder"), f"expected FOLDER before FILTER: `search folder '{FILTER}'`"),
        (("folder", "other"), "expected FILTER as JSON, such as '{}', got `other`"),
        ((FILTER, "{}"), "expected one FILTER, got another: {}"),
        (("{'op'",), "expected FILTER as JSON: JSON has double quotes, found a single one at character 2"),
    ],
)
def test_another_order_is_rejected_with_the_right_one(given: tuple[str, ...], said: str) -> None:
    with click.Context(click.Command("search"), info_name="search"), pytest.raises(click.UsageError) as error:
        folder_and_filter(given)
    assert error.value.message == said


def test_progress_has_rate_and_remaining_time_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shown, "LINE_SECONDS", 0.05)
    steps: Iterator[tuple[int, int]] = iter([(0, 0), *[(number * 1_000_000, 100_000_000) for number in range(1, 100)]])
    with shown.progress("Copying", poll=lambda: next(steps)):
        time.sleep(0.4)
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("Copying: 0.")
    share, rate, left = second.removeprefix("Copying: ").split(", ")
    assert (share, rate[-4:], left[-5:]) == ("1%", "MB/s", " left")


def test_what_is_done_at_once_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with shown.progress("Counting", 10, "traces") as meter:
        meter.advance(10)
    assert capsys.readouterr().err == ""
