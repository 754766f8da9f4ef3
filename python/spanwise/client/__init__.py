"""The client of a running service, a filter builder, and OpenTelemetry set-up for programs that send traces.

This package imports neither the engine nor the service. httpx, PyArrow and the OpenTelemetry exporter are imported at
first use.
"""
