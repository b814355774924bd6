"""Lessons 1 to 7: what the article builds."""

import re

from workshop.behaviours import behaviour, edit, read
from workshop.trial import Trial, expect, in_turn


@behaviour(1)
def remembers(trial: Trial) -> None:
    """Remembers what was said before."""
    seen = trial.run(["My name is Ada.", "What is my name?"], in_turn("Hello, Ada.", "Ada."))
    expect(len(seen.arrays) == 2, "two turns should send two requests")
    said = [message.content for message in seen.arrays[1]]
    expect("My name is Ada." in said, "the second request did not hold the first turn")
    expect("Hello, Ada." in said, "the second request did not hold the model's first reply")
    expect([m.role for m in seen.arrays[1][-3:]] == ["user", "assistant", "user"], "the roles are mixed up")


@behaviour(1)
def shows_the_answer(trial: Trial) -> None:
    """Shows what the model answers, all of it."""
    seen = trial.run(["Hello."], in_turn("Good day.\n\nWhat can I do?"))
    expect(
        seen.answers == ["Good day.\n\nWhat can I do?"], "the model's answer was not shown as it was given"
    )


@behaviour(2, "no result of the call was sent back: the model never saw the file")
def reads_a_file(trial: Trial) -> None:
    """Runs a TOOL_CALL line and sends the result back."""
    seen = trial.run(["What is the code?", "Go on."], in_turn(read("notes.txt"), "It is 4711."))
    expect(
        any("4711" in result for result in seen.results),
        "no result of the call was sent back: the model never saw the file",
    )
    expect("TOOL_CALL" not in seen.transcript, "the call was shown to the user as if it were an answer")
    expect("It is 4711." in seen.answers, "the answer after the result was not shown")


@behaviour(2, "the model was not told that its call failed")
def errors_are_results(trial: Trial) -> None:
    """Tells the model what went wrong, and goes on."""
    replies = (read("missing.txt"), 'TOOL_CALL {"name":"fly","arguments":{}}', "I give up.")
    seen = trial.run(["What is the code?", "Go on.", "Go on."], in_turn(*replies))
    errors = [result for result in seen.results if result.startswith("TOOL_RESULT ERROR")]
    expect(len(errors) == 2, "the model was not told that its call failed")
    expect("missing.txt" in errors[0], "the error did not name the file")
    expect("read_file" in errors[1], "the error about an unknown tool did not say which tools there are")
    expect("I give up." in seen.answers, "the conversation did not go on after the errors")


@behaviour(3, "with a polite word around it the call was not run")
def survives_polite_prose(trial: Trial) -> None:
    """Finds the call between lines of prose."""
    polite = f"Let me look.\n{read('notes.txt')}\nOne moment."
    seen = trial.run(["What is the code?", "Go on."], in_turn(polite, "It is 4711."))
    expect(any("4711" in r for r in seen.results), "with a polite word around it the call was not run")
    shown = "\n".join(seen.answers)
    expect("Let me look." in shown and "One moment." in shown, "not all of the prose was shown")
    expect("TOOL_CALL" not in shown, "the call was shown to the user as prose")


@behaviour(4, "the model could not list the files")
def explores(trial: Trial) -> None:
    """Lists the files of a folder."""
    call = 'TOOL_CALL {"name":"list_files","arguments":{"path":"src"}}'
    files = {"src/alpha.py": "", "src/beta/gamma.py": ""}
    seen = trial.run(["What is in src?", "Go on."], in_turn(call, "Two things."), files=files)
    listed = [result for result in seen.results if "alpha.py" in result]
    expect(listed and listed[0].startswith("TOOL_RESULT SUCCESS"), "the model could not list the files")
    expect("beta/" in listed[0], "a folder was not told from a file")


@behaviour(4, "the prompt did not tell of the tool list_files")
def prompt_follows_the_code(trial: Trial) -> None:
    """Tells the model of every tool, and of each by a call that can be copied."""
    seen = trial.run(["Hello."], in_turn("Hello."))
    prompt = seen.arrays[0][0].content
    for name in ("read_file", "list_files"):
        call = rf'^TOOL_CALL \{{"name": ?"{name}"'
        expect(re.search(call, prompt, re.MULTILINE), f"the prompt did not tell of the tool {name}")


@behaviour(4, "an argument of the wrong type was not told to the model as such")
def checks_arguments(trial: Trial) -> None:
    """Checks the arguments against the tool's signature."""
    wrong = ('{"path":7}', "{}", '{"path":"notes.txt","mode":"w"}')
    calls = [f'TOOL_CALL {{"name":"read_file","arguments":{arguments}}}' for arguments in wrong]
    seen = trial.run(["What is the code?", "Go on.", "Go on.", "Go on."], in_turn(*calls, "I give up."))
    errors = [result for result in seen.results if result.startswith("TOOL_RESULT ERROR")]
    expect(
        errors and re.search(r"\bstr(ing)?\b|\btext\b", errors[0]),
        "an argument of the wrong type was not told to the model as such",
    )
    expect(len(errors) == 3, "a missing or an unknown argument was let through")
    expect(all("path" in e for e in errors), "the error did not say which arguments there are")
    expect("I give up." in seen.answers, "the conversation did not go on after the errors")


