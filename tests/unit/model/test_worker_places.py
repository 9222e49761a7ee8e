import pytest

from curtsy.model.worker_places import (
    WorkerPlace,
    parse_place,
    program_with_place,
    split_program,
)


def test_a_place_is_read_as_it_was_written() -> None:
    place = WorkerPlace(2, 4, 812)
    assert str(place) == "2 of 4 under 812"
    assert parse_place(str(place)) == place


@pytest.mark.parametrize("text", ["", "2 of 4", "0 of 4 under 812", "2 of 4 under 812 ", "a of b"])
def test_what_is_no_place_is_none(text: str) -> None:
    assert parse_place(text) is None


def test_a_program_is_shown_with_its_place_and_told_apart_from_it() -> None:
    place = WorkerPlace(2, 4, 812)
    shown = program_with_place("curtsy 1.0", place)
    assert shown == "curtsy 1.0; process 2 of 4 under 812"
    assert split_program(shown) == ("curtsy 1.0", place)
    assert split_program(program_with_place("curtsy 1.0", None)) == ("curtsy 1.0", None)
