"""Object store servers with one bucket, each in its own process on the loopback interface."""

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
from typing import TYPE_CHECKING, ClassVar, Self
from urllib.parse import unquote

import httpx

from support.programs import s3_server
from support.servers import skip_missing
from support.servers.proxy import Proxy
from support.services.process import free_port

if TYPE_CHECKING:
    from pathlib import Path

START_SECONDS = 30
BUCKET = "tests"
SECRET = "a-secret-that-nobody-may-see"  # noqa: S105  # tests check that it is never logged
TIMEOUT = "1 second"


class BucketServer:
    """A server with one bucket. Use it as a context manager.

    Attributes:
        scheme: the URL scheme of its objects.
        timeout_variable: the environment variable with the read timeout of a store.
        port: the port it listens on.
    """

    scheme: ClassVar[str]
    timeout_variable: ClassVar[str]

    def __init__(self, log: Path, *command: str | Path, port: int, **variables: str) -> None:
        """Starts `command` with its output in `log`, and creates the bucket."""
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
        raise NotImplementedError

    def environment(self, port: int | None = None) -> dict[str, str]:
        """Returns the environment variables of a store in the bucket, with a short timeout.

        Args:
            port: the port of a proxy in front of the server.
        """
        raise NotImplementedError

    def keys(self, prefix: str) -> list[str]:
        """Returns the keys of the objects with this prefix."""
        raise NotImplementedError

    def content(self, key: str) -> bytes:
        raise NotImplementedError

    def replace(self, key: str, content: bytes) -> None:
        """Overwrites an object."""
        raise NotImplementedError


class S3(BucketServer):
    """moto's server, which speaks S3."""

    scheme = "s3"
    timeout_variable = "AWS_READ_TIMEOUT"
    # The server requires a signature, but does not verify it.
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
            self.timeout_variable: TIMEOUT,
        }

    def keys(self, prefix: str) -> list[str]:
        answer = self.http.get(f"/{BUCKET}", params={"list-type": "2", "prefix": prefix})
        text = answer.raise_for_status().text
        return [piece.split("</Key>")[0] for piece in text.split("<Key>")[1:]]

    def content(self, key: str) -> bytes:
        return self.http.get(f"/{BUCKET}/{key}").raise_for_status().content

    def replace(self, key: str, content: bytes) -> None:
        self.http.put(f"/{BUCKET}/{key}", content=content).raise_for_status()


class GoogleStorage(S3):
    """moto's server behind a proxy that translates Google Cloud Storage's XML API to S3."""

    scheme = "gs"
    timeout_variable = "GOOGLE_READ_TIMEOUT"

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self._proxy = Proxy(self.port, self._translate)
        self._proxy.__enter__()
        self.port = self._proxy.server_port

    def __exit__(self, *_: object) -> None:
        self._proxy.__exit__()
        super().__exit__()

    def environment(self, port: int | None = None) -> dict[str, str]:
        account = {"private_key": SECRET, "private_key_id": "1", "client_email": "tests", "disable_oauth": True}
        return {
            "GOOGLE_BASE_URL": f"http://127.0.0.1:{port or self.port}",
            "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account),
            "GOOGLE_ALLOW_HTTP": "true",
            self.timeout_variable: TIMEOUT,
        }

    @classmethod
    def _translate(cls, path: str, headers: dict[str, str]) -> tuple[str, dict[str, str]]:
        lower = {name.lower(): value for name, value in headers.items()}
        if generation := lower.pop("x-goog-if-generation-match", None):
            assert generation == "0", "objects are created, never overwritten"
            lower["if-none-match"] = "*"
        key, mark, query = path.partition("?")
        # The client sends Google's host name to any address, and escapes `/` as `%2F`.
        return unquote(key) + mark + query, lower | {"host": "127.0.0.1"} | cls.signed


class Azurite(BucketServer):
    """Azurite, Microsoft's emulator of Azure Blob Storage."""

    scheme = "az"
    timeout_variable = "AZURE_READ_TIMEOUT"
    program = "azurite-blob"
    account = "tests"
    key = base64.b64encode(SECRET.encode()).decode()

    def __init__(self, log: Path) -> None:
        """Starts the emulator; skips the test if it is not installed."""
        program = shutil.which(self.program)
        if program is None:
            message = f"`{self.program}` is not installed: `npm install --global azurite`"
            skip_missing(message, is_installable=shutil.which("npm") is not None)
        port = free_port()
        flags = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
        address = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
        super().__init__(log, program, *address, *flags, port=port, AZURITE_ACCOUNTS=f"{self.account}:{self.key}")

    def create_bucket(self) -> None:
        self.http.params = httpx.QueryParams(self._shared_access_signature())
        self.http.put(self._path(), params={"restype": "container"}).raise_for_status()

    def environment(self, port: int | None = None) -> dict[str, str]:
        return {
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port or self.port}/{self.account}",
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
            "AZURE_ALLOW_HTTP": "true",
            self.timeout_variable: TIMEOUT,
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

    def _shared_access_signature(self) -> dict[str, str]:
        """Returns a shared access signature for the account that allows everything until 2099."""
        fields = {"sp": "rwdlac", "ss": "b", "srt": "sco", "st": "", "se": "2099-01-01T00:00:00Z"}
        fields |= {"sip": "", "spr": "", "sv": "2019-12-12"}
        text = "\n".join([self.account, *fields.values(), ""])
        signature = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).digest()
        return {name: value for name, value in fields.items() if value} | {"sig": base64.b64encode(signature).decode()}