@behaviour(5, "after one tool result the agent stopped and waited for the user")
def works_through_a_turn(trial: Trial) -> None:
    """Goes on by itself until it has the answer."""
    files = {"index.txt": "see notes.txt\n", "notes.txt": "The code is 4711.\n"}
    seen = trial.run(
        ["What is the code?"], in_turn(read("index.txt"), read("notes.txt"), "4711."), files=files
    )
    expect(len(seen.arrays) == 3, "after one tool result the agent stopped and waited for the user")
    expect(len(seen.results) == 2, "the model was asked again without the result of its call")
    expect(seen.answers == ["4711."], "the answer at the end of the turn was not shown")


@behaviour(6, "a file outside the workspace was read")
def stays_inside(trial: Trial) -> None:
    """Reads what is inside the workspace and refuses what is outside."""
    outside = ("../secret.txt", "sub/../../secret.txt", "link.txt")
    calls = [read("notes.txt"), read("nowhere.txt"), *map(read, outside)]
    calls += ['TOOL_CALL {"name":"list_files","arguments":{"path":".."}}']
    seen = trial.run(
        ["Look around."] + ["Go on."] * 6,
        in_turn(*calls, "Done."),
        files={"notes.txt": "The code is 4711.\n", "sub/a.txt": ""},
        beside={"secret.txt": "SECRET\n"},
        links={"link.txt": "../secret.txt"},
    )
    sent = "\n".join(message.content for message in seen.arrays[-1])
    expect("4711" in sent, "a file inside the workspace was not read")
    expect("SECRET" not in sent, "a file outside the workspace was read")
    listed = seen.result(5).startswith("TOOL_RESULT SUCCESS") and "workspace/" in seen.result(5)
    expect(not listed, "a folder outside the workspace was listed")
    missing = seen.result(1).replace("nowhere.txt", "")
    for number, path in enumerate((*outside, ".."), 2):
        told = seen.result(number).startswith("TOOL_RESULT ERROR")
        told = told and seen.result(number).replace(path, "") != missing
        expect(told, "the model was not told that the path leads outside the workspace")


@behaviour(7, "the file was not changed")
def edits_one_place(trial: Trial) -> None:
    """Changes the one place that matches, and nothing else."""
    files = {"notes.txt": "The code is 4711.\nKeep this.\n"}
    calls = (edit("notes.txt", "4711", "0815"), "Done.")
    seen = trial.run(["Change the code."], in_turn(*calls), files=files)
    expect(seen.files["notes.txt"] == "The code is 0815.\nKeep this.\n", "the file was not changed")
    expect(seen.results[-1].startswith("TOOL_RESULT SUCCESS"), "the model was not told that the edit worked")


@behaviour(7, "the model was not told why its edit was refused")
def refuses_a_doubtful_edit(trial: Trial) -> None:
    """Refuses an edit that matches nowhere, twice, or changes nothing; says how often and where."""
    before = "x = 1\ny = 2\nx = 1\naaa\n"
    doubtful = [("x = 1", "x = 3"), ("z", "y"), ("y = 2", "y = 2"), ("aa", "b")]
    calls = [edit("f.txt", old, new) for old, new in doubtful]
    seen = trial.run(["Change it."], in_turn(*calls, "I give up."), files={"f.txt": before})
    errors = [result for result in seen.results if result.startswith("TOOL_RESULT ERROR")]
    expect(seen.files["f.txt"] == before, "a doubtful edit changed the file")
    expect(len(errors) == 4, "not every doubtful edit was refused")
    told = errors[0].partition("\n")[2]
    expect(re.search(r"\b2\b|two|twice", told), "the model was not told why its edit was refused")
    expect(re.search(r"\b1\b.*\b3\b", told), "the error did not say where the matches are")


@behaviour(7, "the new file was not created")
def creates_and_never_overwrites(trial: Trial) -> None:
    """Creates a file with its folders, and never over one that exists."""
    missing = 'TOOL_CALL {"name":"edit_file","arguments":{"path":"notes.txt","new_text":"gone"}}'
    calls = (edit("new/plan.txt", "", "a plan"), edit("notes.txt", "", "gone"), missing, "Done.")
    seen = trial.run(["Write a plan."], in_turn(*calls))
    expect(seen.files.get("new/plan.txt") == "a plan", "the new file was not created")
    expect(seen.files["notes.txt"] == "The code is 4711.\n", "a file that existed was overwritten")
    expect(len([r for r in seen.results if "ERROR" in r]) == 2, "the model was not told that the file exists")


@behaviour(7, "the file was not changed")
def edits_stay_inside(trial: Trial) -> None:
    """Edits inside the workspace and not outside."""
    calls = (
        edit("notes.txt", "4711", "1"),
        edit("../diary.txt", "dear", "x"),
        edit("../new.txt", "", "x"),
        "Done.",
    )
    seen = trial.run(["Change them."], in_turn(*calls), beside={"diary.txt": "dear\n"})
    expect(seen.files["notes.txt"] == "The code is 1.\n", "the file was not changed")
    expect(seen.files["../diary.txt"] == "dear\n", "a file outside the workspace was changed")
    expect("../new.txt" not in seen.files, "a file outside the workspace was created")
