"""What happens between a request to run a component and its result?"""

from spanwise.runs.live import Entry, LiveRun
from spanwise.runs.service import RunRequest, Runs

__all__ = ["Entry", "LiveRun", "RunRequest", "Runs"]
