from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.auth.config import AuthorizationConfig, resolve_config
from spanwise.errors import ConfigurationError
from spanwise.settings import TABLE, Settings, load_settings
from support.kubernetes import service_links
from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTATION = ROOT / "docs" / "settings.md"


def write(folder: Path, text: str) -> Path:
    path = folder / "spanwise.toml"
    path.write_text(text, "utf-8")
    return path


def test_without_any_source_the_defaults_hold() -> None:
    assert load_settings(environ={}) == Settings()


def test_the_strongest_source_wins_and_each_wins_over_the_next(tmp_path: Path) -> None:
    config = write(tmp_path, "port = 4")
    sources = [
        ({"port": 1}, {"port": "2"}, {"SPANWISE_PORT": "3"}, config, 1),
        (None, {"port": "2"}, {"SPANWISE_PORT": "3"}, config, 2),
        (None, None, {"SPANWISE_PORT": "3"}, config, 3),
        (None, None, {}, config, 4),
        (None, None, {}, None, Settings().port),
    ]
    for code, flags, environ, file, expected in sources:
        assert load_settings(code, flags, environ, file).port == expected


def test_sources_are_merged_setting_by_setting(tmp_path: Path) -> None:
    config = write(tmp_path, 'host = "::1"\nport = 4')
    settings = load_settings({"search_threads": 3}, {"log_level": "debug"}, {"SPANWISE_PORT": "5"}, config)
    assert (settings.search_threads, settings.log_level, settings.port, settings.host) == (3, "debug", 5, "::1")


def test_the_environment_names_the_file_and_the_flag_wins_over_it(tmp_path: Path) -> None:
    named = write(tmp_path, "port = 4")
    environ = {"SPANWISE_CONFIG": str(named)}
    assert load_settings(environ=environ).port == 4
    other = tmp_path / "other.toml"
    other.write_text("port = 5", "utf-8")
    assert load_settings(environ=environ, config=other).port == 5


@pytest.mark.parametrize(
    ("code", "flags", "environ", "message"),
    [
        ({"prot": 1}, {}, {}, "unknown setting `prot` in code"),
        ({}, {"prot": "1"}, {}, "unknown setting `prot` in the command line"),
        ({}, {}, {"SPANWISE_PROT": "1"}, "unknown environment variable `SPANWISE_PROT`: there is no such setting"),
        ({"port": "80"}, {}, {}, "setting `port` from code: Expected `int`, got `str`"),
        ({}, {"port": "65536"}, {}, "setting `port` from the command line: Expected `int` <= 65535"),
        ({}, {}, {"SPANWISE_PORT": "x"}, "setting `port` from the environment: Expected `int`, got `str`"),
        ({}, {}, {"SPANWISE_LOG_LEVEL": "loud"}, "setting `log_level` from the environment: Invalid enum value 'loud'"),
        ({}, {}, {"JWT_JWKS_FILE": ""}, "setting `jwt_jwks_file` from the environment: Expected `str` of length >= 1"),
        (
            {},
            {},
            {"JWT_JWKS_FILE": "a", "SPANWISE_JWT_JWKS_FILE": "a"},
            "both `SPANWISE_JWT_JWKS_FILE` and `JWT_JWKS_FILE` are set; expected one",
        ),
        (
            {},
            {"stores": ("a",)},
            {},
            "setting `stores` from the command line: Expected `name=value`, each name once, got `a`",
        ),
        (
            {},
            {},
            {"SPANWISE_STORES": "a=b,a=c"},
            "setting `stores` from the environment: Expected `name=value`, each name once, got `a=c`",
        ),
        (
            {"stores": {"": "b"}},
            {},
            {},
            "setting `stores` from code: Expected `str` of length >= 1 - at `key` in `$`",
        ),
        ({"jwt_audience": None}, {}, {}, "setting `jwt_audience` from code: Expected `str`, got `null`"),
    ],
)
def test_an_unknown_setting_is_rejected_by_name(
    code: dict[str, object], flags: dict[str, str], environ: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigurationError) as rejected:
        load_settings(code, flags, environ)
    assert str(rejected.value) == message


