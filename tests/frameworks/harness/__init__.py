"""Captures the exports of instrumented frameworks with scripted models, and checks the facts read from them.

`python -m frameworks.harness capture FRAMEWORK [CASE ...]` writes `tests/frameworks/FRAMEWORK/exports`. `python -m
frameworks.harness page` writes `docs/frameworks.md`. `tests/frameworks/README.md` describes the files.
"""
