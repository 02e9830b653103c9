"""Which words and names of a run are worth telling the next one: told by where they stand, the best first."""

from __future__ import annotations

import pytest

from segue.core.brief.relevance import Worth, words, worth
from segue.core.runs.model import RecentStep, RunDigest, SaidText

WORDS = {
    "urchin": "planned; said before; said often, long ago",
    "fabric": "prompted before; said last; said often, long ago",
    "rabbit": "said before; said last",
    "window": "answered; called; planned",
    "engine": "done; said often; said often, long ago",
    "donkey": "answered last; said last",
    "violin": "answered; reported; said often",
    "hammer": "reported; said last",
    "marble": "said before; said third",
    "ember": "noted; said before",
    "ribbon": "planned; prompted often",
    "nickel": "prompted last; said third",
    "lizard": "done; said before",
    "guitar": "prompted before; said third",
    "bamboo": "reported; said third",
    "salmon": "said third",
    "cactus": "called; prompted often",
    "dragon": "answered last; done",
    "zipper": "answered; noted",
    "jacket": "answered; done",
    "anchor": "prompted often; said once, long ago",
    "barrel": "answered last",
    "saddle": "said once, long ago",
    "temple": "done",
    "yogurt": "prompted before",
    "quartz": "prompted often",
}
"""Words of a run, the most telling first, and where each of them stands."""

NAMES = {
    "marble_id": "edited last; said often; summed up",
    "temple_id": "answered often; edited last",
    "island_id": "edited lately; planned",
    "ladder_id": "failed often; ran often; said",
    "quartz_id": "edited last; told",
    "falcon_id": "ran often; said",
    "jacket_id": "planned; ran",
    "kettle_id": "edited last",
    "yogurt_id": "ran often",
    "needle_id": "answered twice at once; ran often",
    "zipper_id": "answered lately; planned; searched",
    "saddle_id": "edited lately; prompted",
    "bamboo_id": "edited lately; ran often; read long ago",
    "ribbon_id": "answered often; edited lately",
    "candle_id": "read last; told",
    "barrel_id": "edited lately",
    "orchid.md": "ran often; read last",
    "pepper_id": "answered often; edited long ago",
    "marble.parse": "said often; told",
    "garden_id": "failed often; prompted",
    "ember_id": "read last",
    "harbor_id": "read long ago; said",
    "anchor_id": "edited long ago",
    "urchin_id": "prompted",
    "dragon_id": "failed",
    "velvet_id": "summed up",
    "Window.open": "summed up; told",
    "walnut_id": "answered lately",
    "data.json": "prompted",
    "zebra_id:run": "prompted; read long ago",
}
STEPS = 40
DONE = {
    "edited last": ("edit", [0], "a.py", 1), "edited lately": ("edit", [4, 9], "b.py", 1),
    "edited long ago": ("edit", [30], "c.py", 1), "read last": ("read", [1], "a.py", 1),
    "read long ago": ("read", [25, 33], "c.py", 1), "searched": ("search", [7], "", 1),
    "ran": ("run", [3], "", 1), "ran often": ("run", [6, 12, 18, 24], "", 1),
    "answered lately": ("result", [2], "", 1), "answered often": ("result", [8, 14, 20, 26], "", 1),
    "answered twice at once": ("result", [10], "b.py", 2), "failed": ("failure", [5], "", 1),
    "failed often": ("failure", [11, 17, 23], "", 1), "told": ("say", [13], "", 1),
}  # fmt: skip
"""What was done with a name: by which kind of step, how many steps ago, in which file, how often in it."""


def at(rows: dict[str, str], place: str) -> str:
    return " ".join(word for word, places in rows.items() if place in places.split("; "))


def said(*texts: str) -> list[SaidText]:
    return [SaidText(text, number) for number, text in enumerate(texts)]


