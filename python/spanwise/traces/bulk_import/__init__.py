"""Bulk import of spans from files and databases, bypassing the write-ahead log."""
