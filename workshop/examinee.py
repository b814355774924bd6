"""A learner's file: loaded, and its errors told in words, by the learner's own lines and without ours."""

import inspect
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from harness.printable import one_line
from workshop.trial import UnmetError

SURROUNDINGS = ("client", "console", "workspace", "session")
"""What an agent may ask for by name, in its __init__; anything else, such as a budget, needs a default."""


class Examinee:
    """A learner's file.

    Raises:
        UnmetError: it can't be tried at all; the text says why.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = f"{path.parent.name}/{path.name}"
        try:
            source = path.read_bytes()
        except OSError as error:
            raise UnmetError(f"{self.shown} can't be read: {error.strerror}") from error
        self.lines = source.decode("utf-8", "replace").splitlines()
        # Compiled here, every time: Python's own cache takes a file of the same second and size for the same.
        try:
            code = compile(source, str(path), "exec", dont_inherit=True)
        except SyntaxError as error:
            kind = f"{type(error).__name__}: {error.msg}"
            at = f", at {self.at(error.lineno)}" if error.lineno else ""
            raise UnmetError(f"{self.shown} is not Python yet: {kind}{at}") from error
        except (ValueError, RecursionError, MemoryError) as error:  # a NUL; brackets nested too deep
            raise UnmetError(f"{self.shown} is not Python yet: {error}") from error
        self.agent_class = self._run(code)

    def at(self, number: int) -> str:
        """A line of the file, as it is named in a sentence."""
        line = self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""
        return f"line {number} of {self.shown}" + (f": {one_line(line, 120)}" if line else "")

    def line_of(self, error: BaseException) -> int | None:
        """The last line of the file that an error went through, if any."""
        numbers = [
            number
            for frame, number in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == str(self.path)
        ]
        return numbers[-1] if numbers else None

    def told(self, error: BaseException, number: int) -> str:
        """An error of the learner's program, as a sentence."""
        try:
            text = one_line(str(error), 300)
        except Exception:  # an exception class of the learner's own, with an error in it
            text = ""
        name = type(error).__name__
        return f"your agent raised {name}{f': {text}' if text else ''} at {self.at(number)}"

    def _run(self, code: Any) -> type[Any]:
        name = f"agent_of_{self.path.parent.name}_{self.path.stem}"
        spec = spec_from_file_location(name, self.path)
        assert spec
        module = module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up while the class is being made
        try:
            exec(code, module.__dict__)
        except BaseException as error:
            raise UnmetError(self.told(error, self.line_of(error) or 0)) from error
        agent = getattr(module, "Agent", None)
        if not isinstance(agent, type):
            raise UnmetError(f"{self.shown} defines no class Agent")
        if not callable(getattr(agent, "run", None)):
            raise UnmetError(f"class Agent of {self.shown} has no method run, which takes the user's turns")
        unknown = [
            parameter.name
            for parameter in inspect.signature(agent).parameters.values()
            if parameter.name not in SURROUNDINGS
            and parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        if unknown:
            raise UnmetError(
                f"Agent.__init__ asks for {unknown[0]!r}, which it is not always given: "
                f"it may ask for {', '.join(SURROUNDINGS)}, by name; anything else needs a default"
            )
        return agent
