"""What common credentials look like, and finding them in bytes.

In two stages, since almost nothing in a log is a credential: a plain search for a literal that each
kind has, and a regular expression only there. No kind matches a commit id, a digest, a lock file's
hash, an etag or a UUID, unless it stands where a credential is declared (``Authorization: ...``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trialbook.storage.spans import Span

_HEX_ONLY = re.compile(rb"[0-9a-fA-F]*")
# What stands where a value will be put in, or was taken out.
_TEMPLATE = re.compile(
    rb"\$\{[^}]*\}|\$\(?\w+\)?|\{+[^}]*\}+|<[^>]*>|[*.]+|%(?:\(\w+\))?[sd]"
    rb"|.*(?:\.\.\.|[Rr]edacted).*",
    re.DOTALL,
)
# What people write where no password is, in documentation and tests.
_NO_PASSWORD = re.compile(
    rb"(?i:(?:my|your|the|some|a)?[-_]?(?:(?:db|api|auth|access|test|super|user)?[-_]?)"
    rb"(?:pass(?:word|wd|phrase)?|pw|pwd|secret|changeme|change[-_]me|example|test(?:ing)?|dummy|fake|"
    rb"user(?:name)?|admin|root|postgres(?:ql)?|mysql|mongo|redis|rabbitmq|guest|foo|bar|baz|token|"
    rb"key|x-oauth-basic|hidden|none|null|x+|_+)[\d!]{0,4})"
)
# What may stand right before a credential although it ends in a letter or digit: an escaped line
# end, a character in a URL or in JSON, a terminal's colour.
_ESCAPE = re.compile(
    rb"(?:\\[abfnrtv0]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9A-Fa-f]{2}|\[[0-9;]*m)\Z"
)
_LETTER = re.compile(rb"[A-Za-z]")
_DIGIT = re.compile(rb"[0-9]")
_FEW_CHARACTERS = 12
_WORD = re.compile(rb"[A-Za-z0-9_]")
_ESCAPE_BYTES = 12

KEY_BEGIN = b"-----BEGIN "
"""What every private key begins with."""

_BEGIN = re.compile(rb"-----BEGIN (?P<label>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----")
_KEY_BYTES = 1 << 16
_KEY_RUN = re.compile(rb"[A-Za-z0-9+/=]{40}")
# How a key goes on that has no end, since it was cut off: lines of base64, headers, line ends, all
# of them plain or escaped, and what a diff or a log may put before a line.
_KEY_BODY = re.compile(
    rb"(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment): ?[^\r\n\\\"]*"
    rb"|\\+[nrt]|[\s\"',+>|]|[A-Za-z0-9+/=]{1,15}(?=[\s\\\"']|\Z))*"
)


def _anything(_value: bytes) -> bool:
    return True


def _mixed(value: bytes) -> bool:
    """Letters and digits: no word, no number, no template."""
    mixed = _LETTER.search(value) and _DIGIT.search(value)
    return mixed is not None and not _TEMPLATE.fullmatch(value)


def _varied(value: bytes) -> bool:
    """Not the same few characters over and over, as in documentation."""
    return len(set(value)) >= _FEW_CHARACTERS


def _real_password(value: bytes) -> bool:
    return not _TEMPLATE.fullmatch(value) and not _NO_PASSWORD.fullmatch(value)


def _no_example(value: bytes) -> bool:
    return b"EXAMPLE" not in value


def _no_digest(value: bytes) -> bool:
    return _no_example(value) and not _HEX_ONLY.fullmatch(value)


def _both_cases(value: bytes) -> bool:
    tail = value.partition(b"_")[2]
    return tail.lower() != tail != tail.upper()


@dataclass(frozen=True, slots=True)
class Credential:
    """One kind: the pattern is tried where a literal stands, and takes in its group ``secret``.

    Without such a group, all of the match is secret. ``sure`` has the last word on what was taken.
    ``free``: it must not stand in the middle of a word.
    """

    kind: str
    literals: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    sure: Callable[[bytes], bool] = _anything
    free: bool = True


def _kind(
    kind: str,
    literals: str,
    pattern: str,
    sure: Callable[[bytes], bool] = _anything,
    *,
    free: bool = True,
) -> Credential:
    named = tuple(text.replace("~", " ").encode() for text in literals.split())
    return Credential(kind, named, re.compile(pattern.encode()), sure, free)


_SEPARATOR = r"""[\s"'\\:=>,|]{1,12}"""
_VALUE = r"(?P<secret>[A-Za-z0-9._~+/=-]{16,})"

# Those that are their own evidence come first, those that only their place gives away last: where
# both find the same bytes, the first one names them.
CREDENTIALS = (
    _kind(
        "aws-access-key-id",
        "AKIA ASIA ABIA ACCA",
        r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        _no_example,
    ),
    _kind(
        "aws-secret-access-key",
        "AKIA ASIA",
        r"""A[KS]IA[A-Z0-9]{16}(?:[\s"',:;|]|\\n|\\"){1,6}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])""",
        _no_digest,
    ),
    _kind(
        "aws-secret-access-key",
        "ecret_access_key ECRET_ACCESS_KEY ecretAccessKey ecret-access-key ecret~access~key "
        "ecret~Access~Key ecret_key ECRET_KEY",
        rf"(?i:ecret[_ -]?(?:access[_ -]?)?key){_SEPARATOR}"
        r"(?P<secret>(?:[A-Za-z0-9+/]|\\/){40})(?![A-Za-z0-9/+=])",
        _no_digest,
        free=False,
    ),
    _kind(
        "aws-session-token",
        "ession_token ESSION_TOKEN essionToken ecurity_token ecurity-Token ecurityToken",
        rf"(?i:(?:ession|ecurity)[_-]?token){_SEPARATOR}(?P<secret>(?:[A-Za-z0-9+/=]|\\/|%2[BbFf]){{100,}})",
        _no_example,
        free=False,
    ),
    _kind("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}", free=False),
    _kind("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}", free=False),
    _kind(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glagent- glft- glffct- glimt- gloas-",
        r"gl(?:pat|dt|rt|ptt|cbt|soat|agent|ft|ffct|imt|oas)-[A-Za-z0-9_-]{20,}"
        r"(?:\.[a-z0-9]{2}\.[a-z0-9]{9})?",
        _varied,
    ),
    _kind("slack-token", "xox", r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}", _mixed),
    _kind("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _kind(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?P<secret>(?:services|workflows|triggers)/[A-Za-z0-9/]{30,})",
        free=False,
    ),
    _kind(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+=]{32,})",
        _varied,
    ),
    _kind("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,}", _mixed, free=False),
    _kind(
        "openai-key",
        "sk-proj- sk-svcacct- sk-admin- sk-None-",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
        _mixed,
        free=False,
    ),
    _kind("openrouter-key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    _kind("openai-key", "sk-", r"sk-[A-Za-z0-9]{32,}(?![A-Za-z0-9_-])", _mixed),
    _kind("google-api-key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _kind("google-oauth-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _kind("google-oauth-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    _kind("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])", free=False),
    _kind(
        "npm-token",
        "_authToken :_auth= :_password=",
        r""":?_(?:authToken|auth|password)["'\\]*\s*[=:]\s*["'\\]*(?P<secret>[^\s"'\\]{16,})""",
        _mixed,
        free=False,
    ),
    _kind("pypi-token", "pypi-Ag", r"pypi-Ag[A-Za-z0-9_-]{50,}", free=False),
    _kind("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}", _both_cases),
    _kind("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}", _both_cases),
    _kind("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,}"),
    _kind("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}"),
    _kind("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[por]_v1_[0-9a-f]{64}"),
    _kind("docker-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[A-Za-z0-9_-]{27,}"),
    _kind("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _kind("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{100,}"),
    _kind("vault-token", "hvs. hvb.", r"hv[sb]\.[A-Za-z0-9_-]{24,}", _mixed),
    _kind(
        "azure-storage-key",
        "AccountKey= SharedAccessKey=",
        r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})",
        free=False,
    ),
    _kind("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _kind(
        "jwt",
        "eyJ",
        r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{10,}"
        r"|[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
    ),
    _kind(
        "bearer-token",
        "earer EARER",
        rf"(?i:earer)(?:\s|%20|\+|\\t){{1,4}}{_VALUE}",
        _mixed,
        free=False,
    ),
    _kind(
        "authorization-header",
        "uthorization UTHORIZATION",
        r"""(?i:uthorization)["'\\]*\s*[:=]\s*["'\\]*(?i:basic|token|apikey)\s+"""
        r"(?P<secret>[A-Za-z0-9._~+/=-]{8,})",
        _real_password,
        free=False,
    ),
    _kind(
        "api-key-header",
        "-api-key -Api-Key -API-Key -API-KEY rivate-token RIVATE-TOKEN rivate-Token",
        rf"""(?i:-api-key|rivate-token)["'\\]*\s*:\s*["'\\]*{_VALUE}""",
        _mixed,
        free=False,
    ),
    _kind(
        "url-password",
        "://",
        r"""://[^\s/:@"'<>`\\]{0,200}:(?P<secret>[^\s/"'<>`\\]{4,400})@""",
        _real_password,
        free=False,
    ),
    _kind(
        "url-password",
        "://",
        r"://(?P<secret>[A-Za-z0-9_]{20,200})@[A-Za-z0-9]",
        _mixed,
        free=False,
    ),
)


