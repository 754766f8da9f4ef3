"""Access to the database of runs: the thread that writes, a probe, and pages."""
