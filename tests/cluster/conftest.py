"""One cluster for all tests of this folder: each leaves it whole for the next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

import pytest
from tests.support.cluster.programs import missing
from tests.support.cluster.rig import Cluster
from tests.support.network import network

__all__ = ["network"]

ROUNDS = int(os.environ.get("SEGUE_ROUNDS", "1"))
"""How many rounds of random faults are tried."""
_numbers = count()


@pytest.fixture(scope="session")
def synchronous() -> Iterator[Cluster]:
    """A cluster whose commits wait for a standby, with servers."""
    if missing():
        pytest.skip(f"NOT TESTED on a cluster: apt-get install {' '.join(missing())}")
    with Cluster() as made:
        made.serve()
        yield made


@pytest.fixture
def cluster(synchronous: Cluster, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The same, whole before the test; a test that fails says what everybody logged."""
    synchronous.until_whole()
    synchronous.until_served()
    failed = request.session.testsfailed
    yield synchronous
    if request.session.testsfailed > failed:
        synchronous.logs()


@pytest.fixture
def namespace() -> str:
    """A namespace of the database that one test alone has."""
    return f"t{next(_numbers)}"