def run_with_words(rows: dict[str, str]) -> Worth:
    says = [""] * 20
    says[-1], says[-2], says[-3] = (at(rows, f"said {when}") for when in ("last", "before", "third"))
    says[2] = at(rows, "said once, long ago")
    for place in (0, 1, 3, 4, 5):
        says[place] = at(rows, "said often, long ago")
    for place in (8, 9, 10, 11, 14):
        says[place] = at(rows, "said often")
    often, before, last = (at(rows, f"prompted {when}") for when in ("often", "before", "last"))
    digest = RunDigest(
        says=said(*says),
        prompts=said(often, often, often, before, last),
        plan=[[at(rows, "planned"), "pending", "1", 0], [at(rows, "done"), "done", "2", 0]],
        notes=said(at(rows, "noted")),
        reports=said(at(rows, "reported")),
    )
    answers = [RecentStep("result", at(rows, place)) for place in ("answered", "answered last")]
    return worth(digest, [RecentStep("run", at(rows, "called")), *answers])


def run_with_names(rows: dict[str, str]) -> Worth:
    steps = [RecentStep("prompt", "")] * STEPS
    for place, (kind, ages, path, times) in DONE.items():
        for age in ages:
            steps[STEPS - 1 - age] = RecentStep(kind, " ".join([at(rows, place)] * times), path)
    often = at(rows, "said often")
    digest = RunDigest(
        says=said(often, often, f"{often} {at(rows, 'said')}"),
        prompts=said(at(rows, "prompted")),
        plan=[[at(rows, "planned"), "active", "1", 0]],
        summary=SaidText(at(rows, "summed up"), 0),
    )
    return worth(digest, steps)


def best_first(worths: dict[str, float], rows: dict[str, str]) -> list[str]:
    return sorted(rows, key=lambda word: -worths[word])


def test_words_come_in_the_order_of_where_and_how_often_they_stand() -> None:
    assert best_first(run_with_words(WORDS).words, WORDS) == list(WORDS)


def test_names_come_in_the_order_of_what_was_done_with_them() -> None:
    assert best_first(run_with_names(NAMES).names, NAMES) == list(NAMES)


def test_a_name_is_at_home_where_it_was_seen_most_and_edits_count_double() -> None:
    assert run_with_names(NAMES).homes == {
        **{f"{name}_id": "a.py" for name in ("candle", "ember", "kettle", "marble", "quartz", "temple")},
        **{f"{name}_id": "b.py" for name in ("bamboo", "barrel", "island", "needle", "ribbon", "saddle")},
        **{f"{name}_id": "c.py" for name in ("anchor", "harbor", "pepper")},
        "orchid.md": "a.py", "zebra_id:run": "c.py",
    }  # fmt: skip
    steps = [RecentStep("edit", "load_user", "edited.py"), RecentStep("read", "load_user", "read.py")]
    assert worth(RunDigest(), steps).homes == {"load_user": "edited.py"}
    assert worth(RunDigest(), [*steps, *steps[1:] * 2]).homes == {"load_user": "read.py"}


def test_a_chance_is_between_0_and_1_and_what_is_everywhere_is_nearly_certain() -> None:
    everywhere = "; ".join(
        ["said last", "said before", "said third", "said often", "planned", "prompted last"]
    )
    found = run_with_words({"gateway": everywhere, "scanner": "prompted often"}).words
    assert 0.8 < found["gateway"] < 1 and 0 < found["scanner"] < 0.05
    names = run_with_names(
        {"load_user": "edited last; said often; planned", "save_user": "answered often"}
    ).names
    assert 0.5 < names["load_user"] < 1 and 0 < names["save_user"] < 0.3


def test_a_word_that_the_next_words_are_made_of_is_told_and_a_common_one_is_not() -> None:
    assert words("We should update the Invoice-Parser, and its tests_") == {"invoice-parser"}


def test_longer_words_are_worth_a_little_less() -> None:
    found = run_with_words(
        {"gate": "said last", "gatekeeperships": "said last", "lock": "said before; reported"}
    ).words
    assert found["gate"] > found["gatekeeperships"] > found["lock"]


