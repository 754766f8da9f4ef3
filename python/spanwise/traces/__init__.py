"""What was traced, and how is it found again? The only folder that knows the native engine."""

from spanwise._engine import Filter, TraceStore

__all__ = ["Filter", "TraceStore"]
