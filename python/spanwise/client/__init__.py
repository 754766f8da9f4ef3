"""The client of a running service, a builder of filters, and OpenTelemetry for programs that send traces.

Nothing here needs the engine or the service. httpx, PyArrow and the exporter of OpenTelemetry are imported when they
are first used.
"""