def test_what_was_said_once_counts_in_a_run_of_one_and_of_two_sayings() -> None:
    for texts in (["gateway"], ["gateway", "scanner"], ["gateway", "scanner", "harvest"]):
        found = worth(RunDigest(says=said(*texts)), []).words
        assert sorted(found, key=lambda word: -found[word]) == texts[::-1]
    one, two = (
        worth(RunDigest(prompts=said(*texts)), []).words for texts in (["gateway"], ["gateway", "scanner"])
    )
    assert one["gateway"] == two["scanner"] > two["gateway"]
    assert (
        two["gateway"] > worth(RunDigest(prompts=said("gateway", "scanner", "harvest")), []).words["gateway"]
    )


@pytest.mark.parametrize(
    ("kind", "most"), [("run", 6), ("result", 3)], ids=["the last six calls", "the last three answers"]
)
def test_only_the_last_steps_lend_their_words(kind: str, most: int) -> None:
    stems = "gateway scanner harvest compass lantern mailbox sandals".split()[: most + 1]
    found = worth(RunDigest(), [RecentStep(kind, stem) for stem in stems]).words
    assert set(found) == set(stems[1:])


def test_only_the_last_three_notes_and_two_reports_lend_their_words() -> None:
    told = said("gateway", "scanner", "harvest", "compass")
    assert set(worth(RunDigest(notes=told), []).words) == {"scanner", "harvest", "compass"}
    assert set(worth(RunDigest(reports=told), []).words) == {"harvest", "compass"}


def names_of(*steps: RecentStep, says: str = "", prompt: str = "") -> set[str]:
    return set(worth(RunDigest(says=said(says), prompts=said(prompt)), list(steps)).names)


@pytest.mark.parametrize(
    "text", ["console.log", "os.path.join", "github.com", "toolu_01AbCdEf", "old_string", "a7f3b9c2d1_key"]
)
def test_names_of_libraries_sites_and_ids_are_left_out(text: str) -> None:
    assert names_of(RecentStep("edit", f"{text} load_user")) == {"load_user"}


@pytest.mark.parametrize("text", ["0b5f3c1e-1111-4222-8333-abcdefabcdef.job", "app.py:120", "M10.5 curve_to"])
def test_places_uuids_and_drawings_are_no_names(text: str) -> None:
    assert names_of(RecentStep("run", text)) <= {"curve_to"}


def test_fields_of_a_programs_answer_are_left_out_unless_somebody_speaks_of_them() -> None:
    answer = RecentStep("result", '{"chunkFiles": [], "headRefOid": "x"}')
    assert names_of(answer) == set()
    assert names_of(answer, says="chunkFiles is empty") == {"chunkFiles"}
    assert names_of(answer, prompt="why is chunkFiles empty") == {"chunkFiles"}
    assert names_of(answer, RecentStep("edit", "headRefOid")) == {"headRefOid"}
    in_a_file = RecentStep("result", '{"chunkFiles": []}', "package.json")
    assert names_of(in_a_file) == {"chunkFiles"}, "a file's own text is no answer"
    assert names_of(RecentStep("result", "chunkFiles is empty")) == {"chunkFiles"}


def test_colours_and_line_ends_that_are_written_out_belong_to_no_name() -> None:
    assert names_of(RecentStep("result", "\x1b[31mload_user\x1b[0m failed")) == {"load_user"}
    assert names_of(RecentStep("run", r"printf 'load_user\nsave_user'")) == {"load_user", "save_user"}
    assert names_of(RecentStep("read", r"C:\new_code\nested_dir")) == {"new_code", "nested_dir"}


def test_the_file_that_was_last_at_hand_lifts_its_names_a_little() -> None:
    steps = [RecentStep("result", "load_user", "old.py"), RecentStep("result", "save_user", "new.py")]
    steps += [RecentStep("result", "other", "old.py")]
    names = worth(RunDigest(), steps).names
    assert names["load_user"] > 0.9 * names["save_user"], "it stands in the file at hand, though it is older"
