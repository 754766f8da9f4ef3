"""The settings that say how tokens are verified; `spanwise.auth.config` says the same in code."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
"""Text that is not empty."""


class TokenSettings(Struct, frozen=True, kw_only=True):
    """How tokens are verified, and what they are worth. None is what nobody said."""

    jwt_verification_key: Annotated[
        Text | None,
        Meta(
            description="A public key as PEM, or a shared secret; it is added to the keys in code.",
            extra={"default": "none", "flag": None, "alias": "JWT_VERIFICATION_KEY"},
        ),
    ] = None
    jwt_verification_key_file: Annotated[
        Text | None,
        Meta(
            description="The path of a file that holds the verification key.",
            extra={"default": "none", "alias": "JWT_VERIFICATION_KEY_FILE"},
        ),
    ] = None
    jwt_jwks_file: Annotated[
        Text | None,
        Meta(
            description="The path of a JWKS file; it is read again when it changes.",
            extra={"default": "none", "alias": "JWT_JWKS_FILE"},
        ),
    ] = None
    jwt_jwks_url: Annotated[
        Text | None,
        Meta(
            description="The address of a JWKS, `https` or `http`; it is fetched again in the background.",
            extra={"default": "none", "alias": "JWT_JWKS_URL"},
        ),
    ] = None
    jwt_algorithm: Annotated[
        str,
        Meta(
            min_length=1,
            description="What a key is bound to that does not name its own algorithm.",
            extra={"alias": "JWT_ALGORITHM"},
        ),
    ] = "RS256"
    jwt_audience: Annotated[
        Text | None,
        Meta(description="What `aud` must be or contain.", extra={"default": "not asked for"}),
    ] = None
    jwt_issuer: Annotated[
        Text | None,
        Meta(description="What `iss` must be.", extra={"default": "not asked for"}),
    ] = None
    jwt_required_typ: Annotated[
        Text | None,
        Meta(description="The media type that a token's header must name.", extra={"default": "not asked for"}),
    ] = None
    jwt_leeway: Annotated[
        float, Meta(ge=0, le=60, description="By how many seconds the clocks of others may differ from ours.")
    ] = 10.0
    jwt_user_id_claim: Annotated[str, Meta(min_length=1, description="The claim that says who the caller is.")] = "sub"
    jwt_session_id_claim: Annotated[
        str, Meta(min_length=1, description="The claim that says which session a token is for.")
    ] = "session_id"
    jwt_scopes_claim: Annotated[
        str, Meta(min_length=1, description="The claim that holds the scopes; `scope` is read where it is absent.")
    ] = "scopes"
    jwt_admin_scope: Annotated[str, Meta(min_length=1, description="The scope that allows everything.")] = (
        "agent_os:admin"
    )
    jwt_user_isolation: Annotated[
        bool, Meta(description="Whether a caller without the admin scope sees only what is its own.")
    ] = True
