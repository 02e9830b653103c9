"""What the SDK of Aegis Memory is promised most also holds on a server whose store is Postgres."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.postgres_store import needs_postgres, url_for
from tests.support.server import SegueServer
from tests.surfaces import test_aegis_sdk as sdk
from tests.surfaces.test_aegis_sdk import another as another, client as client, key as key

pytestmark = needs_postgres


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    home = tmp_path_factory.mktemp("server")
    with SegueServer(home, url_for(home), options=["--rate", "0"]) as one:
        yield one


test_sessions = sdk.test_an_update_adds_what_is_done_and_replaces_what_is_next
test_features = sdk.test_a_feature_passes_only_on_somebodys_word_or_by_its_checks
test_memories = sdk.test_a_memory_is_kept_once_found_changed_and_deleted
test_scopes = sdk.test_what_is_private_stays_so_and_what_is_shared_is_found_across_agents
test_deltas = sdk.test_a_delta_stores_patches_and_reasons_and_says_what_did_not_go
test_runs = sdk.test_runs_are_tracked_once_and_leave_votes_and_reflections
test_interactions = sdk.test_interactions_are_kept_each_time_and_chained
test_many = sdk.test_four_clients_of_twenty_five_completions_each_keep_a_hundred_in_order
test_acknowledged = sdk.test_what_was_acknowledged_is_read_on_another_connection
test_keys = sdk.test_a_wrong_key_is_401_whatever_is_asked
test_projects = sdk.test_ids_are_a_projects_own
