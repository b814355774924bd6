"""The definitions of an agent file, and the reading of one.

A definition is a top-level function, a class, a method (``Agent.take_turn``) or a constant; all imports
together are ``imports``, the block that runs the script is ``main``. They are found by syntax tree and given
as text: a comment that differs is a difference too. The module's docstring, which every lesson has of its
own, is none, and neither are the blank lines around a definition.
"""

import ast
from collections.abc import Iterator

from harness.errors import HarnessError
from harness.lessons import Lesson


def definitions(source: str) -> dict[str, str]:
    """Every definition's name and text, in the order of the file.

    A comment belongs to the definition below it. What has one name (imports, a property and its setter,
    the fields of a class) is one definition.
    """
    body = split_docstring(source)[1]
    lines = body.split("\n")
    ends = list(_definition_ends(ast.parse(body)))
    found: dict[str, list[str]] = {}
    start = 0
    for name, end in ends:
        found.setdefault(name, []).append("\n".join(lines[start:end]).strip("\n"))
        start = end
    if ends:  # comments at the end of the file have nothing below them
        found[ends[-1][0]].append("\n".join(lines[start:]).strip("\n"))
    return {name: "\n".join(texts) for name, texts in found.items()}


def _definition_ends(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The name of each definition and its last line, so that together they cover the file."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            yield _name(node), node.end_lineno or 0
            continue
        first = node.body[0]
        decorators: list[ast.expr] = getattr(first, "decorator_list", [])
        yield node.name, min([first.lineno, *(decorator.lineno for decorator in decorators)]) - 1
        for member in node.body:
            is_method = isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
            yield f"{node.name}.{_name(member)}" if is_method else node.name, member.end_lineno or 0


def _name(node: ast.stmt) -> str:
    match node:
        case ast.Import() | ast.ImportFrom():
            return "imports"
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name
        case ast.Assign():
            return ", ".join(ast.unparse(target) for target in node.targets)
        case ast.AnnAssign() | ast.AugAssign():
            return ast.unparse(node.target)
        case ast.If() if ast.unparse(node.test) == "__name__ == '__main__'":
            return "main"
    return ast.unparse(node).partition("\n")[0]  # anything else is called what its first line says


def split_docstring(source: str) -> tuple[str, str]:
    """Cut right behind the module's docstring: what is each lesson's own, and what is shared."""
    tree = ast.parse(source)
    if ast.get_docstring(tree, clean=False) is None:
        return "", source
    docstring = "\n".join(source.split("\n")[: tree.body[0].end_lineno])
    return docstring, source[len(docstring) :]


def read_agent(lesson: Lesson) -> str:
    """The source of a lesson's agent.

    Raises:
        HarnessError: it can't be read, or is no Python.
    """
    source = read_text(lesson)
    check_syntax(source, _place(lesson))
    return source


def read_text(lesson: Lesson) -> str:
    """The text of a lesson's agent, whether it is Python or not.

    Raises:
        HarnessError: it can't be read.
    """
    try:
        return lesson.agent_path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HarnessError(f"{_place(lesson)} can't be read: {reason}") from error


def _place(lesson: Lesson) -> str:
    return f"lesson {lesson.number}: {lesson.folder.name}/agent.py"


def check_syntax(source: str, place: str) -> None:
    """Make sure that ``source`` can be parsed; ``place`` opens the error's text.

    Raises:
        HarnessError: it can't.
    """
    try:
        ast.parse(source)
    except SyntaxError as error:
        raise HarnessError(f"{place} line {error.lineno} is not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL; brackets nested too deep
        raise HarnessError(f"{place} is not Python: {error}") from error
