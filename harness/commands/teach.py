"""The commands for those who teach the course: one archive for a room without a network."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    default="dist",
    show_default=True,
    help="The folder to write to.",
)
@click.option(
    "--platform",
    "platforms",
    multiple=True,
    metavar="NAME",
    help="linux, linux-arm, macos, macos-intel, windows, or a wheel tag; default: this machine.",
)
@click.option(
    "--python", "pythons", multiple=True, metavar="VERSION", help="Such as 3.12; default: this one."
)
def bundle(folder: Path, platforms: tuple[str, ...], pythons: tuple[str, ...]) -> None:
    """Write one archive from which the lessons run without any network: project, tapes, wheels.

    --platform and --python may be given several times; each platform is packed with each version.
    """
    from workshop.bundle import write_bundle

    made = write_bundle(folder, platforms, pythons, notice=click.echo)
    if made.untracked:
        some = ", ".join(made.untracked[:3]) + (", …" if len(made.untracked) > 3 else "")
        click.echo(f"not in it, as git does not track them: {some}")
    size = made.path.stat().st_size / 1_000_000
    click.echo(f"written: {made.path} ({size:.1f} MB; {made.files} files, {made.wheels} wheels)")
    click.echo("To use it: unpack it, and in its folder run: make lesson-1")
    click.echo("Without make: python install.py, then .venv/bin/python -m harness lesson 1")
    click.echo(r"On Windows:   py install.py, then .venv\Scripts\python -m harness lesson 1")


COMMANDS = (bundle,)
