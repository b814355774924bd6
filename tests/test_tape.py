"""The file of a tape: people can read it, every text comes back exactly, and nonsense is refused."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError, TapeError
from harness.messages import Message, assistant, system, user
from harness.mismatch import first_difference
from harness.redact import redactor
from harness.tape import Exchange, Tape, read_tape, write_tape

FIRST = (system("You are a test."), user("my name is Ada"))
SECOND = (*FIRST, assistant("Hello Ada!"), user("look"))
THIRD = (*SECOND, assistant("I will.\nTOOL_CALL {}"), user("and now?"))


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    path = tmp_path / "good.yaml"
    exchanges = [
        Exchange(FIRST, "Hello Ada!", finish_reason="stop", usage=(13, 3)),
        Exchange(SECOND, "I will.\nTOOL_CALL {}", finish_reason="stop", usage=(16, 14)),
        Exchange(THIRD, "slow down", "error", 429),
        Exchange(THIRD, "Done."),
    ]
    write_tape(path, Tape("scripted", "day 1", exchanges))
    return path


ODD = st.sampled_from(
    [
        *("x" * 90, "\r\n", "- ", "# ", ": ", "---", "...", "!!x", "*a", "null", "1"),
        *"\n \t\r\x85\u2028\ufeff\x00\x1b\ud800😀\U0010ffff'\"\\|{%@`",
    ]
)
TEXTS = st.text() | st.lists(ODD, max_size=40).map("".join)
MESSAGES = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXTS)
CLEAN = TEXTS.map(lambda text: user(text).content)  # a tape is handed no lone surrogates
COUNT = st.integers(0, 10**9)
EXCHANGES = st.builds(
    Exchange,
    st.lists(MESSAGES, max_size=4).map(tuple),
    CLEAN,
    st.sampled_from(["reply", "error", "body"]),
    st.integers(100, 999),
    st.none() | CLEAN,
    st.none() | st.tuples(COUNT, COUNT),
)


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
@settings(max_examples=60, deadline=None)
@given(
    model=CLEAN, exchanges=st.lists(EXCHANGES, min_size=1, max_size=4), crlf=st.booleans(), bom=st.booleans()
)
def test_every_text_comes_back_exactly_also_from_a_windows_checkout(
    tmp_path_factory: pytest.TempPathFactory,
    loader: type,
    model: str,
    exchanges: list[Exchange],
    crlf: bool,
    bom: bool,
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.yaml"
    write_tape(path, Tape(model, "then", exchanges))
    data = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" * bom + (data.replace(b"\n", b"\r\n") if crlf else data))
    with mock.patch.object(yaml, "CSafeLoader", loader, create=True):
        again = read_tape(path)
    assert (again.model, list(again.exchanges)) == (model, list(dict.fromkeys(exchanges)))
    write_tape(path, again)
    assert path.read_bytes() == data


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
def test_what_a_block_begins_and_ends_with_comes_back(tmp_path: Path, loader: type) -> None:
    edges = [
        "",
        " ",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "\n  ",
        "\n\t",
        " \n",
        "\r",
        "\x85",
        "#",
        "- ",
        "---\n",
        "...\n",
    ]
    texts = [f'{start}say "x"{end}' for start in edges for end in edges] + edges
    texts += [" " * 90, "\n" * 90, "\n " * 90]
    exchanges = [Exchange((user(text),), text, finish_reason=text) for text in texts]
    write_tape(tmp_path / "t.yaml", Tape("m", "w", exchanges))
    with mock.patch.object(yaml, "CSafeLoader", loader, create=True):
        assert list(read_tape(tmp_path / "t.yaml").exchanges) == exchanges


def test_long_text_is_a_block_that_can_be_read(tmp_path: Path) -> None:
    code = '    def f(x):\n\treturn "x"  \n\n    # – done\n'
    write_tape(tmp_path / "t.yaml", Tape("m", "w", [Exchange((user(code),), code * 9)]))
    text = (tmp_path / "t.yaml").read_text()
    assert "\n".join(line and f"      {line}" for line in code.split("\n")) in text
    assert "\\" not in text


def test_a_tape_is_as_long_as_its_conversation(tmp_path: Path) -> None:
    def size(steps: int) -> int:
        array, exchanges = FIRST[:1], []
        for step in range(steps):
            array += (user(f"step {step} " + "x" * 500), assistant("reply"))
            exchanges.append(Exchange(array[:-1], "reply"))
        write_tape(tmp_path / "t.yaml", Tape("m", "w", exchanges))
        return (tmp_path / "t.yaml").stat().st_size

    assert size(80) < 2.1 * size(40)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"nonsense",
        b"\xff\xfe\x00",
        b"\x00\n...\n",
        b"a: b: c\n...\n",
        b"- [\n...\n",
        b"{" * 1_000 + b"\n...\n",
        b"- " * 1_000 + b"\n...\n",
        b"about: &a [*a]\nexchanges: *a\n...\n",
        b"interactions: []\nversion: 1\n...\n",
        b"x: 2025-99-99\n...\n",
        b"? {a: b}\n: 1\n...\n",
        b"--- 1\n--- 2\n...\n",
        b"null\n...\n",
        *(
            b"about: !!%s x\n...\n" % tag
            for tag in (b"bool", b"int", b"timestamp", b"binary", b"set", b"python/none")
        ),
    ],
)
@pytest.mark.parametrize("c_loader", [True, False])
def test_nonsense_is_told_in_one_line_that_says_what_to_do(
    tmp_path: Path, data: bytes, c_loader: bool
) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes(data)
    with (
        mock.patch.object(yaml, "CSafeLoader", yaml.CSafeLoader if c_loader else yaml.SafeLoader),
        pytest.raises(TapeError, match=r"^.*t\.yaml is no tape: .*make cassettes.*make record-N.*$"),
    ):
        read_tape(path)


def test_a_missing_tape_and_one_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(TapeError, match=r"there is no tape .*t\.yaml\. Record it again: make cassettes"):
        read_tape(tmp_path / "t.yaml")
    with pytest.raises(TapeError, match="can't be read"):
        read_tape(tmp_path)


def test_a_tape_that_was_cut_anywhere_is_no_tape(tape: Path, tmp_path: Path) -> None:
    data = tape.read_bytes()
    for end in range(0, len(data.rstrip()), 7):
        (tmp_path / "t.yaml").write_bytes(data[:end])
        with pytest.raises(TapeError, match=r"t\.yaml is no tape"):
            read_tape(tmp_path / "t.yaml")


@pytest.mark.parametrize(
    "attack",
    [
        "!!python/object/apply:os.system ['touch {proof}']",
        "!!python/object/new:os.system ['touch {proof}']",
        "!!python/object/apply:subprocess.check_output [['touch', '{proof}']]",
        "!!python/name:os.system",
        "!!python/module:os",
        "!!python/str x",
        "!!python/tuple [x]",
        "!made-up x",
    ],
)
@pytest.mark.parametrize("place", ['"Hello Ada!"', '"scripted"', '"day 1"', "1"])
def test_a_tape_that_asks_for_python_objects_is_refused(
    tape: Path, tmp_path: Path, attack: str, place: str
) -> None:
    proof, path = tmp_path / "proof", tmp_path / "t.yaml"
    path.write_text(tape.read_text().replace(f": {place}\n", f": {attack.format(proof=proof)}\n", 1))
    assert path.read_text() != tape.read_text()
    with pytest.raises(TapeError, match=r"is no tape: line [0-9]+: could not determine a constructor"):
        read_tape(path)
    assert not proof.exists()


def places(data: object, at: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The way to every value in a structure."""
    if at:
        yield at
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield from places(value, (*at, key))


