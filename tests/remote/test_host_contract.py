"""What every host owes, on this machine and over a real SSH connection alike."""

from __future__ import annotations

import pytest

from core.errors import CommandFailed, InvalidInput, RemoteTimeout
from tests.remote.conftest import Place

ODD_NAMES = ["two words", "it's", 'say "so"', "line\nbreak", "$HOME `id` ;&|", "-rf", "ünï✓", "tab\tand\\slash"]


def mode_of(place: Place, path: str) -> int:
    return int(place.host.run(["stat", "-c", "%a", path]).out, 8)


@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 255])
def test_the_exit_code_is_returned(place: Place, code: int) -> None:
    done = place.host.run(["sh", "-c", f"echo out; echo err >&2; exit {code}"])
    assert (done.rc, done.out, done.err) == (code, b"out\n", b"err\n")


def test_a_program_that_is_not_there_is_code_127(place: Place) -> None:
    done = place.host.run(["draftledger-no-such-program"])
    assert done.rc == 127
    assert b"not found" in done.err


def test_a_file_that_is_not_executable_is_code_126(place: Place) -> None:
    place.host.put(b"#!/bin/sh\n", f"{place.folder}/plain")
    assert place.host.run([f"{place.folder}/plain"]).rc == 126


@pytest.mark.parametrize("word", ODD_NAMES)
def test_arguments_arrive_as_they_are(place: Place, word: str) -> None:
    done = place.host.run(["printf", "%s", word])
    assert done.out.decode() == word


@pytest.mark.parametrize("size", [0, 1, 100_000, 900_000])
def test_stdin_arrives_whole(place: Place, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    assert place.host.run(["cat"], stdin=data[:size]).out == data[:size]


def test_a_command_that_does_not_read_its_stdin_still_ends(place: Place) -> None:
    assert place.host.run(["true"], stdin=b"x" * 5_000_000).rc == 0


def test_both_streams_may_be_big_at_once(place: Place) -> None:
    script = "head -c 500000 /dev/zero; head -c 500000 /dev/zero >&2; printf end; printf END >&2"
    done = place.host.run(["sh", "-c", script])
    assert (len(done.out), len(done.err)) == (500_003, 500_003)
    assert done.out.endswith(b"end") and done.err.endswith(b"END")


def test_output_without_end_is_given_up(place: Place) -> None:
    with pytest.raises(CommandFailed, match="more than 1 MiB"):
        place.host.run(["sh", "-c", "yes & p=$!; sleep 2; kill $p"])


def test_a_command_past_its_deadline_is_a_timeout(place: Place) -> None:
    with pytest.raises(RemoteTimeout):
        place.host.run(["sleep", "3"], deadline_s=0.3)
    assert place.host.run(["echo", "next"]).out == b"next\n"


def test_death_by_a_signal_is_never_an_exit_code(place: Place) -> None:
    with pytest.raises(CommandFailed, match="signal"):
        place.host.run(["sh", "-c", "kill -9 $$"])


def test_a_started_child_with_redirected_streams_does_not_hold_the_call(place: Place) -> None:
    script = f"setsid -f sleep 4 >{place.folder}/log 2>&1 </dev/null; echo started"
    assert place.host.run(["sh", "-c", script], deadline_s=3).out == b"started\n"


def test_a_child_that_keeps_the_streams_does_not_hold_the_call(place: Place) -> None:
    assert place.host.run(["sh", "-c", "sleep 4 & echo started"], deadline_s=3).out == b"started\n"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_files_with_odd_names(place: Place, name: str) -> None:
    path = f"{place.folder}/{name}"
    place.host.put(b"\x00\xff content", path)
    assert place.host.size(path) == 9 + 1
    assert place.host.read(path, 0, 100) == b"\x00\xff content"
    assert place.host.run(["cat", "--", path]).out == b"\x00\xff content"


def test_put_replaces_whole_and_leaves_no_side_file(place: Place) -> None:
    path = f"{place.folder}/spec.json"
    place.host.put(b"a" * 300_000, path)
    place.host.put(b"b", path)
    assert place.host.read(path, 0, 10) == b"b"
    assert mode_of(place, path) == 0o600
    assert place.host.run(["ls", "-A", place.folder]).out == b"spec.json\n"


def test_put_into_a_missing_folder_is_a_missing_file(place: Place) -> None:
    with pytest.raises(FileNotFoundError):
        place.host.put(b"a", f"{place.folder}/no/such")


def test_put_over_a_folder_fails_and_leaves_nothing(place: Place) -> None:
    place.host.make_folder(f"{place.folder}/taken")
    with pytest.raises(CommandFailed):
        place.host.put(b"a", f"{place.folder}/taken")
    assert place.host.run(["ls", "-A", place.folder]).out == b"taken\n"


def test_read_goes_by_offset(place: Place) -> None:
    path = f"{place.folder}/events"
    data = bytes(range(256)) * 4096
    place.host.put(data, path)
    assert place.host.read(path, 0, 1 << 21) == data
    assert place.host.read(path, 5, 3) == data[5:8]
    assert place.host.read(path, 400_000, 300_000) == data[400_000:700_000]
    assert place.host.read(path, len(data) - 2, 100) == data[-2:]
    assert place.host.read(path, len(data), 100) == b""
    assert place.host.read(path, len(data) + 50, 100) == b""
    place.host.run(["sh", "-c", 'printf more >>"$1"', "sh", path])
    assert place.host.read(path, len(data), 100) == b"more"


def test_a_missing_file_has_no_size_and_cannot_be_read(place: Place) -> None:
    assert place.host.size(f"{place.folder}/nothing") is None
    with pytest.raises(FileNotFoundError):
        place.host.read(f"{place.folder}/nothing", 0, 1)


def test_folders_are_made_with_parents_and_closed_to_others(place: Place) -> None:
    path = f"{place.folder}/a/b/c"
    place.host.make_folder(path)
    place.host.make_folder(path)
    assert {mode_of(place, f"{place.folder}/{part}") for part in ("a", "a/b", "a/b/c")} == {0o700}


def test_a_file_in_the_way_of_a_folder_is_named(place: Place) -> None:
    place.host.put(b"", f"{place.folder}/file")
    with pytest.raises(CommandFailed):
        place.host.make_folder(f"{place.folder}/file")


def test_home_is_absolute_and_where_commands_run(place: Place) -> None:
    home = place.host.home()
    assert home.startswith("/")
    assert place.host.run(["pwd"]).out.decode().strip() == home


def test_the_apps_own_variables_stay_with_the_app(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTLEDGER_CANARY", "secret")
    assert b"CANARY" not in place.host.run(["env"]).out


def test_closed_hosts_open_again(place: Place) -> None:
    place.host.close()
    assert place.host.run(["echo", "again"]).out == b"again\n"
    place.host.close()
    assert place.host.size(f"{place.folder}/x") is None


@pytest.mark.parametrize("argv", [[], [""], ["a\0b"], "ls"])
def test_what_is_no_argument_list_is_refused(place: Place, argv: list[str]) -> None:
    with pytest.raises(InvalidInput):
        place.host.run(argv)


def test_a_nul_in_a_path_is_refused(place: Place) -> None:
    for call in (place.host.size, place.host.make_folder, lambda path: place.host.put(b"", path), lambda path: place.host.read(path, 0, 1)):
        with pytest.raises(InvalidInput):
            call(f"{place.folder}/a\0b")
