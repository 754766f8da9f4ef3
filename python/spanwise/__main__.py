"""Runs the command `spanwise` as `python -m spanwise`."""

from spanwise.cli import main

main()
