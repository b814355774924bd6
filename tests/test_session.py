"""Sessions on disk: torn tails, wrong shapes, odd texts, privacy, and a log that stays linear."""

import itertools
import json
import os
import sys
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import SessionError
from harness.messages import Message, assistant, user
from harness.session import Session, all_sessions, find_session, new_session_path

GOOD = b'{"role": "user", "content": "hi"}\n'


def written(path, *messages):
    session = Session(path)
    for message in messages:
        session.write(message)
    session.close()


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "s.jsonl"
    messages = [user("a\nb\u2028c"), assistant("é \ud83d\ude00"), user("{}"), assistant("")]
    written(path, *messages)
    assert Session(path).messages == messages
    assert len(path.read_bytes().splitlines()) == 4


def test_a_torn_last_line_is_dropped_and_the_next_one_is_whole(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(GOOD + b'{"role": "assistant", "con')
    session = Session(path)
    assert session.torn
    assert session.messages == [user("hi")]
    session.write(assistant("yes"))
    session.close()
    again = Session(path)
    assert not again.torn
    assert again.messages == [user("hi"), assistant("yes")]


@pytest.mark.parametrize("end", [b"", b"\n", b"  \n", b"\n\n", b"\r\n"])
def test_blank_lines_are_nothing(tmp_path, end):
    path = tmp_path / "s.jsonl"
    path.write_bytes(GOOD + end)
    assert Session(path).messages == [user("hi")]


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b'{"role": "user"}',
        b'{"role": "boss", "content": "x"}',
        b"\xff\xfe",
        b"[" * 100000,
        b'{"role": "user", "content": 7}',
        b'{"content": "x"}',
        b'{"role": "system", "content": "x"}',
    ],
)
def test_a_bad_line_in_the_middle_is_named_and_nothing_is_changed(tmp_path, line):
    path = tmp_path / "s.jsonl"
    path.write_bytes(before := GOOD + line + b"\n" + GOOD)
    with pytest.raises(SessionError, match="line 2 "):
        Session(path)
    assert path.read_bytes() == before


def test_two_texts_of_one_role_in_a_row_are_one_message(tmp_path):
    path = tmp_path / "s.jsonl"
    written(path, user("a"), user("b"), assistant("c"))
    assert Session(path).messages == [user("a\n\nb"), assistant("c")]


def test_what_was_cleared_stays_in_the_file_and_out_of_the_array(tmp_path):
    path = tmp_path / "s.jsonl"
    session = Session(path)
    session.write(user("a"))
    session.clear()
    session.write(user("b"))
    session.close()
    assert Session(path).messages == [user("b")]
    assert b'"a"' in path.read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
def test_the_file_is_its_owners_alone(tmp_path):
    path = tmp_path / "state" / "s.jsonl"
    written(path, user("a"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0


def test_nothing_said_leaves_no_file(tmp_path):
    path = tmp_path / "s.jsonl"
    Session(path).close()
    assert not path.exists()


def test_what_can_not_be_written_or_read_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionError, match="can't be written"):
        written(tmp_path / "file" / "s.jsonl", user("a"))
    with pytest.raises(SessionError, match="can't be read"):
        Session(tmp_path)


def test_each_message_costs_its_own_length(tmp_path):
    """The log grows by what is said, not by what was said before."""
    path = tmp_path / "s.jsonl"
    session = Session(path)
    sizes = []
    for number in range(200):
        session.write(Message("user" if number % 2 else "assistant", "x" * 100))
        sizes.append(os.path.getsize(path))
    session.close()
    steps = {later - earlier for earlier, later in itertools.pairwise(sizes)}
    assert max(steps) - min(steps) <= len("assistant") - len("user")


def test_names_and_finding(tmp_path):
    now = datetime(2026, 11, 30, 12, 0, 0)
    first = new_session_path(tmp_path, now=now)
    written(first, user("How are you?\nWell?"))
    second = new_session_path(tmp_path, now=now)
    assert first != second
    written(second, user("b"))
    assert find_session(tmp_path, "") == second
    assert find_session(tmp_path, first.stem) == first
    with pytest.raises(SessionError, match="harness sessions"):
        find_session(tmp_path, "nope")
    with pytest.raises(SessionError, match="harness sessions"):
        find_session(tmp_path / "empty", "")
    (tmp_path / "x.jsonl").write_bytes(b"{\n")
    assert [one.first.split("\n")[0] for one in all_sessions(tmp_path)][:2] == ["How are you?", "b"]
    assert "line 1" in list(all_sessions(tmp_path))[-1].first


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text()), max_size=6), st.integers(0, 400)
)
@settings(max_examples=200, deadline=None)
def test_a_file_cut_anywhere_gives_a_beginning_of_what_was_said(tmp_path_factory, said, cut):
    path = tmp_path_factory.mktemp("cut") / "s.jsonl"
    messages = [Message(role, text) for role, text in said]
    written(path, *messages)
    raw = path.read_bytes() if path.exists() else b""
    path.write_bytes(raw[:cut])
    whole = raw[:cut].count(b"\n")
    texts = "\n\n".join(message.content for message in Session(path).messages)
    assert texts == "\n\n".join(message.content for message in messages[:whole])
    assert all(json.loads(line) for line in raw.splitlines())
