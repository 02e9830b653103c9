"""Changing JSON as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from segue.core.base.json_edit import NotJson, insertion, parse, removal

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=4)
layouts = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(objects, layouts)
def test_what_json_says_is_what_is_read(value: dict[str, Any], indent: Any) -> None:
    assert parse(json.dumps(value, indent=indent)).value == value


@given(objects, layouts, st.lists(st.sampled_from(["hooks", "a", "b"]), min_size=1, max_size=3), values)
def test_a_member_goes_in_and_its_text_taken_away_gives_the_bytes_of_before(
    value: dict[str, Any], indent: Any, path: list[str], new: Any
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        change = insertion(text, path, new)
    except NotJson:
        return
    after = change.applied(text)
    node: Any = parse(after).value
    assert node == json.loads(after)
    for name in path:
        node = node[name]
    assert node == new
    assert after[: change.at] + after[change.at + len(change.text) :] == text


@given(objects, layouts, st.lists(values, max_size=3), values)
def test_an_element_goes_in_behind_the_others(
    value: dict[str, Any], indent: Any, there: list[Any], new: Any
) -> None:
    text = json.dumps({**value, "list": there}, indent=indent)
    after = insertion(text, ["list"], new, element=True).applied(text)
    assert json.loads(after)["list"] == [*there, new]


@given(objects, layouts, st.data())
def test_a_removed_member_is_gone_and_the_rest_is_there(
    value: dict[str, Any], indent: Any, data: st.DataObject
) -> None:
    if not value:
        return
    name = data.draw(st.sampled_from(sorted(value)))
    after = removal(json.dumps(value, indent=indent), [name])
    assert json.loads(after) == {key: one for key, one in value.items() if key != name}


@given(st.lists(values, min_size=1, max_size=4), layouts, st.data())
def test_a_removed_element_is_gone_and_the_rest_is_there(
    there: list[Any], indent: Any, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(there) - 1))
    after = removal(json.dumps({"list": there}, indent=indent), ["list"], place)
    assert json.loads(after)["list"] == [*there[:place], *there[place + 1 :]]


COMMENTED = """{
  // what I like
  "theme": "dark", /* really */
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}, // mine
    ],
  },
}
"""


def test_comments_and_trailing_commas_are_kept() -> None:
    change = insertion(COMMENTED, ["hooks", "Stop"], {"ours": 1}, element=True)
    after = change.applied(COMMENTED)
    assert parse(after).value["hooks"]["Stop"][1] == {"ours": 1}
    assert "// what I like" in after and "/* really */" in after and "// mine" in after
    more = insertion(after, ["hooks", "Start"], [{"ours": 2}]).applied(after)
    assert list(parse(more).value["hooks"]) == ["Stop", "Start"]
    assert (
        parse(removal(more, ["hooks", "Stop"], 1)).value["hooks"]["Stop"]
        == parse(COMMENTED).value["hooks"]["Stop"]
    )


@pytest.mark.parametrize(
    "text", ["{", "[1,]x", '{"a" 1}', "{'a': 1}", '{"a": }', "nonsense", '{"a":1 "b":2}', "{,}"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        parse(text)


def test_an_empty_file_becomes_an_object() -> None:
    assert json.loads(insertion("", ["hooks", "Stop"], {"a": 1}, element=True).text) == {
        "hooks": {"Stop": [{"a": 1}]}
    }


def test_windows_line_ends_stay() -> None:
    text = '{\r\n  "a": 1\r\n}\r\n'
    after = insertion(text, ["b"], {"c": 2}).applied(text)
    assert "\n" not in after.replace("\r\n", "")
