"""The configuration of authorization, in code and by settings.

The field names match existing programs. Source: `docs/reference/tokens.md#verification`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from spanwise.auth.algorithms import ALGORITHMS, canonical
from spanwise.errors import ConfigurationError
from spanwise.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULTS = Settings()
ADMIN_SCOPE = _DEFAULTS.jwt_admin_scope
MAX_LEEWAY_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class AuthorizationConfig:
    """How tokens are verified, and which claims they must have. Keys are loaded when the service starts.

    A missing field or None takes the value of the setting with the same name and the prefix `jwt_`. Keys from the
    settings are added to the keys given here.

    Attributes:
        verification_keys: public keys in PEM format, or shared secrets for the HMAC algorithms.
        jwks_file: the path of a JWKS file; reloaded when it changes.
        jwks_url: the `http` or `https` URL of a JWKS; refreshed in the background.
        algorithm: the algorithm of PEM keys, secrets, and RSA keys in a JWKS without `alg`; RS256 by default.
        audience: `aud` must be or contain this audience; not checked by default.
        issuer: `iss` must equal this issuer; not checked by default.
        leeway: allowed clock skew in seconds, at most 60.
        user_id_claim: the required claim with the user id.
        session_id_claim: the claim that limits a token to one session.
        scopes_claim: the claim with the scopes; `scope` is read if it is absent.
        admin_scope: the scope that grants everything.
        user_isolation: callers without `admin_scope` see only their own data.
        required_typ: the required media type of `typ` in the token header, such as `at+jwt`. By default, tokens whose
            type names a purpose other than access (`logout+jwt`, `dpop+jwt`, ...) are rejected.
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
        """Records the passed fields. A passed default value differs from a missing one."""
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
        jwks_files: for each JWKS file, the name of its source and its path.
        jwks_urls: for each JWKS URL, the name of its source and the URL.
        algorithm: the algorithm of PEM keys, secrets, and RSA keys in a JWKS without `alg`.
    """

    keys: tuple[tuple[str, str], ...] = field(repr=False)
    jwks_files: tuple[tuple[str, str], ...]
    jwks_urls: tuple[tuple[str, str], ...]
    algorithm: str

    @property
    def sources(self) -> list[str]:
        """Returns the names of all sources, for error messages."""
        return [source for source, _ in (*self.keys, *self.jwks_files, *self.jwks_urls)]


def resolve_config(config: AuthorizationConfig, settings: Settings) -> AuthorizationConfig:
    """Returns `config` with its missing fields, except keys, taken from the settings.

    Raises:
        ConfigurationError: a value is invalid.
    """
    left_out = {each.name for each in fields(config)} - {"verification_keys"} - _given(config)
    return replace(config, **{name: getattr(settings, f"jwt_{name}") for name in left_out})


def key_material(config: AuthorizationConfig, settings: Settings = _DEFAULTS) -> KeyMaterial:
    """Returns all sources of keys, from `config` and the settings.

    Code and settings may each give a key, a JWKS file and a JWKS URL. The algorithm of the settings applies only if
    code does not set it.

    Raises:
        ConfigurationError: a source is ambiguous or cannot be read, or the algorithm is not supported.
    """
    whole = resolve_config(config, settings)
    algorithm = canonical(str(whole.algorithm))
    if algorithm not in ALGORITHMS:
        name = "algorithm" if "algorithm" in _given(config) else "jwt_algorithm"
        raise ConfigurationError(f"`{name}` is not a supported algorithm; expected one of {', '.join(ALGORITHMS)}")
    urls = _both("jwks_url", config.jwks_url, settings.jwt_jwks_url)
    for url in urls:
        _check_url(*url)
    keys = ((f"`verification_keys[{index}]`", text) for index, text in enumerate(config.verification_keys))
    return KeyMaterial(
        keys=(*keys, *_key_of(settings)),
        jwks_files=_both("jwks_file", config.jwks_file, settings.jwt_jwks_file),
        jwks_urls=urls,
        algorithm=algorithm,
    )


def configured_sources(config: AuthorizationConfig, settings: Settings) -> list[str]:
    """Returns the names of all configured sources of keys. They appear in a warning if authorization is off."""
    in_code = [name for name in ("verification_keys", "jwks_file", "jwks_url") if getattr(config, name)]
    settings_names = ("jwt_verification_key", "jwt_verification_key_file", "jwt_jwks_file", "jwt_jwks_url")
    return [f"`{name}`" for name in (*in_code, *(name for name in settings_names if getattr(settings, name)))]


def _given(config: AuthorizationConfig) -> frozenset[str]:
    given: frozenset[str] = config.given  # type: ignore[attr-defined]  # set by __new__, not a field
    return given


def _both(name: str, in_code: str | None, in_settings: str | None) -> tuple[tuple[str, str], ...]:
    """Returns the sources of one kind with the names of their field and setting. Equal sources appear once."""
    sources = [(f"`{name}`", in_code), (f"`jwt_{name}`", in_settings if in_settings != in_code else None)]
    return tuple((name, value) for name, value in sources if value)


def _key_of(settings: Settings) -> list[tuple[str, str]]:
    if settings.jwt_verification_key_file is None:
        key = settings.jwt_verification_key
        return [] if key is None else [("`jwt_verification_key`", key)]
    if settings.jwt_verification_key is not None:
        raise ConfigurationError(
            "both `jwt_verification_key` and `jwt_verification_key_file` are set; expected one of them"
        )
    try:
        text = Path(settings.jwt_verification_key_file).read_text("utf-8-sig")
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
