"""A program that mounts a service, in its own process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from support.services.process import RunningService

if TYPE_CHECKING:
    from pathlib import Path

MOUNTED_AT = "/spanwise"


class EmbeddingProgram(RunningService):
    """A program with one worker. `url` and `http` lead to the service that it mounts."""

    mounted_at = MOUNTED_AT

    def command(self, data_dir: Path, *flags: str) -> list[str]:  # noqa: ARG002  # the environment names the folder
        """Returns the command line of an ASGI server, with the application as `module:name` among `flags`."""
        listening = ["--host", "127.0.0.1", "--port", str(self.port)]
        return [sys.executable, "-m", "granian", "--interface", "asgi", *listening, *flags]


def start_embedding(folder: Path, application: str, **variables: str) -> EmbeddingProgram:
    """Starts a program over `folder` and waits until its service is ready.

    Args:
        folder: contains the service's data folder `data`.
        application: the ASGI application, as `module:name`.
        variables: added to its environment.
    """
    data_dir = folder / "data"
    variables |= {"SPANWISE_DATA_DIR": str(data_dir)}
    return EmbeddingProgram(data_dir, application, is_ready=True, **variables)
