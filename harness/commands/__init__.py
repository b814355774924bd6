"""The commands beyond running a lesson, a room each. A room is imported when one of its commands is used.

So ``harness --help`` stays as quick as a hello-world of click: the table below has what it prints of them.
"""

import importlib

import click

ROOMS = {
    "bundle": ("teach", "Write one archive from which the lessons run without a network."),
    "carry": ("upkeep", "Merge an uncommitted fix of a lesson into every later one."),
    "cassettes": ("upkeep", "Record every lesson's tape again from its scripted model."),
    "check": ("bench", "Check your own lesson: what holds, and what does not yet."),
    "compare": ("compare", "Run a lesson and the one before side by side, then show the patch."),
    "doctor": ("upkeep", "Check this machine: Python, terminal, tapes, settings, endpoint."),
    "hint": ("bench", "The next of three hints for a lesson."),
    "matrix": ("upkeep", "Behaviour by lesson, from a real run."),
    "model": ("model", "A small real model on this machine: get, serve, run."),
    "pages": ("upkeep", "Write the generated parts of every page again."),
    "picture": ("upkeep", "Draw the README's picture again, from a run."),
    "progress": ("bench", "Where you are: each lesson, and what holds in yours."),
    "reset": ("bench", "Start a lesson again; your file is kept as a backup."),
    "solve": ("bench", "How our lesson differs from yours."),
    "start": ("bench", "Begin to write a lesson yourself: the task, on top of a file."),
    "survey": ("survey", "Count what real models do, or what yours does."),
    "try": ("bench", "See your own lesson play the lesson's scenario."),
    "watch": ("bench", "Check your own lesson at every save, until Ctrl+C."),
}
"""By name: the module of this package, and what ``harness --help`` says of the command."""


class Commands(click.Group):
    """A group whose commands are its own and those of the rooms."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, sorted."""
        return sorted({*self.commands, *ROOMS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported if it is in a room."""
        if cmd_name not in ROOMS:
            return super().get_command(ctx, cmd_name)
        room = importlib.import_module(f"harness.commands.{ROOMS[cmd_name][0]}")
        commands: dict[str | None, click.Command] = {command.name: command for command in room.COMMANDS}
        return commands[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name and one line each, without importing any room."""
        rows = []
        for name in self.list_commands(ctx):
            line = ROOMS[name][1] if name in ROOMS else (self.commands[name].help or "").split("\n")[0]
            rows.append((name, line))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
