"""What happens between a request to run a component and its result?"""

from spanwise.runs.active_run import Entry, LiveRun
from spanwise.runs.memory_budget import Room
from spanwise.runs.service import RunRequest, Runs
from spanwise.runs.sessions import NewSession, SessionChange

__all__ = ["Entry", "LiveRun", "NewSession", "Room", "RunRequest", "Runs", "SessionChange"]
