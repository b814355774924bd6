"""Settings: which endpoint, which model, which key. From flags, the environment and ``.env``."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from harness.errors import NoModelError, SettingsError

OPENAI_URL = "https://api.openai.com/v1"
CHEAP_MODEL = "gpt-4o-mini"  # when none is named: enough for every lesson, at a fraction of a cent a run
TIMEOUT = 180.0  # seconds: a laptop without a GPU can need two minutes to read a long conversation

# What a README or a template says where a key belongs. Narrow, because a real key is 50 to 160 random
# characters, and must not be refused for a word it happens to hold.
_PLACEHOLDER = re.compile(
    r"""[<>{}"'`]|\.\.\.|\*\*\*|^\$|your[-_ ]?(?:own|api|key|llm|open|secret|token)|x{8}|change[-_]?me""",
    re.IGNORECASE,
)

# One line of a .env file: KEY=value, with "export", quotes and a comment where somebody wrote them.
_DOTENV_LINE = re.compile(
    r"""\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*
    (?: '([^']*)'\s*(?:\#.*)? | "((?:[^"\\]|\\.)*)"\s*(?:\#.*)? | (.*?)\s*(?:(?<=\s)\#.*)? )""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Settings:
    """Where to send the array and as whom. Its repr, which ends up in logs and tracebacks, hides the key."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    """Seconds that one call may last, from its first try to the end of its last one."""

    def __post_init__(self) -> None:
        if self.api_key is not None:
            object.__setattr__(self, "api_key", _clean_key(self.api_key, "the API key"))

    @property
    def chat_url(self) -> str:
        """The address that takes the POST."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/chat/completions"))

    @property
    def exposes_key(self) -> bool:
        """Whether the key would cross a network unencrypted: http to another machine."""
        parts = urlsplit(self.base_url)
        here = re.fullmatch(r"localhost|.*\.localhost|127(\.\d+){3}|::1", parts.hostname or "")
        return self.api_key is not None and parts.scheme == "http" and not here


def load_settings(
    base_url: str | None = None,
    model: str | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    dotenv: Path | None = None,
) -> Settings:
    """Find the settings: a flag, then ``LLM_*``, then ``OPENAI_*``, then the same names in ``.env``.

    A variable that is set but empty counts as not set. Without a base URL a key goes to OpenAI; without a
    key none is sent, which is what local servers expect. ``LLM_TIMEOUT`` is in seconds.

    Raises:
        SettingsError: a setting can't be used; the text names it.
        NoModelError: neither an endpoint nor a key is set.
    """
    file = read_dotenv(dotenv)

    def find(name: str, *others: str) -> tuple[str, str] | None:
        """The first of the names that is set: its value, and what to call it in a complaint."""
        for place, values in (("", env), (" in .env", file)):
            for each in (name, *others):
                if value := values.get(each, "").strip():
                    return value, each + place
        return None

    url_found = (base_url, "--base-url") if base_url else find("LLM_BASE_URL", "OPENAI_BASE_URL")
    key_found = find("LLM_API_KEY", "OPENAI_API_KEY")
    model_found = find("LLM_MODEL", "OPENAI_MODEL")
    timeout_found = find("LLM_TIMEOUT")
    if not url_found and not key_found:
        raise NoModelError(
            "no model to talk to: set LLM_API_KEY (OpenAI, or with LLM_BASE_URL any other endpoint), "
            "or name a local server with --base-url http://127.0.0.1:11434/v1"
        )
    return Settings(
        base_url=_clean_base_url(*url_found) if url_found else OPENAI_URL,
        model=model or (model_found[0] if model_found else CHEAP_MODEL),
        api_key=_clean_key(*key_found) if key_found else None,
        timeout=_clean_timeout(*timeout_found) if timeout_found else TIMEOUT,
    )


def live_by_default(*, env: Mapping[str, str] = os.environ, dotenv: Path | None = None) -> bool:
    """Whether a lesson talks to an endpoint when no flag says so: only where ``LLM_API_KEY`` is set.

    An ``OPENAI_API_KEY`` that lies around in a shell was not put there for this program: it is used where
    the user asks for a live run, and never starts (and pays for) one by itself.

    Raises:
        SettingsError: ``.env`` can't be read.
    """
    return bool(env.get("LLM_API_KEY", "").strip() or read_dotenv(dotenv).get("LLM_API_KEY", "").strip())


def _clean_base_url(value: str, source: str) -> str:
    """The base URL in one form: without a trailing slash or ``/chat/completions``, a bare host with ``/v1``.

    Every server that the README names serves under ``/v1``. Into a URL that has another path nothing is
    guessed: where it is wrong, the 404 names the address that was tried. The text of an error leaves the
    value out, for some people paste a key into the wrong variable.
    """
    url = value.strip()
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that does not close
        usable = False
    if not usable or not url.isprintable() or re.search(r"[\s<>\"\\^`{|}]", url):
        raise SettingsError(
            f"{source} is not a base URL: it begins with http:// or https://, such as http://127.0.0.1:11434/v1"
        )
    if "@" in parts.netloc:
        raise SettingsError(f"{source} holds a user name or password; take it out and set LLM_API_KEY")
    path = parts.path.rstrip("/")
    path = path.removesuffix("/chat/completions").rstrip("/") if path else "/v1"
    return urlunsplit(parts._replace(path=path, fragment=""))


def _clean_key(value: str, source: str) -> str | None:
    r"""The key without the white space, or the literal ``\n``, that files and shells leave behind it.

    It is checked here because http.client's complaint about such a header quotes the whole header.
    """
    key = re.sub(r"(?:\\[nr])+$", "", value.strip())
    if _PLACEHOLDER.search(key):
        raise SettingsError(f"{source} is a placeholder, or has quotes around it: put the key itself there")
    if not re.fullmatch(r"[!-~]*", key):
        raise SettingsError(f"{source} holds a character that no key has (a space, an accent): copy it again")
    return key or None


def _clean_timeout(value: str, source: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:  # a day; also refuses nan and infinity
        raise SettingsError(f"{source} is not a number of seconds, such as 300")
    return seconds


def read_dotenv(path: Path | None) -> dict[str, str]:
    """The ``KEY=value`` lines of a file; empty where there is no file. Nothing is expanded in the values."""
    try:
        text = path.read_text("utf-8-sig") if path else ""
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}") from None
    values = {}
    for line in text.splitlines():
        if found := _DOTENV_LINE.fullmatch(line):
            name, single, double, plain = found.groups()
            if double is not None:
                double = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), double)
            values[name] = next(value for value in (single, double, plain) if value is not None)
    return values
