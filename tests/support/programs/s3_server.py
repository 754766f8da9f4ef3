"""An S3 server on the loopback, as a program: `python s3_server.py PORT`.

It answers one request at a time: a put with a condition must look and write in one step, which moto's own
threads do not see to.
"""

from __future__ import annotations

import sys

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), DomainDispatcherApplication(create_backend_app), threaded=False)
