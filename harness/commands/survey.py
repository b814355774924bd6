"""The command that asks what real models do: the course's page of it again, or a reader's own model."""

from collections.abc import Sequence
from pathlib import Path

import click

from harness.errors import HarnessError
from harness.lessons import COURSE


@click.command()
@click.option("--base-url", help="An OpenAI-compatible endpoint: survey the model there.")
@click.option("--model", help="The model's name at that endpoint.")
@click.option("--name", help="What its column is called; default: the model's name.")
@click.option("--prompt", "prompts", type=int, multiple=True, help="Only this lesson's prompt; repeatable.")
@click.option(
    "--to",
    "file",
    type=click.Path(path_type=Path),
    default=Path("recordings/survey.jsonl"),
    show_default=True,
)
@click.option("--check", is_flag=True, help="Change nothing; fail if docs/models.md is out of date.")
def survey(
    base_url: str | None,
    model: str | None,
    name: str | None,
    prompts: Sequence[int],
    file: Path,
    check: bool,
) -> None:
    """Count what real models do. Without options: docs/models.md again, from the replies that are stored.

    With --base-url or --model: the same tasks for a model of yours, and the table with its column. What it
    wrote is kept, so that a survey that was interrupted goes on where it was.
    """
    if base_url is None and model is None:
        from workshop.survey_page import PAGE, refresh_page

        stale = refresh_page(check=check)
        click.echo(f"{('out of date' if check else 'written') if stale else 'up to date'}: {PAGE}")
        if check and stale:
            raise HarnessError("run: make survey")
        return
    if check:
        raise click.UsageError("--check is for the course's own page; leave --base-url and --model out")
    ask_model(base_url, model, name, prompts, file)


def ask_model(
    base_url: str | None, model: str | None, name: str | None, prompts: Sequence[int], file: Path
) -> None:
    """Survey a model, with a line for each run, and print the table.

    Raises:
        HarnessError: the settings, the endpoint or the file; what was asked by then is kept.
    """
    from harness.client import ChatClient
    from harness.settings import load_settings
    from workshop.survey import PROMPTS
    from workshop.survey import survey as take
    from workshop.survey_page import stored_runs
    from workshop.survey_tables import table, verdict

    if unknown := set(prompts) - set(PROMPTS):
        raise click.UsageError(f"--prompt {min(unknown)}: the prompts are those of lessons {PROMPTS}")
    settings = load_settings(base_url, model, dotenv=COURSE / ".env")
    column = (name or settings.model).replace("|", "/")
    if any(run.model == column for run in stored_runs()):
        raise click.UsageError(f"there is a column {column!r} already; give yours another --name")
    client = ChatClient(settings, notice=lambda line: click.echo(line, err=True))
    mine = []
    try:
        for number, most, run in take(column, client.complete, file, tuple(prompts) or PROMPTS):
            mine.append(run)
            click.echo(f"{number:3} of {most}  lesson {run.prompt}  {run.task:14} {verdict(run)}")
    except HarnessError as error:
        raise HarnessError(
            f"{error} {len(mine)} runs are kept in {file}; the same command goes on."
        ) from error
    except KeyboardInterrupt:
        click.echo(f"\n{len(mine)} runs are kept in {file}; the same command goes on.", err=True)
        raise
    finally:
        client.close()
    click.echo("\n".join(["", *aligned(table([*stored_runs(), *mine]))]))
    click.echo(f"(what it wrote is in {file}; a model on a server that is not at temperature 0 varies)")


def aligned(rows: Sequence[str]) -> list[str]:
    """The rows of a markdown table with their columns one below the other; markdown all the same."""
    cells = [row.strip("|").split("|") for row in rows if not row.startswith("|---")]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [[cell.ljust(wide[0])] for cell, *_ in cells]
    for line, (_, *counts) in zip(lines, cells, strict=True):
        line += [count.rjust(width) for count, width in zip(counts, wide[1:], strict=True)]
    ruler = [f"|{'-' * wide[0]}|" + "|".join(f"{'-' * (width - 1)}:" for width in wide[1:]) + "|"]
    made = [f"|{'|'.join(line)}|" for line in lines]
    return [made[0], *ruler, *made[1:]]


COMMANDS = (survey,)
