"""Notices to a shard that accepts no more calls, without Ray: an actor that refuses them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from spanwise.cluster.ray.actor import ShardPlan
from spanwise.cluster.shards.shard import ShardLostError
from spanwise.engine_globals import EngineGlobals
from support.services.cluster import with_ray

pytestmark = with_ray


class FullActor:
    """An actor that accepts the calls of opening its store, and refuses all others."""

    def __init__(self, refusal: Exception) -> None:
        self.refused: list[tuple[str, tuple[object, ...]]] = []
        self._refusal = refusal

    def __getattr__(self, method: str) -> SimpleNamespace:
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda *given: self._call(method, given)))

    def _call(self, method: str, given: tuple[object, ...]) -> None:
        if method in {"open", "plan"}:
            return
        self.refused.append((method, given))
        raise self._refusal


def test_notices_that_are_refused_are_left_out_and_questions_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.exceptions import PendingCallsLimitExceeded  # noqa: PLC0415  # Ray is an extra

    from spanwise.cluster.ray import ray_shard  # noqa: PLC0415  # it imports the extra
    from spanwise.cluster.ray.processes import Placing  # noqa: PLC0415

    actor = FullActor(PendingCallsLimitExceeded("more than 256 calls wait"))
    monkeypatch.setattr(ray_shard, "start_process", lambda *_: actor)
    monkeypatch.setattr(ray_shard, "ray", SimpleNamespace(get=lambda *_, **__: None))
    plan = ShardPlan("place", 1, b"{}", EngineGlobals((), None), 1 << 20, None)
    shard = ray_shard.RayShard(plan, "shard `0`", lambda: None, Placing("store", 0))
    shard.end([1, 2])
    shard.close_tails([3])
    shard.end_export(4)
    told = [("call", ("end", [1, 2])), ("call", ("close_tails", [3])), ("end_export", (4,))]
    assert actor.refused == told
    with pytest.raises(ShardLostError):
        shard.stats()
    shard.close()
