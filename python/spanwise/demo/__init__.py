"""What is there to search, before anything was sent? Made-up traces in any number, and captured ones."""

from spanwise.demo.captures import Capture, captures, trace_ids
from spanwise.demo.exports import CONTENT_TYPE, Export, exports

__all__ = ["CONTENT_TYPE", "Capture", "Export", "captures", "exports", "trace_ids"]
