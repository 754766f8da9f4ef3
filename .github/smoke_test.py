"""Uses an installed Spanwise as a library, with the features that its wheel has on every system, including Windows."""

import sys

import pyarrow as pa

from spanwise import Filter
from spanwise._engine import __version__

batch = pa.record_batch({"name": ["Weather_Agent.run", "Refund_Agent.run", None]})
mask = pa.array(Filter.compile(b'{"op": "CONTAINS", "key": "name", "value": "WEATHER"}').mask(batch))
if mask.to_pylist() != [True, False, False]:
    raise SystemExit(f"expected the first row alone, got {mask}")
sys.stdout.write(f"Spanwise {__version__} filters\n")
