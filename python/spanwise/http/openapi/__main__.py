"""Prints the OpenAPI document of a service without components, or writes it to a folder with a page that shows it.

python -m spanwise.http.openapi > ui/openapi.json
python -m spanwise.http.openapi target/site/reference/openapi
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from spanwise.http.endpoints.docs import redoc_page
from spanwise.http.openapi.describe import describe
from spanwise.http.routing.table import TABLE

document = msgspec.json.format(describe(TABLE, "Spanwise"), indent=2) + b"\n"
match sys.argv[1:]:
    case []:
        sys.stdout.buffer.write(document)
    case [folder]:
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, "openapi.json").write_bytes(document)
        Path(folder, "index.html").write_bytes(redoc_page()[0])
    case _:
        sys.exit("usage: python -m spanwise.http.openapi [FOLDER]")
