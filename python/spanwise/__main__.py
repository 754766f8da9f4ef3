"""`python -m spanwise` is the command `spanwise`."""

from spanwise.cli import main

main()
