"""Trace stores: ingest, search, administration and bulk transfer. The only folder that imports the native engine."""

from spanwise._engine import Aggregation, Filter, TraceStore, filter_schema, otlp_status

__all__ = ["Aggregation", "Filter", "TraceStore", "filter_schema", "otlp_status"]
