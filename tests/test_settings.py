"""Where settings come from, which wins, and what is refused."""

from pathlib import Path

import pytest

from harness.errors import SettingsError
from harness.settings import CHEAP_MODEL, OPENAI_URL, TIMEOUT, Settings, live_by_default, load_settings

LOCAL = "http://127.0.0.1:11434/v1"


def env_file(folder: Path, text: str | bytes) -> Path:
    path = folder / ".env"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# Who wins


def test_a_key_alone_goes_to_openai_and_a_cheap_model() -> None:
    settings = load_settings(env={"LLM_API_KEY": "sk-abc"})
    assert settings == Settings(OPENAI_URL, CHEAP_MODEL, "sk-abc", TIMEOUT)
    assert settings.chat_url == "https://api.openai.com/v1/chat/completions"


def test_a_local_server_needs_no_key() -> None:
    assert load_settings(LOCAL, "qwen", env={}) == Settings(LOCAL, "qwen", None)


def test_the_order_is_flag_then_llm_then_openai_then_the_file(tmp_path: Path) -> None:
    dotenv = env_file(
        tmp_path,
        "LLM_BASE_URL=http://file-llm/v1\nLLM_MODEL=file\nLLM_API_KEY=file-llm\nOPENAI_API_KEY=file-openai\n",
    )
    env = {
        "OPENAI_BASE_URL": "http://openai/v1",
        "OPENAI_MODEL": "openai",
        "OPENAI_API_KEY": "openai",
        "LLM_BASE_URL": "http://llm/v1",
        "LLM_MODEL": "llm",
        "LLM_API_KEY": "llm",
    }
    assert load_settings("http://flag/v1", "flag", env=env, dotenv=dotenv) == Settings(
        "http://flag/v1", "flag", "llm"
    )
    assert load_settings(env=env, dotenv=dotenv) == Settings("http://llm/v1", "llm", "llm")
    for name in ("LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"):
        env[name] = " "  # set, but empty
    assert load_settings(env=env, dotenv=dotenv) == Settings("http://openai/v1", "openai", "openai")
    assert load_settings(env={}, dotenv=dotenv) == Settings("http://file-llm/v1", "file", "file-llm")


def test_nothing_set_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"LLM_API_KEY.*--base-url"):
        load_settings(env={}, dotenv=tmp_path / "no such file")
    with pytest.raises(SettingsError, match="LLM_API_KEY"):
        load_settings(None, "a model alone is not enough", env={})


def test_a_live_run_starts_by_itself_only_with_the_key_of_this_program(tmp_path: Path) -> None:
    dotenv = env_file(tmp_path, "LLM_API_KEY=sk-abc\n")
    assert live_by_default(env={"LLM_API_KEY": "x"})
    assert live_by_default(env={}, dotenv=dotenv)
    assert not live_by_default(env={"OPENAI_API_KEY": "x", "LLM_BASE_URL": LOCAL, "LLM_API_KEY": " "})
    assert not live_by_default(env={}, dotenv=tmp_path / "no such file")


def test_the_time_that_a_call_may_last() -> None:
    assert load_settings(LOCAL, env={"LLM_TIMEOUT": "600"}).timeout == 600
    for wrong in ("0", "-1", "nan", "inf", "ten", "1e99"):
        with pytest.raises(SettingsError, match="LLM_TIMEOUT"):
            load_settings(LOCAL, env={"LLM_TIMEOUT": wrong})


# Base URLs