def credentials_in(data: bytes) -> tuple[Credential, ...]:
    """The kinds that may be in ``data`` or in a part of it; none besides."""
    return tuple(one for one in CREDENTIALS if any(literal in data for literal in one.literals))


def find_credentials(data: bytes, among: tuple[Credential, ...] = CREDENTIALS) -> Iterator[Span]:
    """Every place that holds what looks like a credential; places may overlap.

    With ``among`` only these kinds are looked for, besides whole private keys.
    """
    yield from _private_keys(data)
    for credential in among:
        for literal in credential.literals:
            if literal in data:  # hardly ever: nothing else may cost anything
                yield from _matches(data, literal, credential)


def _matches(data: bytes, literal: bytes, credential: Credential) -> Iterator[Span]:
    at = data.find(literal)
    while at >= 0:
        following = at + 1
        match = credential.pattern.match(data, at)
        if match is not None and (not credential.free or _stands_free(data, at)):
            group = "secret" if "secret" in credential.pattern.groupindex else 0
            if credential.sure(match[group]):
                yield Span(match.start(group), match.end(group), credential.kind)
                following = match.end()
        at = data.find(literal, following)


def _stands_free(data: bytes, at: int) -> bool:
    if at == 0 or not _WORD.match(data, at - 1):
        return True
    return _ESCAPE.search(data[max(at - _ESCAPE_BYTES, 0) : at]) is not None


def _private_keys(data: bytes) -> Iterator[Span]:
    """Whole blocks from BEGIN to END; where the end is missing, as far as the key goes on.

    Code that only speaks of such blocks has no key in between and is left alone.
    """
    at = data.find(KEY_BEGIN)
    while at >= 0:
        following = at + 1
        match = _BEGIN.match(data, at)
        if match is not None:
            end = _key_end(data, match)
            if _KEY_RUN.search(data, match.end(), end):
                yield Span(at, end, "private-key")
                following = end
        at = data.find(KEY_BEGIN, following)


def _key_end(data: bytes, begin: re.Match[bytes]) -> int:
    closing = b"-----END " + begin["label"] + b"-----"
    limit = begin.end() + _KEY_BYTES
    end = data.find(closing, begin.end(), limit)
    again = data.find(KEY_BEGIN, begin.end(), limit)
    if end >= 0 and not 0 <= again < end:
        return end + len(closing)
    body = _KEY_BODY.match(data, begin.end(), limit)
    return body.end() if body else begin.end()
