"""Receives, keeps and searches the traces of AI agents."""

from spanwise.app import Service
from spanwise.auth.config import AuthorizationConfig
from spanwise.errors import (
    BatchError,
    ConfigurationError,
    DecodeError,
    FilterError,
    PayloadTooLargeError,
    SpanwiseError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreLockedError,
    StoreStoppedError,
    UnavailableError,
    UnsupportedMediaTypeError,
)
from spanwise.traces import Filter, TraceStore

__all__ = [
    "AuthorizationConfig",
    "BatchError",
    "ConfigurationError",
    "DecodeError",
    "Filter",
    "FilterError",
    "PayloadTooLargeError",
    "Service",
    "SpanwiseError",
    "StoreClosedError",
    "StoreDamagedError",
    "StoreError",
    "StoreLockedError",
    "StoreStoppedError",
    "TraceStore",
    "UnavailableError",
    "UnsupportedMediaTypeError",
]
