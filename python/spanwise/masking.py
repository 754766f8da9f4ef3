"""Masks tokens and passwords in logged text, because callers put them into paths, queries and addresses by mistake."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "[token]"
MAX_CHARACTERS = 2048
"""The logged characters of a request's text. Unauthenticated callers may send long paths."""

_VALUE = r"[^\s/&#;,\"'<>\\`()]+"
_NAMES = (
    r"(?<![\w.-])[\w.-]*(?:token|secret|passwd|password|passphrase|api[_-]?key|access[_-]?key|jwt|assertion|signature"
    r"|credential|authorization)s?"
)
"""Names whose values are secrets, such as `access_token`. Matching starts only at word starts, so it is linear."""
_EVERYWHERE = (
    # A JWS or JWE in compact form: its header is a JSON object, so it starts with `{"` in base64 (RFC 7515, 7.1).
    (r"eyJ[\w-]+(?:\.[\w-]*)+|eyJ[\w-]{16,}", MASK),
    # keys of well-known services
    (r"\b(?:sk|pk|rk|glpat)-[\w-]{12,}|\b(?:gh[opsu]|ghr|hf|github_pat)_\w{12,}|\bxox[a-z]-[\w-]{8,}", MASK),
    (r"\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}", MASK),
    # the user and password of an address
    (r"//[^/\s@\"'<>`]+@", f"//{MASK}@"),
    (rf"({_NAMES})(=|%3D)(?!Bearer TOKEN){_VALUE}", rf"\1\2{MASK}"),
    (rf"\b(bearer|basic)(\s+|%20|\+)(?={_VALUE})[\w.~+/=-]{{16,}}", rf"\1\2{MASK}"),
)
_IN_REQUESTS = (
    (rf"\b(bearer|basic)((?:\s|[:=+]|%20|%3A)+|(?<=bearer)/){_VALUE}", rf"\1\2{MASK}"),
    *_EVERYWHERE,
    (rf"({_NAMES})(:|%3A|/)(?!\[){_VALUE}", rf"\1\2{MASK}"),
    (rf"(?<![\w.-])(auth|code|key|pass|pwd|sig|x-amz-\w+)(=|%3D){_VALUE}", rf"\1\2{MASK}"),
    # the same without a scheme
    (r"(?<![^/?=&])[^/\s:@?&=]+:[^/\s@?&=]+@", f"{MASK}@"),
)


def _compiled(rules: Iterable[tuple[str, str]]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.ASCII | re.IGNORECASE), shown) for pattern, shown in rules]


_everywhere, _in_requests = _compiled(_EVERYWHERE), _compiled(_IN_REQUESTS)


def masked(text: str) -> str:
    """Returns a message or traceback with its tokens and passwords masked."""
    for pattern, shown in _everywhere:
        text = pattern.sub(shown, text)
    return text


def masked_request_text(text: str) -> str:
    """Returns the beginning of a path or another text of a request, with every possible token masked."""
    text = text[:MAX_CHARACTERS]
    for pattern, shown in _in_requests:
        text = pattern.sub(shown, text)
    return text
