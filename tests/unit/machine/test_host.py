"""The host under a fake root: cores since the reading before, this process with its children."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.machine.accelerators import NoAccelerators
from penstock.machine.host import HostReader
from penstock.machine.readings import AcceleratorReading, HostReading
from tests.unit.machine.trees import MEMINFO_8_GIB, write_tree

PAGE = os.sysconf("SC_PAGE_SIZE")


def stat(*cores: tuple[int, int]) -> str:
    """A /proc/stat: of each core, ticks busy and idle."""
    lines = [f"cpu{number} {busy} 0 0 {idle} 0 0 0 0 99 0" for number, (busy, idle) in enumerate(cores)]
    return "\n".join(["cpu  1 2 3 4 5 6 7 8", *lines, "intr 5", ""])


def test_cores_are_those_of_the_affinity_since_the_reading_before(tmp_path: Path) -> None:
    write_tree(tmp_path, {"/proc/stat": stat((10, 10), (0, 0), (50, 50))})
    reader = HostReader(root=tmp_path, cpus=frozenset({0, 2, 7}))
    write_tree(tmp_path, {"/proc/stat": stat((13, 11), (9, 0), (50, 60))})
    assert reader.read().cores == (0.75, 0.0)
    assert reader.read().cores == (0.0, 0.0)  # no tick has passed


def test_waiting_for_a_disk_is_not_busy(tmp_path: Path) -> None:
    write_tree(tmp_path, {"/proc/stat": "cpu0 0 0 0 0 0 0 0 0\n"})
    reader = HostReader(root=tmp_path, cpus=frozenset({0}))
    write_tree(tmp_path, {"/proc/stat": "cpu0 1 1 1 2 3 1 1 0\n"})
    assert reader.read().cores == (0.5,)


def test_memory_is_that_of_the_process_and_all_it_started(tmp_path: Path) -> None:
    tree = {
        "/proc/meminfo": MEMINFO_8_GIB,
        "/proc/self/statm": "100 10 0", "/proc/self/task/1/children": "7 8 ", "/proc/self/task/2/children": "",
        "/proc/7/statm": "100 5 0", "/proc/7/task/7/children": "9",
        "/proc/9/statm": "100 1 0",
    }  # fmt: skip
    reading = HostReader(root=write_tree(tmp_path, tree), cpus=frozenset()).read()
    assert reading.rss_bytes == 16 * PAGE  # process 8 has ended meanwhile
    assert reading.available_bytes == 8 * 2**30
    assert reading.pressure is None


def test_nothing_is_told_where_there_is_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, {"/proc/meminfo": MEMINFO_8_GIB})
    assert HostReader(root=tmp_path, cpus=frozenset({0})).read() == HostReading(available_bytes=8 * 2**30)


class Fake(NoAccelerators):
    def __init__(self) -> None:
        super().__init__("")
        self.reads = 0

    def read(self) -> tuple[AcceleratorReading, ...]:
        self.reads += 1
        return (AcceleratorReading(index=0, name="fake", utilisation=self.reads / 10),)


def test_between_readings_of_the_host_only_accelerators_are_new(tmp_path: Path) -> None:
    write_tree(tmp_path, {"/proc/meminfo": MEMINFO_8_GIB, "/proc/self/statm": "9 1 0"})
    reader = HostReader(Fake(), root=tmp_path, cpus=frozenset())
    first = reader.read()
    write_tree(tmp_path, {"/proc/self/statm": "9 2 0"})
    second, third = reader.read(all_of_it=False), reader.read()
    assert [reading.accelerators[0].utilisation for reading in (first, second, third)] == [0.1, 0.2, 0.3]
    assert [reading.rss_bytes for reading in (first, second, third)] == [PAGE, PAGE, 2 * PAGE]
