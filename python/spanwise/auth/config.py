"""What an operator says about authorization, in code and in the environment.

Source: design, section 9; specification, "Authentication". The names are those existing programs use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spanwise.auth.keys import ALGORITHMS
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ADMIN_SCOPE = "agent_os:admin"
DEFAULT_ALGORITHM = "RS256"
LONGEST_LEEWAY_SECONDS = 60.0

KEY_VARIABLE = "JWT_VERIFICATION_KEY"
KEY_FILE_VARIABLE = "JWT_VERIFICATION_KEY_FILE"
JWKS_FILE_VARIABLE = "JWT_JWKS_FILE"
JWKS_URL_VARIABLE = "JWT_JWKS_URL"
ALGORITHM_VARIABLE = "JWT_ALGORITHM"


@dataclass(frozen=True, kw_only=True)
class AuthorizationConfig:
    """How tokens are verified and what they are worth. Nothing is read before the service starts.

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
    leeway: float = 10.0
    user_id_claim: str = "sub"
    session_id_claim: str = "session_id"
    scopes_claim: str = "scopes"
    admin_scope: str = ADMIN_SCOPE
    user_isolation: bool = True
    required_typ: str | None = None

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


def key_material(config: AuthorizationConfig, environ: Mapping[str, str]) -> KeyMaterial:
    """Returns every source of keys: those of `config`, and what the environment adds to them.

    The key of the environment is added to the keys in code. The JWKS file, the JWKS address and the algorithm of
    the environment count only where code gives none.

    Raises:
        ConfigurationError: a source is empty, ambiguous or unreadable, or the algorithm is not one of ours.
    """
    keys = [(f"`verification_keys[{place}]`", text) for place, text in enumerate(config.verification_keys)]
    found = _first(("`algorithm`", config.algorithm), environ, ALGORITHM_VARIABLE)
    source, algorithm = found or ("the default", DEFAULT_ALGORITHM)
    if algorithm not in ALGORITHMS:
        raise ConfigurationError(f"{source} is no algorithm for tokens; expected one of {', '.join(ALGORITHMS)}")
    jwks_url = _first(("`jwks_url`", config.jwks_url), environ, JWKS_URL_VARIABLE)
    if jwks_url:
        _check_url(*jwks_url)
    return KeyMaterial(
        keys=(*keys, *_environment_key(environ)),
        jwks_file=_first(("`jwks_file`", config.jwks_file), environ, JWKS_FILE_VARIABLE),
        jwks_url=jwks_url,
        algorithm=algorithm,
    )


def configured_sources(config: AuthorizationConfig, environ: Mapping[str, str]) -> list[str]:
    """Returns the names of all sources of keys that are given, usable or not, to warn where authorization is off."""
    in_code = [name for name in ("verification_keys", "jwks_file", "jwks_url") if getattr(config, name)]
    variables = (KEY_VARIABLE, KEY_FILE_VARIABLE, JWKS_FILE_VARIABLE, JWKS_URL_VARIABLE)
    return [f"`{name}`" for name in (*in_code, *filter(environ.get, variables))]


def _first(in_code: tuple[str, str | None], environ: Mapping[str, str], variable: str) -> tuple[str, str] | None:
    source, value = in_code if in_code[1] is not None else (f"`{variable}`", environ.get(variable))
    if value is None:
        return None
    if not value:
        raise ConfigurationError(f"{source} is empty; leave it out if it is not meant")
    return source, value


def _environment_key(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    if KEY_FILE_VARIABLE not in environ:
        return [(f"`{KEY_VARIABLE}`", environ[KEY_VARIABLE])] if KEY_VARIABLE in environ else []
    if KEY_VARIABLE in environ:
        raise ConfigurationError(f"both `{KEY_VARIABLE}` and `{KEY_FILE_VARIABLE}` are set; expected one of them")
    try:
        text = Path(environ[KEY_FILE_VARIABLE]).read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot read the file that `{KEY_FILE_VARIABLE}` names: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"the file that `{KEY_FILE_VARIABLE}` names is not text") from error
    return [(f"`{KEY_FILE_VARIABLE}`", text.removesuffix("\n").removesuffix("\r"))]


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
