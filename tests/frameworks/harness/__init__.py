"""Captures what instrumented frameworks send, with scripted models behind them, and states what must be read from it.

`python -m frameworks.harness capture FRAMEWORK [CASE ...]` writes `tests/frameworks/FRAMEWORK/exports`;
`python -m frameworks.harness page` writes `docs/frameworks.md`. `tests/frameworks/README.md` describes the files.
"""
