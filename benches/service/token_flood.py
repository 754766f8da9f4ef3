"""What does a flood of forged tokens do to other clients, and to the log?

Run it by hand: `python benches/service/token_flood.py`. It needs the program `wrk`, which sends up to 5,000 different
forged tokens per second.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.clients.otlp import export_request
from support.clients.tokens import as_caller, jwks_file
from support.services.process import RunningService

SECONDS = int(os.environ.get("BENCH_SECONDS", "60"))
RATE = int(os.environ.get("BENCH_RATE", "5000"))
CONNECTIONS = 256
TRACES = 1000
BODY = json.dumps({"limit": 20})
# Signatures are cut from a pool of random letters, so that creating one is cheap for the client.
# The last letter carries only four bits, so only four letters are canonical there.
SCRIPT = """
local message, letters = "Bearer {message}.", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local pool, ends = {{}}, "AQgw"
math.randomseed(os.time())
for place = 1, 262144 do
  local letter = math.random(64)
  pool[place] = letters:sub(letter, letter)
end
pool = table.concat(pool)
local last = #pool - 171
function request()
  local first, second, final = math.random(last), math.random(last), math.random(4)
  local signature = pool:sub(first, first + 169) .. pool:sub(second, second + 170) .. ends:sub(final, final)
  wrk.headers["Authorization"] = message .. signature
  return wrk.format("GET", "/traces")
end
function delay() return {delay} end
function response(status) if status ~= 401 then print("status " .. status) end end
"""


def searches(service: RunningService, seconds: float) -> list[float]:
    """Returns the sorted latencies of searches by one legitimate client, in ms."""
    headers = {"Content-Type": "application/json", **as_caller("alice", "traces:read")}
    connection = HTTPConnection("127.0.0.1", service.port)
    latencies = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.perf_counter()
        connection.request("POST", "/traces/search", BODY, headers)
        response = connection.getresponse()
        page = response.read()
        latencies.append((time.perf_counter() - begun) * 1000)
        assert response.status == 200
        assert json.loads(page)["meta"]["total_count"] == TRACES
        time.sleep(0.02)
    return sorted(latencies)


def summary(latencies: list[float]) -> str:
    """Returns a summary of some latencies."""
    median, p99 = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
    return f"{len(latencies)} searches, median {median:.2f} ms, p99 {p99:.2f} ms"


def main() -> None:
    """Prints the figures."""
    log = sys.stdout.write
    wrk = shutil.which("wrk")
    assert wrk, "the program `wrk` is not installed"
    log(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with RunningService(path / "data", "--authorization", is_ready=True, JWT_JWKS_FILE=jwks_file(path)) as service:
            writer = {"Content-Type": "application/json", **as_caller("writer", "traces:write")}
            for number in range(1, TRACES + 1):
                export = export_request(f"{number:032x}", "b" * 16, **{"user.id": "alice"})
                service.http.post("/v1/traces", content=export, headers=writer).raise_for_status()
            idle = searches(service, 10)
            lines = len(service.log.read_text().splitlines())
            token = as_caller("mallory", "agent_os:admin")["Authorization"].removeprefix("Bearer ").rpartition(".")[0]
            script = path / "flood.lua"
            # A connection also waits for its response, so the delay between requests is a little shorter.
            script.write_text(SCRIPT.format(message=token, delay=round(900 * CONNECTIONS / RATE)), "utf-8")
            arguments = ["-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", str(script), service.url]
            with subprocess.Popen([wrk, *arguments], stdout=subprocess.PIPE, text=True) as flood:
                during = searches(service, SECONDS - 1)
                report, _ = flood.communicate()
            written = len(service.log.read_text().splitlines()) - lines - len(during)
            assert "status" not in report, report
            rate = float(re.search(r"Requests/sec:\s+([\d.]+)", report)[1])
            assert service.stop() == 0
    log(f"idle:   {summary(idle)}\n")
    log(f"flood:  {summary(during)}\n")
    log(f"{rate:.0f} forged tokens per second, all rejected with 401; {written / SECONDS:.0f} log lines per second\n")
    log(f"p99 ratio {during[len(during) * 99 // 100] / idle[len(idle) * 99 // 100]:.1f}\n")
    log(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
