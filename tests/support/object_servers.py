"""Real servers of objects, each in a process of its own on the loopback, with one bucket."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import time
from typing import ClassVar, Self, TYPE_CHECKING
from urllib.parse import unquote

import httpx
import pytest

from support.programs import s3_server
from support.proxy import Proxy
from support.service import free_port

if TYPE_CHECKING:
    from pathlib import Path

START_SECONDS = 30
BUCKET = "tests"
SECRET = "a-secret-that-nobody-may-see"  # noqa: S105  # it is looked for where it must not be
PATIENCE = "1 second"
NEEDED = "TESTS_SKIP_NOTHING"
"""Set where a machine must have what tests need."""


class Server:
    """A server with one bucket. Always leave it by `with`.

    Attributes:
        scheme: of the addresses of what it serves.
        patience: the variable that says how long a store waits for an answer.
        port: where it listens.
    """

    scheme: ClassVar[str]
    patience: ClassVar[str]

    def __init__(self, log: Path, *command: str | Path, port: int, **variables: str) -> None:
        """Starts `command` and creates the bucket; what it says goes to `log`."""
        self.port = port
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}")
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, env=os.environ | variables)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.create_bucket()
                break
            except httpx.TransportError:
                assert self._process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        self._process.kill()
        self._process.wait()

    def create_bucket(self) -> None:
        """Creates the bucket."""
        raise NotImplementedError

    def environment(self, port: int | None = None) -> dict[str, str]:
        """Returns the variables with which a store reaches it, soon out of patience; `port`: of a proxy before it."""
        raise NotImplementedError

    def keys(self, prefix: str) -> list[str]:
        """Returns the names of the objects that begin with `prefix`."""
        raise NotImplementedError

    def content(self, key: str) -> bytes:
        """Returns the content of one object."""
        raise NotImplementedError

    def replace(self, key: str, content: bytes) -> None:
        """Writes an object over another."""
        raise NotImplementedError


class S3(Server):
    """moto's server, which speaks S3."""

    scheme = "s3"
    patience = "AWS_READ_TIMEOUT"
    # The server asks for a signature, and does not look at it.
    signed: ClassVar[dict[str, str]] = {
        "authorization": "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, "
        "SignedHeaders=host, Signature=0"
    }

    def __init__(self, log: Path) -> None:
        port = free_port()
        super().__init__(log, sys.executable, s3_server.__file__, str(port), port=port)

    def create_bucket(self) -> None:
        self.http.headers = httpx.Headers(self.signed)
        self.http.put(f"/{BUCKET}").raise_for_status()

    def environment(self, port: int | None = None) -> dict[str, str]:
        return {
            "AWS_ENDPOINT": f"http://127.0.0.1:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            self.patience: PATIENCE,
        }

    def keys(self, prefix: str) -> list[str]:
        answer = self.http.get(f"/{BUCKET}", params={"list-type": "2", "prefix": prefix})
        text = answer.raise_for_status().text
        return [piece.split("</Key>")[0] for piece in text.split("<Key>")[1:]]

    def content(self, key: str) -> bytes:
        return self.http.get(f"/{BUCKET}/{key}").raise_for_status().content

    def replace(self, key: str, content: bytes) -> None:
        self.http.put(f"/{BUCKET}/{key}", content=content).raise_for_status()


class WordsOfGoogle(S3):
    """The same, behind a door that understands what Google Cloud Storage's XML interface says in other words."""

    scheme = "gs"
    patience = "GOOGLE_READ_TIMEOUT"

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self._door = Proxy(self.port, self._worded)
        self._door.__enter__()
        self.port = self._door.server_port

    def __exit__(self, *_: object) -> None:
        self._door.__exit__()
        super().__exit__()

    def environment(self, port: int | None = None) -> dict[str, str]:
        account = {"private_key": SECRET, "private_key_id": "1", "client_email": "tests", "disable_oauth": True}
        return {
            "GOOGLE_BASE_URL": f"http://127.0.0.1:{port or self.port}",
            "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account),
            "GOOGLE_ALLOW_HTTP": "true",
            self.patience: PATIENCE,
        }

    @classmethod
    def _worded(cls, path: str, headers: dict[str, str]) -> tuple[str, dict[str, str]]:
        said = {name.lower(): value for name, value in headers.items()}
        if generation := said.pop("x-goog-if-generation-match", None):
            assert generation == "0", "an object is created, and never replaced"
            said["if-none-match"] = "*"
        place, mark, query = path.partition("?")
        # The client names Google's host whatever the address, and writes `/` as `%2F`.
        return unquote(place) + mark + query, said | {"host": "127.0.0.1"} | cls.signed


class Azurite(Server):
    """Microsoft's own server for tests, which speaks Azure Blob Storage."""

    scheme = "az"
    patience = "AZURE_READ_TIMEOUT"
    program = "azurite-blob"
    account = "tests"
    key = base64.b64encode(SECRET.encode()).decode()

    def __init__(self, log: Path) -> None:
        """Skips the test where it is not installed, and could be without great effort."""
        program = shutil.which(self.program)
        if program is None:
            message = f"`{self.program}` is not installed: `npm install --global azurite`"
            assert NEEDED not in os.environ or shutil.which("npm") is None, message
            pytest.skip(message)
        port = free_port()
        flags = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
        place = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
        super().__init__(log, program, *place, *flags, port=port, AZURITE_ACCOUNTS=f"{self.account}:{self.key}")

    def create_bucket(self) -> None:
        self.http.params = httpx.QueryParams(self._permission())
        self.http.put(self._path(), params={"restype": "container"}).raise_for_status()

    def environment(self, port: int | None = None) -> dict[str, str]:
        return {
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port or self.port}/{self.account}",
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
            "AZURE_ALLOW_HTTP": "true",
            self.patience: PATIENCE,
        }

    def keys(self, prefix: str) -> list[str]:
        answer = self.http.get(self._path(), params={"restype": "container", "comp": "list", "prefix": prefix})
        text = answer.raise_for_status().text
        return [piece.split("</Name>")[0] for piece in text.split("<Name>")[1:]]

    def content(self, key: str) -> bytes:
        return self.http.get(self._path(key)).raise_for_status().content

    def replace(self, key: str, content: bytes) -> None:
        headers = {"x-ms-blob-type": "BlockBlob"}
        self.http.put(self._path(key), content=content, headers=headers).raise_for_status()

    def _path(self, *key: str) -> str:
        return "/".join(["", self.account, BUCKET, *key])

    def _permission(self) -> dict[str, str]:
        """Returns an account's shared access signature, which allows everything for ever."""
        said = {"sp": "rwdlac", "ss": "b", "srt": "sco", "st": "", "se": "2099-01-01T00:00:00Z"}
        said |= {"sip": "", "spr": "", "sv": "2019-12-12"}
        text = "\n".join([self.account, *said.values(), ""])
        signed = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).digest()
        return {name: value for name, value in said.items() if value} | {"sig": base64.b64encode(signed).decode()}
