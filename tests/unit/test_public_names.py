"""Everything that a program needs to host components is imported from `spanwise`."""

from __future__ import annotations

import inspect

import spanwise
from spanwise import RequestContext, SpanwiseError, errors, factories


def test_every_public_name_exists_once_and_in_order() -> None:
    assert spanwise.__all__ == sorted(set(spanwise.__all__))
    assert [name for name in spanwise.__all__ if not hasattr(spanwise, name)] == []


def test_what_a_factory_is_given_and_raises_is_public() -> None:
    raised = {name for name, found in vars(errors).items() if inspect.isclass(found) and name.startswith("Factory")}
    assert raised >= {"FactoryError", "FactoryContextRequired"}
    assert raised | set(factories.__all__) - {"Factory"} <= set(spanwise.__all__)


def test_a_test_of_a_factory_makes_its_context() -> None:
    trusted = spanwise.TrustedContext(claims={"sub": "alice", "roles": ["a"]}, scopes=frozenset({"agents:run"}))
    context = RequestContext(user_id="alice", trusted=trusted)
    assert context.trusted.claims["roles"] == ("a",)
    assert issubclass(spanwise.FactoryContextRequired, SpanwiseError)
