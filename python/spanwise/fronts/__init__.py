"""Front doors in a Ray cluster: services without a terminal, which Ray starts, and starts again if they end.

`actor` is what runs in the process of one and knows nothing of Ray; `processes` starts, finds and ends them.
"""
