"""Gateways in a Ray cluster: services without a terminal. Ray starts them, and restarts them if they end.

`actor` runs in the process of a gateway and does not use Ray. `admin` starts, finds and ends these processes.
"""
