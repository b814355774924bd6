"""Checking what a model sent against the signature of the tool it wants to call."""

import inspect
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from harness.errors import ToolError

if TYPE_CHECKING:
    import pydantic

Form = TypeVar("Form", bound="pydantic.BaseModel")


@cache
def checker(method: Callable[..., str]) -> Callable[..., str]:
    """The method, with its arguments checked by pydantic: strictly, since a guess is worse than an error.

    (``"2024"`` for 2024 or ``"yes"`` for true would be guesses.) Made at the first call of each tool.
    """
    import pydantic  # imported here: 60 ms that a conversation without a tool call does not need

    strictly: Callable[[Callable[..., str]], Callable[..., str]] = pydantic.validate_call(
        config={"strict": True}
    )
    return strictly(method)


def faults_of(error: "pydantic.ValidationError") -> str:
    """Every fault that pydantic found, on one line of bounded length."""
    faults = (
        f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False)
    )
    return "; ".join(faults)[:500]


def checked_call(method: Callable[..., str], agent: Any, arguments: dict[str, Any]) -> str:
    """Call a tool, a method of ``agent``, with the arguments that the model sent.

    Raises:
        ToolError: an argument is missing, unknown or of the wrong type. One line: every fault, and the form
            that would have been right.
    """
    import pydantic

    try:
        return checker(method)(agent, **arguments)
    except pydantic.ValidationError as error:
        parameters = list(inspect.signature(method).parameters.values())[1:]
        right = ", ".join(str(parameter) for parameter in parameters)
        raise ToolError(f"{faults_of(error)}. It takes {method.__name__}({right}).") from error


def meant_name(name: str, known: Iterable[str]) -> str:
    """The known name that differs only in case and punctuation (``Read-File``), if it is the only one.

    Else the name as it is: where two would do, choosing one is a guess (anomalyco/opencode#31514).
    """
    known = tuple(known)
    alike = [
        other for other in known if re.sub(r"[\W_]", "", other).lower() == re.sub(r"[\W_]", "", name).lower()
    ]
    return alike[0] if name not in known and len(alike) == 1 else name


def checked_form(form: type[Form], arguments: dict[str, Any]) -> Form:
    """An instance of a pydantic model, from the arguments of a call: strictly, by the rules of JSON.

    (Strict JSON takes a date as a string, since JSON has no dates, and no number for a string.)

    Raises:
        ToolError: they do not fit the form. One line: every fault.
    """
    import pydantic

    try:
        return form.model_validate_json(json.dumps(arguments), strict=True)
    except pydantic.ValidationError as error:
        raise ToolError(f"the answer does not fit its form: {faults_of(error)}") from error
