"""Sample traces for the demo: any number of generated ones, and captured ones."""

from spanwise.demo.captures import Capture, captures, trace_ids
from spanwise.demo.otlp_requests import CONTENT_TYPE, ExportRequest, export_requests

__all__ = ["CONTENT_TYPE", "Capture", "ExportRequest", "captures", "export_requests", "trace_ids"]
