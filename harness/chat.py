"""After the workshop: the last working agent on a folder of one's own, also from a program."""

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from harness.client import ChatClient
from harness.console import Console
from harness.lessons import COURSE, find_lesson, load_agent, make_agent
from harness.session import Session
from harness.settings import Settings, load_settings

if TYPE_CHECKING:
    from pydantic import BaseModel

AGENT = 16  # the next lesson's tools lie
FIRST_STEPS = """\
No model is set. Either of these gives you one:
  a local one, with Ollama: harness chat --base-url http://localhost:11434/v1 --model qwen2.5-coder:7b
  a provider, with a key:   export LLM_API_KEY=… LLM_BASE_URL=https://…/v1 LLM_MODEL=…, then: harness chat"""

Form = TypeVar("Form", bound="BaseModel")


def ask(
    question: str, form: type[Form], *, workspace: Path | str = ".", settings: Settings | None = None
) -> Form:
    """Ask a model about a folder and get data: an instance of the pydantic model ``form``.

    Nobody is there to approve anything, so the agent reads and changes nothing.

    Args:
        question: what to find out.
        form: a pydantic model; what does not fit it goes back to the model.
        workspace: the folder to look into.
        settings: the endpoint; by default from the environment, as on the command line.

    Raises:
        HarnessError: there is no endpoint, it gives no reply, or the turn ends without an answer.
    """
    client = ChatClient(settings or load_settings(dotenv=COURSE / ".env"))
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        session = Session(Path(folder) / "session.jsonl")
        agent = make_agent(
            load_agent(find_lesson(AGENT).agent_path),
            client=client,
            console=Console(turns=[], out=io.StringIO()),
            workspace=Path(workspace),
            session=session,
        )
        try:
            answer: Form = agent.ask(question, form)
        finally:
            session.close()
            client.close()
    return answer
