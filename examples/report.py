"""Ask a model about a folder, from a program, and get data."""

from pydantic import BaseModel

from harness.chat import ask


class Steeping(BaseModel):
    """What is to be found out."""

    seconds: int
    celsius: int


print(ask("How long and how hot does sencha steep?", Steeping, workspace="lessons/workspace"))
