"""The configuration of authorization, in code and by settings.

The field names are those of existing programs. Source: `docs/reference/tokens.md#verification`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from spanwise.auth.algorithms import ALGORITHMS
from spanwise.errors import ConfigurationError
from spanwise.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULTS = Settings()
ADMIN_SCOPE = _DEFAULTS.jwt_admin_scope
MAX_LEEWAY_SECONDS = 60.0
_SOURCES = ("jwks_file", "jwks_url", "algorithm")


@dataclass(frozen=True, kw_only=True)
class AuthorizationConfig:
    """How tokens are verified, and which claims they must have. Keys are loaded when the service starts.

    A field that is left out or None takes the value of the setting of the same name with the prefix `jwt_`.

    Attributes:
        verification_keys: public keys in PEM format, or shared secrets for the HMAC algorithms.
        jwks_file: the path of a JWKS file; reloaded when it changes.
        jwks_url: the `http` or `https` URL of a JWKS; refreshed in the background.
        algorithm: the algorithm of keys that do not name their own; RS256 by default.
        audience: the audience that `aud` must be or contain; not checked by default.
        issuer: the issuer that `iss` must be; not checked by default.
        leeway: allowed clock skew in seconds, at most 60.
        user_id_claim: the claim with the id of the user; tokens must have it.
        session_id_claim: the claim with the id of the session that a token is for.
        scopes_claim: the claim with the scopes; `scope` is read if it is absent.
        admin_scope: the scope that grants everything.
        user_isolation: whether callers without `admin_scope` see only their own data.
        required_typ: the media type that `typ` in the token header must be, such as `at+jwt`. By default, tokens
            whose type names a purpose other than access (`logout+jwt`, `dpop+jwt`, ...) are rejected.
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
        """Records which fields are passed, so that passing the default value differs from leaving it out."""
        self = super().__new__(cls)
        object.__setattr__(self, "given", frozenset(name for name, value in given.items() if value is not None))
        return self

    def __post_init__(self) -> None:
        """Validates the fields.

        Raises:
            ConfigurationError: a value is invalid; the message names the field.
        """
        if isinstance(self.verification_keys, str):
            raise ConfigurationError("`verification_keys` is a string; expected a list of strings")
        if not all(isinstance(text, str) for text in self.verification_keys):
            raise ConfigurationError(
                "`verification_keys` contains an item that is not a string; expected a list of strings"
            )
        if not 0 <= self.leeway <= MAX_LEEWAY_SECONDS:
            raise ConfigurationError(f"`leeway` is {self.leeway:g}; expected 0 to {MAX_LEEWAY_SECONDS:g} seconds")
        for name in ("user_id_claim", "session_id_claim", "scopes_claim", "admin_scope"):
            if not getattr(self, name):
                raise ConfigurationError(f"`{name}` is empty")
        for name in ("jwks_file", "audience", "issuer", "required_typ"):
            if getattr(self, name) == "":
                raise ConfigurationError(f"`{name}` is empty; leave it out to disable it")


@dataclass(frozen=True, kw_only=True)
class KeyMaterial:
    """All sources of verification keys, from code and settings, each with the name of its field or setting.

    Attributes:
        keys: for each key, the name of its source and its text.
        jwks_file: the name of the source, and the path.
        jwks_url: the name of the source, and the URL.
        algorithm: the algorithm of keys that do not name their own.
    """

    keys: tuple[tuple[str, str], ...] = field(repr=False)
    jwks_file: tuple[str, str] | None
    jwks_url: tuple[str, str] | None
    algorithm: str

    @property
    def sources(self) -> list[str]:
        """Returns the names of all sources, for error messages."""
        named = (*self.keys, *filter(None, (self.jwks_file, self.jwks_url)))
        return [source for source, _ in named]


def resolve_config(config: AuthorizationConfig, settings: Settings) -> AuthorizationConfig:
    """Returns `config` with the fields that it leaves out taken from the settings, except for the keys.

    Raises:
        ConfigurationError: a value is invalid.
    """
    left_out = {each.name for each in fields(config)} - {"verification_keys"} - _given(config)
    return replace(config, **{name: getattr(settings, f"jwt_{name}") for name in left_out})


def key_material(config: AuthorizationConfig, settings: Settings = _DEFAULTS) -> KeyMaterial:
    """Returns all sources of keys, from `config` and the settings.

    The key in the settings is added to the keys in code. The JWKS file, the JWKS URL and the algorithm of the settings
    apply only if code does not set them.

    Raises:
        ConfigurationError: a source is ambiguous or cannot be read, or the algorithm is not supported.
    """
    whole = resolve_config(config, settings)
    names = {name: f"`{name}`" if name in _given(config) else f"`jwt_{name}`" for name in _SOURCES}
    if whole.algorithm not in ALGORITHMS:
        raise ConfigurationError(
            f"{names['algorithm']} is not a supported algorithm; expected one of {', '.join(ALGORITHMS)}"
        )
    if whole.jwks_url:
        _check_url(names["jwks_url"], whole.jwks_url)
    keys = ((f"`verification_keys[{index}]`", text) for index, text in enumerate(config.verification_keys))
    return KeyMaterial(
        keys=(*keys, *_key_of(settings)),
        jwks_file=(names["jwks_file"], whole.jwks_file) if whole.jwks_file else None,
        jwks_url=(names["jwks_url"], whole.jwks_url) if whole.jwks_url else None,
        algorithm=whole.algorithm,
    )


def configured_sources(config: AuthorizationConfig, settings: Settings) -> list[str]:
    """Returns the names of all configured sources of keys, for a warning when authorization is off."""
    in_code = [name for name in ("verification_keys", "jwks_file", "jwks_url") if getattr(config, name)]
    settings_names = ("jwt_verification_key", "jwt_verification_key_file", "jwt_jwks_file", "jwt_jwks_url")
    return [f"`{name}`" for name in (*in_code, *(name for name in settings_names if getattr(settings, name)))]


def _given(config: AuthorizationConfig) -> frozenset[str]:
    given: frozenset[str] = config.given  # type: ignore[attr-defined]  # set by __new__, not a field
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
            f"cannot read the file given by `jwt_verification_key_file`: {error.strerror}"
        ) from error
    except ValueError as error:
        raise ConfigurationError("the file given by `jwt_verification_key_file` is not UTF-8 text") from error
    return [("`jwt_verification_key_file`", text.removesuffix("\n").removesuffix("\r"))]


def _check_url(source: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f"{source} is not a valid URL; expected `https://host/path` or `http://host/path`")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(f"{source} contains a user name or a password; expected a URL without them")
