"""Trace stores: ingest, search, administration and bulk transfer. No other folder imports the native engine."""

from spanwise._engine import (
    Aggregation,
    Filter,
    Progress,
    Query,
    TraceStore,
    __version__,
    filter_schema,
    otlp_status,
)

__all__ = [
    "Aggregation",
    "Filter",
    "Progress",
    "Query",
    "TraceStore",
    "__version__",
    "filter_schema",
    "otlp_status",
]
