"""Settings for token verification. `spanwise.auth.config` is their counterpart in code."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
"""Non-empty text."""


class TokenSettings(Struct, frozen=True, kw_only=True):
    """How tokens are verified, and which claims they must have. None means not set."""

    jwt_verification_key: Annotated[
        Text | None,
        Meta(
            description="A public key in PEM format, or a shared secret; added to the keys given in code.",
            extra={"default": "none", "flag": None, "alias": "JWT_VERIFICATION_KEY", "is_secret": True},
        ),
    ] = None
    jwt_verification_key_file: Annotated[
        Text | None,
        Meta(
            description="The path of a file that contains the verification key.",
            extra={"default": "none", "alias": "JWT_VERIFICATION_KEY_FILE"},
        ),
    ] = None
    jwt_jwks_file: Annotated[
        Text | None,
        Meta(
            description="The path of a JWKS file, added to the one in code; reloaded when it changes.",
            extra={"default": "none", "alias": "JWT_JWKS_FILE"},
        ),
    ] = None
    jwt_jwks_url: Annotated[
        Text | None,
        Meta(
            description="The `https` or `http` URL of a JWKS, added to the one in code; refreshed in the background.",
            extra={"default": "none", "alias": "JWT_JWKS_URL"},
        ),
    ] = None
    jwt_algorithm: Annotated[
        str,
        Meta(
            min_length=1,
            description="The algorithm of PEM keys, secrets, and RSA keys in a JWKS without `alg`.",
            extra={"alias": "JWT_ALGORITHM"},
        ),
    ] = "RS256"
    jwt_audience: Annotated[
        Text | None,
        Meta(description="The audience that `aud` must be or contain.", extra={"default": "not checked"}),
    ] = None
    jwt_issuer: Annotated[
        Text | None,
        Meta(description="The issuer that `iss` must be.", extra={"default": "not checked"}),
    ] = None
    jwt_required_typ: Annotated[
        Text | None,
        Meta(description="The media type that `typ` in the token header must be.", extra={"default": "not checked"}),
    ] = None
    jwt_leeway: Annotated[
        float, Meta(ge=0, le=60, description="Allowed clock skew in seconds when times in a token are checked.")
    ] = 10.0
    jwt_user_id_claim: Annotated[str, Meta(min_length=1, description="The claim with the id of the user.")] = "sub"
    jwt_session_id_claim: Annotated[
        str, Meta(min_length=1, description="The claim with the id of the session that a token is for.")
    ] = "session_id"
    jwt_scopes_claim: Annotated[
        str, Meta(min_length=1, description="The claim with the scopes; `scope` is read if it is absent.")
    ] = "scopes"
    jwt_admin_scope: Annotated[str, Meta(min_length=1, description="The scope that grants everything.")] = (
        "agent_os:admin"
    )
    jwt_user_isolation: Annotated[
        bool, Meta(description="Callers without the admin scope see only their own data.")
    ] = True
