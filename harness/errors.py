"""Everything that can go wrong and that somebody can mend. The text of each is one line that says how."""


class HarnessError(Exception):
    """Root of the tree: the command line prints its text and leaves with ``exit_code``."""

    exit_code = 1


class SettingsError(HarnessError):
    """What the user gave (a flag, a variable, a file name) can't be used."""

    exit_code = 2


class NoModelError(SettingsError):
    """A live run was asked for, and neither an endpoint nor a key is set."""


class ModelError(HarnessError):
    """The endpoint gave no usable reply; ``retryable`` says whether asking again later makes sense."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class TapeError(HarnessError):
    """A cassette is missing, cut or is not one."""


class ScenarioError(HarnessError):
    """A scenario.yaml says something the scripted model does not understand."""


class ToolError(HarnessError):
    """A tool refuses or fails: its text is what the model is told, as a TOOL_RESULT ERROR."""


class SessionError(HarnessError):
    """A session's file can't be read or written."""


class EndOfDemonstrationError(HarnessError):
    """A scenario's bound on requests is reached."""