def test_a_wrong_type_in_any_place_is_refused(tape: Path, tmp_path: Path) -> None:
    path, tried = tmp_path / "t.yaml", 0
    good = yaml.safe_load(tape.read_text().replace("  reply: ", "  status: 200\n  reply: "))
    for at in places(good):
        for wrong in (None, True, -1, 1.5, "text", [], ["x"], {}, {"x": 1}):
            data = copy.deepcopy(good)
            inner, key = data, at[-1]
            for step in at[:-1]:
                inner = inner[step]
            fine = (
                (isinstance(wrong, str) and isinstance(inner[key], str))
                or (key == "finish_reason" and wrong is None)
                or (key in ("messages", "exchanges") and wrong == [])
            )
            inner[key] = wrong
            path.write_text(f"{json.dumps(data)}\n...\n")  # JSON is YAML, and faster made
            if fine:
                read_tape(path)
                continue
            tried += 1
            with pytest.raises(TapeError, match=r"^.* is no tape: .*make cassettes.*$"):
                read_tape(path)
    assert tried > 300


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("continues: 2", "continues: 3", "exchange 3 continues none before it"),
        ("exchange: 2", "exchange: 3", "exchange 2 is missing"),
        ('- user: "look"', '- tool: "look"', "exchange 2: a message is one of system, user, assistant"),
        ('reply: "Done."', 'answer: "Done."', "exchange 4 needs one of reply, error, body"),
        ('reply: "Done."', 'reply: "Done."\n  error: "x"', "exchange 4 needs one of reply, error, body"),
        ("prompt_tokens: 13", "tokens: 13", "exchange 1: usage needs prompt_tokens and completion_tokens"),
        ("when: ", "where: ", "about needs model and when"),
    ],
)
def test_the_complaint_names_the_place(
    tape: Path, tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    (tmp_path / "t.yaml").write_text(tape.read_text().replace(old, new))
    with pytest.raises(TapeError, match=re.escape(complaint)):
        read_tape(tmp_path / "t.yaml")


def test_a_tape_that_can_not_be_written_leaves_the_one_that_was_there(tape: Path) -> None:
    before = tape.read_bytes()
    with (
        mock.patch.object(Path, "replace", side_effect=OSError(28, "No space left on device")),
        pytest.raises(TapeError, match=r"good\.yaml can't be written: No space left on device"),
    ):
        write_tape(tape, Tape("m", "w", [Exchange(FIRST, "another")]))
    assert tape.read_bytes() == before
    assert [path.name for path in tape.parent.iterdir()] == ["good.yaml"]


def test_every_error_of_a_tape_is_one_the_command_line_can_print() -> None:
    assert issubclass(TapeError, HarnessError)


@pytest.mark.parametrize(
    "text", ["task-12345678", "org-chart", "the sk- prefix", "Bearer authentication", "/"]
)
def test_plain_words_are_no_secrets(text: str) -> None:
    assert redactor(["", "no", "x"])(f"{text} no x") == f"{text} no x"


def test_a_home_that_is_the_root_or_unknown_redacts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for home in ("/", "~", ""):
        monkeypatch.setenv("HOME", home)
        assert redactor()("/a ~/b /") == "/a ~/b /"


# --- the first difference to what is on a tape


A, B, C = system("You are A.\nBe brief."), user("one two three\nfour five"), assistant("six")
TAPE = [(A, B), (A, B, C, user("seven")), (system("You are B."), B)]


@pytest.mark.parametrize(
    ("array", "difference"),
    [
        ((A, user("one two 3\nfour five")), "message 2 (user), line 1: '3\\n' here, 'three\\n' on the tape"),
        ((A, user("one two three\nfour six")), "message 2 (user), line 2: 'six' here, 'five' on the tape"),
        ((A, user("one two three")), "message 2 (user), line 1: 'three' here, 'three\\n' on the tape"),
        (
            (A, user("one two three\n")),
            "message 2 (user), line 2: nothing more here, 'four five' on the tape",
        ),
        (
            (A, user("one two three\nfour five ")),
            "message 2 (user), line 2: 'five ' here, 'five' on the tape",
        ),
        (
            (A, user("one two\x1b[2J\u202e")),
            "message 2 (user), line 1: 'two\\x1b[2J\\u202e' here, 'two three\\n' on the tape",
        ),
        ((A, assistant(B.content)), "message 2 comes from the assistant here, from the user on the tape"),
        ((A, B, C, user("eight")), "message 4 (user), line 1: 'eight' here, 'seven' on the tape"),
        (
            (A, B, C, user("seven"), C),
            "message 5 (assistant) is one more than the tape has: 'six'",
        ),
        ((A, B, C), "the array ends after message 3, where those of the tape go on"),
        ((system("You are B!"), B), "message 1 (system), line 1: 'B!' here, 'B.' on the tape"),
        (
            (system("You are A.\nBe long."), B),
            "message 1 (system), line 2: 'long.' here, 'brief.' on the tape",
        ),
        ((), "the array ends after message 0, where those of the tape go on"),
    ],
)
def test_the_first_difference_names_message_line_and_word(
    array: tuple[Message, ...], difference: str
) -> None:
    assert first_difference(array, TAPE) == difference


def test_of_several_arrays_as_near_the_one_of_the_same_length_is_shown() -> None:
    recorded = [(A, user("same x"), C, B), (A, user("same y")), (A, user("same z"), C)]
    assert first_difference((A, user("same !")), recorded).endswith("'!' here, 'y' on the tape")


def test_a_difference_far_into_a_long_line_is_still_shown_shortened() -> None:
    here, there = ("x" * 1000 + middle + "y" * 1000 for middle in ("Q", "R"))
    said = first_difference([user(here)], [[user(there)]])
    assert len(said) < 160
    assert f"{'x' * 20}Q{'y' * 19}…" in said
    assert f"{'x' * 20}R{'y' * 19}…" in said


@given(array=st.lists(MESSAGES, max_size=3), recorded=st.lists(st.lists(MESSAGES, max_size=3), max_size=3))
def test_every_difference_is_one_short_printable_line(
    array: list[Message], recorded: list[list[Message]]
) -> None:
    said = first_difference(array, recorded)
    assert said.isprintable()
    assert len(said) < 600
