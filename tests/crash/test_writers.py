"""Many processes, forks and threads write one session at once: every write is kept, once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from tests.support.crash.proof import Proof, child, finish, open_segue
from tests.support.crash.work import agent_value

from segue.errors import SegueError


def test_four_processes_finish_a_hundred_items_each_and_four_hundred_are_kept(tmp_path: Path) -> None:
    with open_segue(tmp_path) as seg:
        session = seg.start("many hands")
    children = [child("done", tmp_path, session.id, f"w{n}", 100, tmp_path / "go") for n in range(4)]
    (tmp_path / "go").touch()
    finish(*children)
    wanted = sorted(f"w{n}-{place}" for n in range(4) for place in range(100))
    states = []
    for _ in range(4):
        with open_segue(tmp_path) as seg:
            states.append(seg.session(session.id).state)
    assert sorted(states[0].items[place].text for place in states[0].done) == wanted
    assert states[0].version == 402
    assert all(state == states[0] for state in states)
    Proof(tmp_path)()


def test_four_processes_start_sessions_at_once_and_no_id_is_given_twice(tmp_path: Path) -> None:
    children = [child("start", tmp_path, f"w{n}", 25, tmp_path / "go") for n in range(4)]
    (tmp_path / "go").touch()
    ids = [id for given in finish(*children) for id in given]
    assert len(set(ids)) == 100
    with open_segue(tmp_path) as seg:
        cards = seg.list(everywhere=True)
        assert sorted(card.id for card in cards) == sorted(ids)
        assert sorted(card.goal for card in cards) == sorted(f"w{n}-{p}" for n in range(4) for p in range(25))
        assert seg.session().id in ids
    Proof(tmp_path)()


def test_four_processes_save_the_states_of_four_agents_beside_each_other(tmp_path: Path) -> None:
    with open_segue(tmp_path) as seg:
        session = seg.start("many agents")
    children = [child("save", tmp_path, session.id, n, 50, tmp_path / "go") for n in range(4)]
    (tmp_path / "go").touch()
    finish(*children)
    with open_segue(tmp_path) as seg:
        again = seg.session(session.id)
        assert again.state.version == 202
        for number in range(4):
            assert again.load_agent(f"agent{number}") == agent_value(number, 50)
    Proof(tmp_path)()


def test_a_forked_child_and_its_parent_go_on_with_what_they_have_open(tmp_path: Path) -> None:
    seg = open_segue(tmp_path)
    session = seg.start("forked")
    session.done("before")
    children = []
    for number in range(3):
        pid = os.fork()
        if not pid:
            status = 1
            try:
                for place in range(20):
                    session.done(f"child{number}-{place}")
                seg.close()
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    for place in range(20):
        session.done(f"parent-{place}")
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0, 0, 0]
    session.done("after")
    texts = {session.state.items[place].text for place in session.state.done}
    assert len(texts) == session.state.version - 2 == 82
    seg.close()
    Proof(tmp_path)()


def test_a_forked_child_that_ends_as_usual_leaves_its_parents_connection_alone(tmp_path: Path) -> None:
    source = """
import os, sys
from segue import Segue
seg = Segue(home=sys.argv[1], folder=sys.argv[1])
session = seg.start("forked")
if os.fork() == 0:
    session.done("child")
    sys.exit(0)
os.wait()
for place in range(10):
    session.done(f"parent-{place}")
print(session.state.version)
"""
    done = subprocess.run(
        [sys.executable, "-c", source, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "13\n", "")
    Proof(tmp_path)()


def test_eight_threads_share_one_segue_and_lose_nothing(tmp_path: Path) -> None:
    seg = open_segue(tmp_path)
    session = seg.start("threads")
    faults: list[SegueError] = []

    def work(number: int) -> None:
        try:
            for place in range(50):
                session.done(f"t{number}-{place}")
        except SegueError as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    texts = sorted(session.state.items[place].text for place in session.state.done)
    assert texts == sorted(f"t{n}-{place}" for n in range(8) for place in range(50))
    assert session.state.version == 402
    seg.close()
    Proof(tmp_path)()
