"""The settings of the service. A value comes from code, a flag, the environment, a TOML file, or its default.

See `docs/settings.md`.
"""

from spanwise.settings.folders import is_bucket, store_at
from spanwise.settings.load import CONFIG_VARIABLE, NO_SETTINGS, load_settings
from spanwise.settings.service import DEFAULT_FOLDER, DEFAULT_STORE, Callers, Settings, absolute
from spanwise.settings.table import TABLE, Setting, choices, is_number, is_switch, is_table, shown_values

__all__ = [
    "CONFIG_VARIABLE",
    "DEFAULT_FOLDER",
    "DEFAULT_STORE",
    "NO_SETTINGS",
    "TABLE",
    "Callers",
    "Setting",
    "Settings",
    "absolute",
    "choices",
    "is_bucket",
    "is_number",
    "is_switch",
    "is_table",
    "load_settings",
    "shown_values",
    "store_at",
]