@pytest.mark.parametrize(
    ("given", "base_url"),
    [
        ("http://h", "http://h/v1"),
        ("http://h/", "http://h/v1"),
        (" http://h//\n", "http://h/v1"),
        ("http://h/v1", "http://h/v1"),
        ("http://h/v1/", "http://h/v1"),
        ("http://h/v1/chat/completions", "http://h/v1"),
        ("http://h/v1/chat/completions/", "http://h/v1"),
        ("http://h/chat/completions", "http://h"),
        ("HTTPS://H:8080", "https://H:8080/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
        ("https://h/api/v1beta/openai/", "https://h/api/v1beta/openai"),
        ("https://h/openai?api-version=1", "https://h/openai?api-version=1"),
        ("https://h/v1#fragment", "https://h/v1"),
    ],
)
def test_forms_of_a_base_url(given: str, base_url: str) -> None:
    assert load_settings(given, env={}).base_url == base_url
    assert load_settings(env={"LLM_BASE_URL": given}).base_url == base_url


def test_the_address_that_takes_the_post() -> None:
    assert Settings(LOCAL, "m").chat_url == LOCAL + "/chat/completions"
    assert Settings(LOCAL + "/", "m").chat_url == LOCAL + "/chat/completions"
    assert load_settings("http://h/chat/completions", env={}).chat_url == "http://h/chat/completions"
    assert load_settings("http://h/o?v=1", env={}).chat_url == "http://h/o/chat/completions?v=1"


@pytest.mark.parametrize(
    "given",
    [
        "h", "localhost:8080", "127.0.0.1:8080/v1", "//h/v1", "/v1", "ftp://h", "file:///etc", "http://", "http:///v1",
        "http://:80", "http://h:port", "http://h:99999", "http://h:0", "http://[::1", "http://<your-host>/v1",
        "http://h/a b", "http://h/\x07", "http://h/\u202e", "http://h/${X}", "sk-SECRET", "http://me:SECRET@h/v1",
    ],
)  # fmt: skip
def test_what_is_no_base_url_is_refused_by_the_name_of_its_setting(given: str, tmp_path: Path) -> None:
    dotenv = env_file(tmp_path, f"OPENAI_BASE_URL='{given}'\n")
    for source, arguments in (
        ("--base-url", {"base_url": given, "env": {}}),
        ("LLM_BASE_URL", {"env": {"LLM_BASE_URL": given}}),
        ("OPENAI_BASE_URL in .env", {"env": {}, "dotenv": dotenv}),
    ):
        with pytest.raises(SettingsError, match=f"^{source} ") as caught:
            load_settings(**arguments)  # type: ignore[arg-type]
        assert "SECRET" not in str(caught.value)
        assert "\n" not in str(caught.value)


# Keys


@pytest.mark.parametrize("given", ["sk-abc\n", "  sk-abc\r\n", "sk-abc\\n", "sk-abc\\r\\n", "\tsk-abc "])
def test_a_key_is_freed_of_what_files_leave_around_it(given: str) -> None:
    assert load_settings(env={"LLM_API_KEY": given}).api_key == "sk-abc"
    assert Settings(LOCAL, "m", given).api_key == "sk-abc"


@pytest.mark.parametrize(
    "given",
    [
        "<your-key>", "<key>", "your-api-key", "YOUR_API_KEY", "sk-your-key-here", "your_own_key", "sk-...",
        "sk-…", "xxxxxxxxxxxx", "sk-***", "change-me", "$LLM_API_KEY", "${KEY}", "{{ key }}", '"sk-SECRET"',
        "'sk-SECRET'", "Bearer sk-SECRET", "sk-SECRET\nsk-other", "sk-SECRET\x00", "sk-SECRETé",
        "sk-SECRET\u200b", "ключ",
    ],
)  # fmt: skip
def test_a_placeholder_or_what_no_header_can_carry_is_refused(given: str) -> None:
    with pytest.raises(SettingsError, match=r"^OPENAI_API_KEY ") as caught:
        load_settings(env={"OPENAI_API_KEY": given})
    assert "SECRET" not in str(caught.value)
    with pytest.raises(SettingsError, match=r"^the API key "):
        Settings(LOCAL, "m", given)


@pytest.mark.parametrize(
    "given",
    [
        "ollama", "x", "none", "test-key", "sk-no-key-required", "gsk_" + "aZ09" * 13, "a/b+c==",
        "sk-proj-" + "A_b-" * 39, "sk-Your0wn", "x" * 7,
    ],
)  # fmt: skip
def test_a_key_that_could_be_one_is_taken(given: str) -> None:
    assert load_settings(env={"LLM_API_KEY": given}).api_key == given


def test_the_repr_hides_the_key() -> None:
    settings = load_settings(env={"LLM_API_KEY": "sk-SECRET"})
    assert "SECRET" not in repr(settings) + str(settings) + f"{settings}"
    assert settings.api_key == "sk-SECRET"


# .env


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("LLM_MODEL=plain", "plain"),
        ("  export LLM_MODEL = spaced out  ", "spaced out"),
        ("LLM_MODEL=a # a comment", "a"),
        ("LLM_MODEL=a#b", "a#b"),
        ("LLM_MODEL='single # \\n' # comment", "single # \\n"),
        ('LLM_MODEL="double # \\"quoted\\""', 'double # "quoted"'),
        ('LLM_MODEL="it\'s"', "it's"),
        ("LLM_MODEL=a=b", "a=b"),
        ("LLM_MODEL=${HOME}", "${HOME}"),
        ("LLM_MODEL=first\nLLM_MODEL=last", "last"),
        ("LLM_MODEL=a\r\nOTHER=b\r\n", "a"),
        ("\ufeffLLM_MODEL=a", "a"),
        ("# LLM_MODEL=no\n\nnonsense\n=x\n1A=b\nLLM_MODEL=yes", "yes"),
        ("LLM_MODEL=modèle", "modèle"),
        ("LLM_MODEL=", CHEAP_MODEL),
        ("LLM_MODEL= # nothing", CHEAP_MODEL),
        ("LLM_MODEL=''", CHEAP_MODEL),
        ("XLLM_MODEL=no", CHEAP_MODEL),
    ],
)
def test_lines_of_a_dotenv(line: str, value: str, tmp_path: Path) -> None:
    assert load_settings(LOCAL, env={}, dotenv=env_file(tmp_path, line)).model == value


@pytest.mark.parametrize("text", [b"\xff\xfeL\x00", "folder"])
def test_a_dotenv_that_can_not_be_read_is_named(text: str | bytes, tmp_path: Path) -> None:
    path = tmp_path if text == "folder" else env_file(tmp_path, text)
    with pytest.raises(SettingsError, match="can't be read"):
        load_settings(LOCAL, env={}, dotenv=path)
    with pytest.raises(SettingsError, match="can't be read"):
        live_by_default(env={}, dotenv=path)
