"""Credentials are made up here from random parts, so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import sysconfig
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trialbook.storage.redact import Redactor

ROOT = Path(__file__).resolve().parents[2]
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
REDACTOR = Redactor({})


def rnd(seed: object) -> random.Random:
    return random.Random(str(seed))


def chars(length: int, alphabet: str = ALNUM, seed: object = 0) -> str:
    # Always of both cases and with a digit, as real ones practically are.
    start = "aB3" if alphabet == ALNUM and length > 3 else ""
    return start + "".join(rnd(seed).choices(alphabet, k=length - len(start)))


def redact(text: str) -> tuple[str, dict[str, int]]:
    clean, counts = REDACTOR.redact(text.encode())
    return clean.decode(), dict(counts)


def pem(label: str = "RSA PRIVATE KEY", lines: int = 12, end: str = "\n") -> str:
    body = [chars(64, ALNUM + "+/", number) for number in range(lines)]
    return end.join([f"-----BEGIN {label}-----", *body, f"-----END {label}-----"])


SELF_EVIDENT: dict[str, tuple[str, str]] = {
    "aws key id": ("aws-access-key-id", "AK" + "IA" + chars(16, UPPER)),
    "aws temporary key id": ("aws-access-key-id", "AS" + "IA" + chars(16, UPPER, 1)),
    "github classic": ("github-token", "gh" + "p_" + chars(36)),
    "github oauth": ("github-token", "gh" + "o_" + chars(36)),
    "github server": ("github-token", "gh" + "s_" + chars(36)),
    "github fine grained": ("github-token", "github" + "_pat_" + chars(22) + "_" + chars(59)),
    "gitlab": ("gitlab-token", "gl" + "pat-" + chars(20)),
    "gitlab routable": ("gitlab-token", "gl" + "pat-" + chars(27) + ".01.0a1b2c3d4"),
    "slack bot": ("slack-token", "xo" + f"xb-{chars(12, '123')}-{chars(12, '456')}-{chars(24)}"),
    "slack user": ("slack-token", "xo" + f"xp-{chars(11, '123')}-{chars(11, '456')}-{chars(32)}"),
    "slack app": ("slack-token", "xa" + f"pp-1-{chars(11, UPPER)}-{chars(13, '123')}-{chars(64)}"),
    "gitlab without digits": ("gitlab-token", "gl" + "pat-" + "aBcDeFgHiJkLmNoPqRsT"),
    "stripe live": ("stripe-key", "sk_" + "live_" + chars(24)),
    "stripe restricted": ("stripe-key", "rk_" + "live_" + chars(24)),
    "stripe webhook": ("stripe-key", "whs" + "ec_" + chars(32)),
    "openai project": ("openai-key", "sk-" + "proj-" + chars(80, ALNUM + "-_") + "7x"),
    "openai old": ("openai-key", "sk-" + chars(20) + "T3Blbk" + "FJ" + chars(20)),
    "anthropic": ("anthropic-key", "sk-" + "ant-api03-" + chars(93, ALNUM + "-_") + "7AA"),
    "openrouter": ("openrouter-key", "sk-" + "or-v1-" + chars(64, HEX)),
    "google": ("google-api-key", "AI" + "za" + chars(35, ALNUM + "-_")),
    "google oauth": ("google-oauth-token", "ya" + "29." + chars(60, ALNUM + "-_")),
    "google client": ("google-oauth-secret", "GOC" + "SPX-" + chars(28, ALNUM + "-_")),
    "npm": ("npm-token", "np" + "m_" + chars(36)),
    "pypi": ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc" + chars(150, ALNUM + "-_")),
    "hugging face": ("huggingface-token", "h" + "f_" + chars(34, string.ascii_letters)),
    "jwt": (
        "jwt",
        "ey" + f"J{chars(33)}.ey" + f"J{chars(60, ALNUM + '-_')}.{chars(43, ALNUM + '-_')}",
    ),
    "sendgrid": ("sendgrid-key", "S" + f"G.{chars(22)}.{chars(43)}"),
    "digitalocean": ("digitalocean-token", "dop" + "_v1_" + chars(64, HEX)),
    "private key": ("private-key", pem()),
    "openssh key": ("private-key", pem("OPENSSH PRIVATE KEY")),
    "ec key": ("private-key", pem("EC PRIVATE KEY", 3)),
    "pkcs8 key": ("private-key", pem("PRIVATE KEY")),
    "encrypted key": ("private-key", pem("ENCRYPTED PRIVATE KEY")),
    "pgp key": ("private-key", pem("PGP PRIVATE KEY BLOCK")),
    "windows line ends": ("private-key", pem(end="\r\n")),
    "key in json": ("private-key", pem(end="\\n")),
    "key in json in json": ("private-key", pem(end="\\\\n")),
    "key with headers": (
        "private-key",
        pem().replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1),
    ),
}

AROUND: dict[str, Callable[[str], str]] = {
    "alone": lambda value: value,
    "in a sentence": lambda value: f"the token is {value}, keep it",
    "an assignment": lambda value: f"export TOKEN={value}\n",
    "quoted": lambda value: f'{{"key": "{value}", "x": 1}}',
    "after an escaped line end": lambda value: f'"text": "first\\n{value}\\nnext"',
    "coloured": lambda value: f"\x1b[32m{value}\x1b[0m",
    "coloured in json": lambda value: f'"\\u001b[32m{value}\\u001b[0m"',
    "in a query": lambda value: f"https://example.org/x?key={value}&b=1",
    "escaped in a query": lambda value: f"to=https%3A%2F%2Fx%3Fkey%3D{value}%26b%3D1",
    "in brackets": lambda value: f"[{value}]({value})",
    "at the end of a path": lambda value: f"/var/run/{value}/x",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", SELF_EVIDENT)
def test_a_credential_goes_whole_and_is_named(name: str, around: str) -> None:
    kind, value = SELF_EVIDENT[name]
    clean, counts = redact(AROUND[around](value))
    assert clean == AROUND[around](f"[redacted:{kind}]")
    assert set(counts) == {kind}


AWS = "wJ7a" + chars(18, ALNUM + "+/", 3) + "/+" + chars(16, ALNUM, 4)
OPAQUE = chars(40, ALNUM + "-._~", 9)

BY_THEIR_PLACE = {
    f'aws_secret_access_key = "{AWS}"': ("aws-secret-access-key", AWS),
    f"AWS_SECRET_ACCESS_KEY={AWS}\n": ("aws-secret-access-key", AWS),
    f'{{"SecretAccessKey": "{AWS}"}}': ("aws-secret-access-key", AWS),
    f'\\"secretAccessKey\\": \\"{AWS}\\"': ("aws-secret-access-key", AWS),
    f"Secret Access Key: {AWS}": ("aws-secret-access-key", AWS),
    f"aws_session_token={chars(160, ALNUM + '+/')}==": (
        "aws-session-token",
        chars(160, ALNUM + "+/") + "==",
    ),
    f"Authorization: Bearer {OPAQUE}\r\n": ("bearer-token", OPAQUE),
    f"-H 'authorization: bearer {OPAQUE}'": ("bearer-token", OPAQUE),
    f'"Authorization": "Bearer {OPAQUE}"': ("bearer-token", OPAQUE),
    f"Authorization: Basic {base64.b64encode(b'me:pa55word').decode()}": (
        "authorization-header",
        base64.b64encode(b"me:pa55word").decode(),
    ),
    f"Authorization: token {chars(40, HEX)}": ("authorization-header", chars(40, HEX)),
    f"x-api-key: {OPAQUE}": ("api-key-header", OPAQUE),
    f'"X-Api-Key": "{OPAQUE}"': ("api-key-header", OPAQUE),
    f"PRIVATE-TOKEN: {OPAQUE}": ("api-key-header", OPAQUE),
    "postgres://app:pL4n-9x%21@db.example.org:5432/x": ("url-password", "pL4n-9x%21"),
    "https://me:Tr0ub4dor@example.org/repo.git": ("url-password", "Tr0ub4dor"),
    "postgres://app:p$ss*w{o}rd9@db/x": ("url-password", "p$ss*w{o}rd9"),
    "redis://:k33pm3s4fe@cache:6379": ("url-password", "k33pm3s4fe"),
    f"https://{chars(40, HEX, 5)}@git.example.org/x": ("url-password", chars(40, HEX, 5)),
    f"//registry.example.org/:_authToken={OPAQUE}": ("npm-token", OPAQUE),
    f"AccountName=x;AccountKey={chars(86, ALNUM + '+/')}==;": (
        "azure-storage-key",
        chars(86, ALNUM + "+/") + "==",
    ),
}


@pytest.mark.parametrize("text", BY_THEIR_PLACE)
def test_what_only_its_place_gives_away_goes_and_nothing_else(text: str) -> None:
    kind, value = BY_THEIR_PLACE[text]
    assert redact(text) == (text.replace(value, f"[redacted:{kind}]"), {kind: 1})


def test_a_key_id_and_its_secret_side_by_side_both_go() -> None:
    text = f"AK{'IA'}{chars(16, UPPER)},{AWS}\n"
    assert redact(text)[0] == "[redacted:aws-access-key-id],[redacted:aws-secret-access-key]\n"


def test_a_token_in_a_url_is_named_by_its_own_kind() -> None:
    _, token = SELF_EVIDENT["github classic"]
    clean, _ = redact(f"https://x-access-token:{token}@github.com/x/y.git")
    assert clean == "https://x-access-token:[redacted:github-token]@github.com/x/y.git"


def test_a_private_key_that_was_cut_off_goes_as_far_as_it_is_there() -> None:
    text = pem().rsplit("\n", 4)[0]
    assert redact(f"{text}\n")[0].strip() == "[redacted:private-key]"
    noted = f"{text}\n[trialbook: output cut here; 9 more bytes were dropped]\n"
    clean, _ = redact(noted)
    assert clean.startswith("[redacted:private-key]")
    assert "[trialbook: output cut here" in clean


def test_a_private_key_with_something_before_each_line_goes() -> None:
    text = "\n".join(f"2026-11-30 12:00:01 | {line}" for line in pem().splitlines())
    clean, counts = redact(f"{text}\nnext\n")
    assert clean == "2026-11-30 12:00:01 | [redacted:private-key]\nnext\n"
    assert counts == {"private-key": 1}


def test_two_keys_one_after_the_other_are_two() -> None:
    assert redact(f"{pem()}\nand\n{pem()}\n") == (
        "[redacted:private-key]\nand\n[redacted:private-key]\n",
        {"private-key": 2},
    )


# --- what has to come through unchanged ----------------------------------------------------------


def sha512(number: int) -> str:
    return base64.b64encode(hashlib.sha512(str(number).encode()).digest()).decode()


def package_lock(source: random.Random) -> Iterator[str]:
    for number in range(6000):
        yield f'    "node_modules/@scope/package-{number}": {{'
        yield f'      "version": "{number % 9}.{number % 7}.1",'
        url = f"https://registry.example.org/@scope/package-{number}/-/package-1.0.{number}.tgz"
        yield f'      "resolved": "{url}",'
        yield f'      "integrity": "sha512-{sha512(number)}",'
        yield f'      "shasum": "{source.randbytes(20).hex()}"'


def other_locks(source: random.Random) -> Iterator[str]:
    for number in range(4000):
        digest = source.randbytes(32)
        yield f"package-{number}==1.{number} \\\n    --hash=sha256:{digest.hex()}"
        yield f"example.org/mod/v{number} v1.2.3 h1:{base64.b64encode(digest).decode()}"
        yield f'checksum = "{source.randbytes(32).hex()}"'
        yield f"FROM registry.example.org:5000/base@sha256:{source.randbytes(32).hex()}"
        yield f"  resolution: {{integrity: sha1-{base64.b64encode(source.randbytes(20)).decode()}}}"


def git_output(source: random.Random) -> Iterator[str]:
    for _ in range(4000):
        commit = source.randbytes(20).hex()
        yield f"commit {commit} (HEAD -> main)"
        yield f"index {source.randbytes(20).hex()}..{source.randbytes(20).hex()} 100644"
        yield f"{commit[:9]} task-{commit[:12]} desk-{commit} risk-{source.randbytes(32).hex()}"
        yield f"git@example.org:group/{commit}.git ssh://git@example.org/x https://example.org/@me"
        yield f"secret_access_key: {commit}"


def agent_output(source: random.Random) -> Iterator[str]:
    for number in range(4000):
        tail = "".join(source.choices(ALNUM, k=24))
        made = uuid.UUID(bytes=source.randbytes(16), version=4)
        yield json.dumps({"type": "tool_use", "id": f"toolu_01{tail}", "uuid": str(made)})
        yield json.dumps({"id": f"msg_01{tail}", "request_id": f"req_{tail}", "n": number})
        yield f'etag: W/"{source.randbytes(16).hex()}" x-cache-key: {made}'
        yield f"call_{tail} chatcmpl-{tail} run-{made} sk-learn task_{tail}"
        yield f"hf_hub_{tail} npm_config_{number} pypi-publish-{tail} sk-{tail}"
        yield f"data:image/png;base64,{base64.b64encode(source.randbytes(300)).decode()}"
        yield f"at Object.<anonymous> (file:///x/node_modules/y/{number}.js:{number}:7)"


def talk(_source: random.Random) -> Iterator[str]:
    yield "Pass the token as `Authorization: Bearer <token>`, or as `Bearer ${TOKEN}`."
    yield "curl -H 'Authorization: Bearer $ANTHROPIC_API_KEY' -H 'x-api-key: YOUR_API_KEY_HERE'"
    yield "Bearer authentication-is-required-for-this-route and bearer of extraordinarily good news"
    yield "postgres://user:password@localhost/db mysql://root:root@127.0.0.1 amqp://guest:guest@mq"
    yield "https://${USER}:${PASSWORD}@example.org https://{user}:{password}@host http://u:****@h"
    yield "postgres://%s:%s@%s/db postgres://u:%(password)s@h postgres://u:$DB_PASSWORD@h/x"
    yield "//registry.example.org/:_authToken=${NPM_TOKEN_OF_THE_CI} glpat-xxxxxxxxxxxxxxxxxxxx"
    yield "http://localhost:8080/@vite/client npm:@scope/x@1.0 http://[::1]:8080/x http://a:80/b@c"
    yield "keys look like ghp_..., github_pat_..., glpat-xxxx, xoxb-, sk-ant-..., AIza..., hf_..."
    yield "AKIAIOSFODNN7EXAMPLE aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    yield 'if "-----BEGIN PRIVATE KEY-----" in text and "-----END PRIVATE KEY-----" in text:'
    yield "-----BEGIN PUBLIC KEY-----\n" + "\n".join(chars(64) for _ in range(5))
    yield "-----END PUBLIC KEY-----\n-----BEGIN CERTIFICATE-----\n" + chars(64)
    yield "-----END CERTIFICATE-----\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + chars(43)
    yield 'const eyJ = "eyJhbGciOiJIUzI1NiJ9"; password = getpass(); token: str = ""'
    yield "sk-toggleable__control sk-estimator-doc-link-with-a-rather-long-name-for-css"
    yield "session_token = request.cookies[session_token_name_of_the_configured_application]"


CORPORA = (package_lock, other_locks, git_output, agent_output, talk)


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.__name__)
def test_what_is_no_secret_comes_through_unchanged(
    corpus: Callable[[random.Random], Iterator[str]],
) -> None:
    lines = list(corpus(rnd(corpus.__name__)))
    text = "\n".join(lines)
    found = [text[span.start - 40 : span.end + 9] for span in REDACTOR.spans(text.encode())]
    assert found == []


@pytest.mark.slow
def test_in_a_large_log_only_what_was_planted_goes() -> None:
    lines = [line for corpus in CORPORA for line in corpus(rnd(corpus.__name__))]
    planted = list(SELF_EVIDENT.values())
    every = len(lines) // len(planted)
    expected = list(lines)
    for number, (kind, value) in enumerate(planted):
        at = number * every + 3
        lines[at] += f" {value}"
        expected[at] += f" [redacted:{kind}]"
    clean, counts = redact("\n".join(lines))
    assert clean == "\n".join(expected)
    assert sum(counts.values()) == len(planted)


def test_sources_and_documents_come_through_unchanged() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    files = [*library.glob("*.py"), *library.glob("email/*.py"), *library.glob("asyncio/*.py")]
    files += [
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("plugins/**/*.py"),
        *ROOT.glob("site/pages/**/*"),
    ]
    files += [*ROOT.glob("suites/**/*.yaml"), *ROOT.glob("*.md"), *ROOT.glob("*.txt")]
    found = {
        str(path): REDACTOR.redact(path.read_bytes())[1]
        for path in files
        if path.is_file() and REDACTOR.spans(path.read_bytes())
    }
    assert found == {}
