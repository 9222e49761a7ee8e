from curtsy.config import Settings, load
from curtsy.processes.shares import remarks, shares


def _settings(**given: object) -> Settings:
    return load(**given)


def test_the_slots_are_divided_and_none_is_lost() -> None:
    for processes, slots in ((1, 100), (3, 100), (7, 10), (100, 100)):
        found = [share.slots for share in shares(_settings(worker_processes=processes,
                                                           worker_slots=slots))]  # fmt: skip
        assert (len(found), sum(found)) == (processes, slots)
        assert max(found) - min(found) <= 1


def test_every_process_has_a_slot_so_there_are_no_more_processes_than_slots() -> None:
    settings = _settings(worker_processes=8, worker_slots=3)
    assert [share.slots for share in shares(settings)] == [1, 1, 1]


def test_what_is_not_as_asked_or_not_wise_is_said() -> None:
    fewer = _settings(worker_processes=2, worker_slots=1)
    assert list(remarks(fewer, cores=8)) == [
        "1 of 2 worker processes starts: each needs a slot, and WORKER_SLOTS is 1."
    ]
    more = _settings(worker_processes=9)
    assert list(remarks(more, cores=8)) == [
        "9 worker processes share 8 cores: each page costs more processor time then than with 8."
    ]
    assert list(remarks(_settings(worker_processes=8), cores=8)) == []
    assert list(remarks(_settings(), cores=1)) == []


def test_one_process_has_what_the_settings_say() -> None:
    settings = _settings(worker_slots=7, extract_processes=5, db_pool_size=3)
    [share] = shares(settings)
    assert share.applied_to(settings) == settings


def test_parsing_processes_are_about_as_many_as_the_settings_say_and_never_none() -> None:
    for processes, parsing, each in ((2, 2, 1), (2, 8, 4), (3, 8, 3), (8, 2, 1)):
        found = shares(_settings(worker_processes=processes, extract_processes=parsing))
        assert {share.extract_processes for share in found} == {each}


def test_connections_are_divided_but_each_process_has_as_many_as_it_uses_at_once() -> None:
    for processes, connections, each in ((2, 10, 5), (8, 10, 4), (2, 100, 50), (4, 2, 2)):
        found = shares(_settings(worker_processes=processes, db_pool_size=connections))
        assert {share.connections for share in found} == {each}
