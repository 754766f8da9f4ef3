"""Loads settings from all their sources.

A value comes from the first source that has it: code, flag, environment, TOML file, default. An unknown name is an
error in every source, so that misspelt settings are noticed.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.errors import ConfigurationError
from spanwise.settings.service import Settings
from spanwise.settings.table import ENVIRONMENT_PREFIX, TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG_VARIABLE = "SPANWISE_CONFIG"
NO_SETTINGS = frozenset({CONFIG_VARIABLE, "SPANWISE_TOKEN"})
"""Variables with the prefix of settings that are not settings: the configuration file, and the token of clients."""
_SERVICE_LINK = re.compile(
    r"""[A-Z0-9_]+ (?:
        _SERVICE_HOST=[^\s/]+
      | _SERVICE_PORT (?:_[A-Z0-9_]+)? =\d+
      | _PORT (?:_\d+_(?:TCP|UDP|SCTP))? =(?:tcp|udp|sctp)://[^\s/]+:\d+
      | _PORT_\d+_(?:TCP|UDP|SCTP) (?: _PROTO=(?:tcp|udp|sctp) | _PORT=\d+ | _ADDR=[^\s/]+)
    )""",
    re.VERBOSE,
)
"""A variable, as `NAME=VALUE`, by which Kubernetes tells pods the address of a service.

A service named `spanwise` or `spanwise-data` creates variables with the prefix of settings. One of them, such as
`SPANWISE_PORT=tcp://...`, even has the name of a setting. Source: `pkg/kubelet/envvars/envvars.go` of Kubernetes.
"""


def load_settings(
    code: Mapping[str, object] | None = None,
    flags: Mapping[str, str | tuple[str, ...]] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> Settings:
    """Returns the settings merged from all sources. The parameters are in order of precedence.

    Args:
        code: values set in code, by setting name.
        flags: values of command line flags, by setting name; a tuple for a repeatable flag.
        environ: the environment variables; by default `os.environ`.
        config: the path of a TOML file; by default the value of `SPANWISE_CONFIG`, if set.

    Raises:
        ConfigurationError: a name is unknown, or a value does not fit its setting.
    """
    environ = os.environ if environ is None else environ
    if config is None and CONFIG_VARIABLE in environ:
        config = Path(environ[CONFIG_VARIABLE])
    merged: dict[str, object] = {}
    for source, values, from_text in (
        (f"`{config}`", _from_file(config) if config else {}, False),
        ("the environment", _from_environment(environ), True),
        ("the command line", flags or {}, True),
        ("code", code or {}, False),
    ):
        for name, value in values.items():
            if name not in TABLE:
                raise ConfigurationError(f"unknown setting `{name}` in {source}")
            merged[name] = TABLE[name].convert(value, source, from_text=from_text)
    return Settings(**merged)  # type: ignore[arg-type]  # each value was converted to its setting's type


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read the settings file `{path}`: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"the settings file `{path}` is not TOML: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    by_variable = {setting.variable: name for name, setting in TABLE.items()}
    by_variable |= {setting.alias: name for name, setting in TABLE.items() if setting.alias}
    found: dict[str, str] = {}
    for variable, value in environ.items():
        if variable in NO_SETTINGS or not (variable in by_variable or variable.startswith(ENVIRONMENT_PREFIX)):
            continue
        if _SERVICE_LINK.fullmatch(f"{variable}={value}"):
            continue
        name = by_variable.get(variable)
        if name is None:
            raise ConfigurationError(f"unknown environment variable `{variable}`: there is no such setting")
        if name in found:
            raise ConfigurationError(f"both `{TABLE[name].variable}` and `{TABLE[name].alias}` are set; expected one")
        found[name] = value
    return found
