"""Reserves the memory of a query in the share of its caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.errors import PayloadTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.fair_budget import Lease


def reserve_in(lease: Lease, too_large: str) -> Callable[[int], None]:
    """Returns a function that resizes `lease` to a number of bytes, for `Store.query`.

    Args:
        lease: the caller's lease on the counting budget.
        too_large: the error message for a query that needs more than the budget of all callers.

    Raises:
        PayloadTooLargeError: by the function, for more bytes than that.
        UnavailableError: by the function, if the memory is in use.
    """

    def reserve(needed: int) -> None:
        if needed > lease.capacity:
            raise PayloadTooLargeError(too_large)
        lease.resize(needed)

    return reserve
