"""Runs of components: start, subscription, pause, resumption, cancellation, and storage with their events."""

from spanwise.runs.active_run import ActiveRun, RunEvent
from spanwise.runs.request import RunRequest
from spanwise.runs.service import Runs
from spanwise.runs.sessions.lookup import SessionAddress
from spanwise.runs.sessions.service import NewSession, SessionChange

__all__ = [
    "ActiveRun",
    "NewSession",
    "RunEvent",
    "RunRequest",
    "Runs",
    "SessionAddress",
    "SessionChange",
]
