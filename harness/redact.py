"""What must not get onto a tape: keys, the ids of accounts, and where somebody's home is."""

import os
import re
from collections.abc import Callable, Iterable

SECRET = "[redacted]"

# Keys and ids that nobody named, by their usual shapes: whole, or masked as error messages quote them
# ("Incorrect API key provided: sk-ab***yz"). But for sk- with a digit, capital or star: words stay words.
SHAPES = (
    r"\bsk-[\w*-]{4,}"
    r"|\b(?:org|proj|gsk|xai|hf|ghp)[-_](?=[\w*-]*[\dA-Z*])[\w*-]{6,}"
    r"|(?<=\bBearer )(?=\S*\d)[\w.~+/=-]{8,}"
)
SHORTEST = 6  # characters; a shorter "key" (local servers take any word) would be found in plain text


def redactor(secrets: Iterable[str] = ()) -> Callable[[str], str]:
    """A function that puts ``[redacted]`` for keys and ``~`` for the home folder into a text.

    Args:
        secrets: the keys in use. In a longer text each is found wherever it stands.
    """
    named = sorted({secret for secret in secrets if len(secret) >= SHORTEST}, key=len, reverse=True)
    secret = re.compile("|".join([*map(re.escape, named), SHAPES]))
    home = _home_pattern(os.path.expanduser("~"))

    def redact(text: str) -> str:
        return home.sub("~", secret.sub(SECRET, text))

    return redact


def _home_pattern(home: str) -> re.Pattern[str]:
    """The home folder where it is all of a path's beginning, also with the slashes of Windows and of JSON."""
    if len(home.strip("/\\")) < 2 or not os.path.isabs(home):  # "/", "~": unknown, or in every path
        return re.compile(r"(?!)")  # finds nothing
    ways = {home, home.replace("\\", "/"), home.replace("\\", "\\\\")}
    return re.compile(rf"(?<![\w.~-])(?:{'|'.join(map(re.escape, sorted(ways)))})(?![\w-]|\.\w)")
