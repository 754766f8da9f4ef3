"""Recording of runs as traces, through the OpenTelemetry SDK."""