SERVICE_NAMES = ("spanwise", "spanwise-reader", "spanwise-data", "spanwise-otlp-grpc", "spanwise-service", "spanwise-1")


@pytest.mark.parametrize("name", SERVICE_NAMES)
@pytest.mark.parametrize("host", ["10.96.0.12", "fd00:10:96::c"])
def test_variables_of_kubernetes_services_are_no_settings(name: str, host: str) -> None:
    ports = ("http", 7777, "tcp"), ("otlp-grpc", 4317, "tcp"), ("gossip", 9, "udp"), ("", 5000, "sctp")
    for open_ports in (ports, ports[::-1], ports[2:], ports[3:]):
        assert load_settings(environ=service_links(name, host, *open_ports)) == Settings()
        assert load_settings(environ=service_links(name, host, *open_ports) | {"SPANWISE_HOST": "::1"}).host == "::1"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SPANWISE_PORT", "tcp:7777"),
        ("SPANWISE_PORT", "tcp://10.96.0.12"),
        ("SPANWISE_PORT", "http://10.96.0.12:7777"),
        ("SPANWISE_PORT", "tcp://10.96.0.12:7777/path"),
        ("SPANWISE_OTLP_GRPC_PORT", "10.96.0.12:4317"),
        ("SPANWISE_SERVICE_PORT", "many"),
        ("SPANWISE_SERVICE_HOSTS", "10.96.0.12"),
        ("SPANWISE_READER_PORT", "7777"),
        ("SPANWISE_PORT_7777_TCP_PROTO", "7777"),
        ("SPANWISE_PORT_HTTP_TCP", "tcp://10.96.0.12:7777"),
        ("SPANWISE_DATA_PROT", "tcp://10.96.0.12:7777"),
        ("SPANWISE_PORTS", "tcp://10.96.0.12:7777"),
    ],
)
def test_a_variable_that_only_resembles_those_is_rejected(variable: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^(unknown environment variable|setting) `"):
        load_settings(environ={variable: value})


def test_a_file_is_rejected_by_name(tmp_path: Path) -> None:
    config = write(tmp_path, "prot = 1")
    with pytest.raises(ConfigurationError, match=r"unknown setting `prot` in `.*spanwise\.toml`"):
        load_settings(environ={}, config=config)
    with pytest.raises(ConfigurationError, match="is not TOML"):
        load_settings(environ={}, config=write(tmp_path, "port"))
    with pytest.raises(ConfigurationError, match=r"cannot read the settings file .* No such file"):
        load_settings(environ={}, config=tmp_path / "absent.toml")


@given(st.sampled_from(sorted(TABLE)), st.text())
def test_any_text_for_any_setting_is_its_type_or_rejected(name: str, value: str) -> None:
    rejection = ""
    try:
        settings = load_settings(flags={name: value}, environ={})
        assert msgspec.convert(getattr(settings, name), TABLE[name].type) is not None
    except ConfigurationError as error:
        rejection = str(error)
    assert not rejection or f"`{name}`" in rejection


def test_conventions_are_a_table_in_every_source(tmp_path: Path) -> None:
    expected = {"acme.kind:chat": "LLM", "acme.prompt": "input"}
    config = write(tmp_path, "[conventions]\n'acme.kind:chat' = 'LLM'\n'acme.prompt' = 'input'")
    sources: list[dict[str, Any]] = [
        {"code": {"conventions": expected}},
        {"flags": {"conventions": ("acme.kind:chat=LLM", "acme.prompt=input")}},
        {"environ": {"SPANWISE_CONVENTIONS": "acme.kind:chat=LLM, acme.prompt=input"}},
        {"config": config},
    ]
    for source in sources:
        assert load_settings(**{"environ": {}, **source}).conventions == expected


def test_stores_are_a_table_in_every_source(tmp_path: Path) -> None:
    expected = {"main": "/data/main", "old": "s3://bucket/old"}
    config = write(tmp_path, "[stores]\nmain = '/data/main'\nold = 's3://bucket/old'")
    given: list[dict[str, Any]] = [
        {"code": {"stores": expected}},
        {"flags": {"stores": ("main=/data/main", "old=s3://bucket/old")}},
        {"environ": {"SPANWISE_STORES": "main=/data/main, old=s3://bucket/old"}},
        {"config": config},
    ]
    for source in given:
        settings = load_settings(**{"environ": {}, **source})
        assert list(settings.trace_stores.items()) == list(expected.items())
    assert load_settings(environ={}).trace_stores == {"default": "./spanwise-data/traces"}
    assert load_settings(flags={"stores": ("a=b,c=d",)}, environ={}).stores == {"a": "b,c=d"}


def test_each_source_can_set_what_authorization_config_sets() -> None:
    in_code = {field.name for field in fields(AuthorizationConfig)} - {"verification_keys"}
    assert {f"jwt_{name}" for name in in_code} <= TABLE.keys()
    environ = {"SPANWISE_JWT_AUDIENCE": "theirs", "SPANWISE_JWT_LEEWAY": "3", "JWT_ALGORITHM": "ES256"}
    settings = load_settings(flags={"jwt_user_isolation": "false"}, environ=environ)
    whole = resolve_config(AuthorizationConfig(audience="ours", leeway=10, issuer=None), settings)
    assert (whole.audience, whole.leeway, whole.algorithm, whole.user_isolation) == ("ours", 10, "ES256", False)
    assert resolve_config(AuthorizationConfig(), settings).leeway == 3
    assert resolve_config(AuthorizationConfig(), Settings()).scopes_claim == "scopes"


def test_a_secret_has_no_flag_and_is_not_printed() -> None:
    settings = load_settings(environ={"JWT_VERIFICATION_KEY": "a secret"})
    assert TABLE["jwt_verification_key"].flag is None
    assert "a secret" not in f"{settings!r} {settings}"


@pytest.mark.parametrize("data_dir", ["s3://bucket/folder", "s3://bucket/folder/"])
def test_the_traces_have_their_own_folder(data_dir: str) -> None:
    assert load_settings({"data_dir": data_dir}, environ={}).trace_store == "s3://bucket/folder/traces"


def test_a_secret_is_given_once_or_in_a_file(tmp_path: Path) -> None:
    address = "postgresql://keeper:hidden@host/name"
    assert load_settings({"data_dir": "there/"}, environ={}).database == "there/runs.db"
    assert load_settings(environ={"SPANWISE_DATABASE_URL": address}).database == address
    file = tmp_path / "secret"
    file.write_text(f" {address}\n", "utf-8")
    assert load_settings({"database_url_file": str(file)}, environ={}).database == address
    for arguments, words in (
        ({"database_url_file": str(file), "database_url": address}, "are both set"),
        ({"database_url_file": str(tmp_path / "absent")}, "cannot read `.*absent`: No such file"),
        ({"database_url_file": str(write(tmp_path, " \n"))}, "is empty"),
    ):
        with pytest.raises(ConfigurationError, match=words) as rejected:
            _ = load_settings(arguments, environ={}).database
        assert "hidden" not in str(rejected.value)


def test_every_setting_is_documented_and_nothing_else_is() -> None:
    lines = [line for line in DOCUMENTATION.read_text("utf-8").splitlines() if "`SPANWISE_" in line]
    rows = [line.strip("| ").split(" | ") for line in lines]
    documented = [[cell.replace("`", "") for cell in row] for row in rows if len(row) == 5]
    expected = [
        [
            setting.name,
            setting.flag or "none",
            ", ".join(filter(None, [setting.variable, setting.alias])),
            setting.default,
            setting.description,
        ]
        for setting in TABLE.values()
    ]
    assert documented == [[cell.replace("`", "") for cell in row] for row in expected]
    assert all(setting.description for setting in TABLE.values())
