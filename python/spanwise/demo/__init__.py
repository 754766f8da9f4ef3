"""Data to try Spanwise with: made-up traces in any number, and captured ones of real programs."""

from .captures import Capture, captures, trace_ids
from .exports import CONTENT_TYPE, Export, exports

__all__ = ["CONTENT_TYPE", "Capture", "Export", "captures", "exports", "trace_ids"]
