"""What is said about authorization, in code and by the settings.

Source: design, section 9; specification, "Authentication". The names are those existing programs use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from spanwise.auth.keys import ALGORITHMS
from spanwise.errors import ConfigurationError
from spanwise.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULTS = Settings()
ADMIN_SCOPE = _DEFAULTS.jwt_admin_scope
LONGEST_LEEWAY_SECONDS = 60.0
_SOURCES = ("jwks_file", "jwks_url", "algorithm")


@dataclass(frozen=True, kw_only=True)
class AuthorizationConfig:
    """How tokens are verified and what they are worth. Nothing is read before the service starts.

    What is left out, or None, is said by the setting of the same name after `jwt_`.

    Attributes:
        verification_keys: public keys as PEM, or shared secrets for the HMAC algorithms.
        jwks_file: the path of a JWKS file; read again when it changes.
        jwks_url: the address of a JWKS, `http` or `https`; fetched again in the background.
        algorithm: what a key is bound to that does not name its own algorithm; RS256 if nobody says.
        audience: what `aud` must be or contain; not asked for if not given.
        issuer: what `iss` must be; not asked for if not given.
        leeway: by how many seconds clocks may differ, at most 60.
        user_id_claim: the claim that says who the caller is; required.
        session_id_claim: the claim that says which session the token is for.
        scopes_claim: the claim that holds the scopes; `scope` is read where it is absent.
        admin_scope: the scope that allows everything.
        user_isolation: whether a caller without `admin_scope` sees only what is its own.
        required_typ: the media type that the token's header must name, such as `at+jwt`. If not given, a token
            that names another purpose than access (`logout+jwt`, `dpop+jwt`, ...) is refused all the same.
    """

    verification_keys: Sequence[str] = field(default=(), repr=False)
    jwks_file: str | None = None
    jwks_url: str | None = None
    algorithm: str | None = None
    audience: str | None = None
    issuer: str | None = None
    leeway: float = _DEFAULTS.jwt_leeway
    user_id_claim: str = _DEFAULTS.jwt_user_id_claim
    session_id_claim: str = _DEFAULTS.jwt_session_id_claim
    scopes_claim: str = _DEFAULTS.jwt_scopes_claim
    admin_scope: str = _DEFAULTS.jwt_admin_scope
    user_isolation: bool = _DEFAULTS.jwt_user_isolation
    required_typ: str | None = None

    def __new__(cls, **given: object) -> Self:
        """Remembers which names code gives: a default that is given counts, one that is not does not."""
        self = super().__new__(cls)
        object.__setattr__(self, "given", frozenset(name for name, value in given.items() if value is not None))
        return self

    def __post_init__(self) -> None:
        """Refuses what cannot be meant.

        Raises:
            ConfigurationError: a value is not usable; the message names the setting.
        """
        if isinstance(self.verification_keys, str):
            raise ConfigurationError("`verification_keys` is one text; expected a list of texts")
        if not all(isinstance(text, str) for text in self.verification_keys):
            raise ConfigurationError("`verification_keys` holds what is no text; expected a list of texts")
        if not 0 <= self.leeway <= LONGEST_LEEWAY_SECONDS:
            raise ConfigurationError(f"`leeway` is {self.leeway:g}; expected 0 to {LONGEST_LEEWAY_SECONDS:g} seconds")
        for name in ("user_id_claim", "session_id_claim", "scopes_claim", "admin_scope"):
            if not getattr(self, name):
                raise ConfigurationError(f"`{name}` is empty")
        for name in ("jwks_file", "audience", "issuer", "required_typ"):
            if getattr(self, name) == "":
                raise ConfigurationError(f"`{name}` is empty; leave it out if it is not meant")


@dataclass(frozen=True, kw_only=True)
class KeyMaterial:
    """Where verification keys come from, code and environment together. Each text stands beside its source.

    Attributes:
        keys: the name of the source, and the key as text.
        jwks_file: the name of the source, and the path.
        jwks_url: the name of the source, and the address.
        algorithm: what keys are bound to that do not name their own algorithm.
    """

    keys: tuple[tuple[str, str], ...] = field(repr=False)
    jwks_file: tuple[str, str] | None
    jwks_url: tuple[str, str] | None
    algorithm: str

    @property
    def sources(self) -> list[str]:
        """Returns the names of all sources, for messages."""
        named = (*self.keys, *filter(None, (self.jwks_file, self.jwks_url)))
        return [source for source, _ in named]


def completed(config: AuthorizationConfig, settings: Settings) -> AuthorizationConfig:
    """Returns `config` with what it leaves out as the settings say; of the keys only those in code.

    Raises:
        ConfigurationError: a value is not usable.
    """
    said = {each.name for each in fields(config)} - {"verification_keys"} - _given(config)
    return replace(config, **{name: getattr(settings, f"jwt_{name}") for name in said})


def key_material(config: AuthorizationConfig, settings: Settings = _DEFAULTS) -> KeyMaterial:
    """Returns every source of keys: those of `config`, and what the settings add to them.

    The key of the settings is added to the keys in code. The JWKS file, the JWKS address and the algorithm of the
    settings count only where code gives none.

    Raises:
        ConfigurationError: a source is ambiguous or unreadable, or the algorithm is not one of ours.
    """
    whole = completed(config, settings)
    names = {name: f"`{name}`" if name in _given(config) else f"`jwt_{name}`" for name in _SOURCES}
    if whole.algorithm not in ALGORITHMS:
        raise ConfigurationError(
            f"{names['algorithm']} is no algorithm for tokens; expected one of {', '.join(ALGORITHMS)}"
        )
    if whole.jwks_url:
        _check_url(names["jwks_url"], whole.jwks_url)
    keys = ((f"`verification_keys[{place}]`", text) for place, text in enumerate(config.verification_keys))
    return KeyMaterial(
        keys=(*keys, *_key_of(settings)),
        jwks_file=(names["jwks_file"], whole.jwks_file) if whole.jwks_file else None,
        jwks_url=(names["jwks_url"], whole.jwks_url) if whole.jwks_url else None,
        algorithm=whole.algorithm,
    )


def configured_sources(config: AuthorizationConfig, settings: Settings) -> list[str]:
    """Returns the names of all sources of keys that are given, usable or not, to warn where authorization is off."""
    in_code = [name for name in ("verification_keys", "jwks_file", "jwks_url") if getattr(config, name)]
    said = ("jwt_verification_key", "jwt_verification_key_file", "jwt_jwks_file", "jwt_jwks_url")
    return [f"`{name}`" for name in (*in_code, *(name for name in said if getattr(settings, name)))]


def _given(config: AuthorizationConfig) -> frozenset[str]:
    given: frozenset[str] = config.given  # type: ignore[attr-defined]  # no field: set before the fields are
    return given


def _key_of(settings: Settings) -> list[tuple[str, str]]:
    if settings.jwt_verification_key_file is None:
        key = settings.jwt_verification_key
        return [] if key is None else [("`jwt_verification_key`", key)]
    if settings.jwt_verification_key is not None:
        raise ConfigurationError(
            "both `jwt_verification_key` and `jwt_verification_key_file` are set; expected one of them"
        )
    try:
        text = Path(settings.jwt_verification_key_file).read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the file that `jwt_verification_key_file` names: {error.strerror}"
        ) from error
    except ValueError as error:
        raise ConfigurationError("the file that `jwt_verification_key_file` names is not text") from error
    return [("`jwt_verification_key_file`", text.removesuffix("\n").removesuffix("\r"))]


def _check_url(source: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f"{source} is no address; expected `https://host/path` or `http://host/path`")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(f"{source} holds a user name or a password; expected an address without")
