"""The settings of trace stores: location, shards, retention and disk space."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from spanwise.settings.budgets import MEBIBYTE
from spanwise.settings.readers import ReaderSettings

Seconds: TypeAlias = Annotated[int, Meta(ge=0)]


class StoreSettings(ReaderSettings, frozen=True, kw_only=True):
    """The settings of a store, such as its shards, the retention of traces, and the free disk space to leave."""

    shards: Annotated[
        int,
        Meta(
            ge=1,
            le=64,
            description="With `cluster`: how many shards a new store is divided among; one that exists keeps its own.",
        ),
    ] = 1
    cluster: Annotated[
        str,
        Meta(
            description="Experimental. Where shards run: `local` is a process each, which Ray starts on this machine; "
            "another value is the address of a Ray cluster, `auto` for one on this machine.",
            extra={"default": "in the process of the service"},
        ),
    ] = ""
    followers: Annotated[
        int,
        Meta(
            ge=0,
            le=1,
            description="With `cluster`: how many further processes follow each shard, and answer searches while it "
            "does not, or takes long.",
        ),
    ] = 0
    hedge_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="With `followers`: after how long a shard takes long, if it usually takes less.",
        ),
    ] = 0.05
    min_free_bytes: Annotated[
        int,
        Meta(ge=0, description="Free disk space below which ingest requests get a 503; 0 disables the check."),
    ] = 1024 * MEBIBYTE
    retain_seconds: Annotated[
        int, Meta(ge=0, description="Delete traces that started longer ago than this; 0 keeps them.")
    ] = 0
    retain_bytes: Annotated[
        int,
        Meta(ge=0, description="Delete the oldest traces while compressed documents exceed this size; 0 keeps them."),
    ] = 0
    linger_seconds: Annotated[
        Seconds | None,
        Meta(
            description="How long objects that are not needed any more are kept, for readers that may still hold them.",
            extra={"default": "60 in a bucket, 0 in a folder"},
        ),
    ] = None
    index_spans: Annotated[
        bool,
        Meta(
            description=(
                "Build a span table of each segment in the background, so that conditions on spans need not read "
                "documents."
            )
        ),
    ] = True
    index_texts: Annotated[
        bool,
        Meta(
            description=(
                "Build a text index of each segment in the background, so that conditions on texts read few documents."
            )
        ),
    ] = True
    index_attributes: Annotated[
        bool,
        Meta(
            description=(
                "Build an attribute index of each segment in the background, so that conditions on attributes need "
                "not read documents and keys can be listed; conditions also need `index_spans`."
            )
        ),
    ] = True
    cache_dir: Annotated[
        str,
        Meta(
            description="The folder for cached copies of objects in buckets; it may be deleted at any time.",
            extra={"default": "`spanwise` in the user's cache folder"},
        ),
    ] = ""
    cache_bytes: Annotated[
        int, Meta(ge=0, description="Recently read documents to cache there, per bucket; 0 caches none.")
    ] = 4096 * MEBIBYTE
    recover: Annotated[
        bool,
        Meta(description="Quarantine damaged segments and log objects when a store is opened, instead of failing."),
    ] = False
