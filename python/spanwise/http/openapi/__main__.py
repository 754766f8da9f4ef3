"""Prints the OpenAPI document of a service without components, which `ui/openapi.json` is a copy of.

python -m spanwise.http.openapi > ui/openapi.json
"""

from __future__ import annotations

import sys

import msgspec

from spanwise.http.openapi.describe import describe
from spanwise.http.routing.table import TABLE

sys.stdout.buffer.write(msgspec.json.format(describe(TABLE, "Spanwise"), indent=2) + b"\n")
