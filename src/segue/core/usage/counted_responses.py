"""What a run used: tokens by day and model, folded from its responses in bounded space.

A response is counted once, however often its transcript says it. Agents also copy responses into other
transcripts: forks, resumed conversations, sub-agents that begin with what their lead knows. So the first
responses of a run are kept one by one with an id that is the same in every copy, and ``without_copies`` takes
out of a run what another one has. A copy begins with the first response of the original, or with the first
one after the original was compacted: these are the ``heads``, which show without reading all of a digest
which runs must be compared.

Nothing here knows a price. Rows are kept apart where prices differ: by the size of what was sent, because
long prompts cost more with some models, and by whether the agent itself said what was paid.
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Iterable
from typing import Final

import msgspec

ROWS_MAX: Final = 400
"""How many rows of a day, a model and a size are kept; older ones are added up without their day."""
MODELS_MAX: Final = 64
"""How many models are told apart; further ones are counted without their names."""
RESPONSES_MAX: Final = 4_000
"""How many of the first responses are kept one by one."""
RECENT_MAX: Final = 16
"""How many of the last responses may still be corrected."""
HEADS_MAX: Final = 8
PROMPT_SIZES: Final = (200_000, 272_000)
"""From how many tokens in a prompt on some models cost more."""
DAY_SECONDS: Final = 86_400
TOKENS_MAX: Final = 1 << 40
"""More than that is no number of tokens, but damage."""
DOLLARS_MAX: Final = 1e6


class CountedResponse(msgspec.Struct, array_like=True, gc=False):
    """A response of a model, as it was counted."""

    key: int = 0  # a hash of its key; 0 if it has none
    at: int = 0  # when it was first recorded, in seconds since the epoch; 0 if unknown
    model: int = 0  # its place in ``RunUsage.models``
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    cost: float = 0.0  # as the agent said it; 0 if it did not

    @property
    def copy_id(self) -> int:
        """The same number in every transcript with a copy of it. Keys of some agents are unique only within a
        run, so that the time is part of it, which copies keep."""
        return (self.key << 20) ^ self.at  # less than 2 to the power of 53, so that any reader of JSON has it

    @property
    def place(self) -> tuple[int, int, int, bool]:
        """Day, model and size of the row in which it counts, and whether its cost was said."""
        sent = self.input + self.cache_read + self.cache_write
        size = sum(sent > size for size in PROMPT_SIZES) if sent > PROMPT_SIZES[0] else 0
        return self.at // DAY_SECONDS, self.model, size, self.cost > 0


class UsageRow(msgspec.Struct, array_like=True, gc=False):
    """What responses of one day, model and size used together."""

    day: int  # days since the epoch (UTC); 0 for responses without a time, and for days long gone
    model: int  # its place in ``RunUsage.models``
    size: int = 0  # how many of ``PROMPT_SIZES`` their prompts exceed
    is_cost_said: bool = False  # whether the agent said what each of them cost
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    responses: int = 0
    cost: float = 0.0
    context: int = 0  # the most tokens that were in the window
    window: int = 0  # the size of the window then, as the agent said it


class RunUsage(msgspec.Struct, array_like=True):
    """What a run used."""

    rows: list[UsageRow] = []
    models: list[str] = msgspec.field(default_factory=lambda: [""])
    """The first stands for all whose names are not known."""
    heads: list[int] = []  # ids of copies of the first response, and of the first after each compaction
    head_due: bool = True  # whether the next response is one of them
    recent: list[CountedResponse] = []  # the last ones
    recent_keys: list[int] = []  # their keys
    responses: list[CountedResponse] = []  # the first ones, as far as they are not among the last


NOTHING: Final = CountedResponse()


class Response(msgspec.Struct, gc=False):
    """What a transcript says of a response."""

    key: str
    at: float
    model: str
    tokens: tuple[int, int, int, int, int]
    """Input, read from a cache, written to one, those of them that it keeps for an hour, and output."""
    cost: float
    context: int
    window: int


def count_response(usage: RunUsage, response: Response) -> tuple[CountedResponse, CountedResponse]:
    """Count a response, in place. Returns it as it counts now, and as it counted before."""
    tokens, at, context = response.tokens, response.at, response.context
    sent, read, written, hour, output = tokens
    if sent | read | written | hour | output < 0 or sent + read + written + hour + output > TOKENS_MAX:
        sent, read, written, hour, output = (max(0, min(number, TOKENS_MAX)) for number in tokens)
    key = crc32(response.key.encode("utf-8", "replace"))
    said = CountedResponse(
        key, int(at) if at > 0 else 0, _model(usage, response.model), sent, read, written, hour, output,
        max(0.0, min(response.cost, DOLLARS_MAX)) if response.cost else 0.0,
    )  # fmt: skip
    place = _counted_before(usage, said) if key else None
    if place is not None:
        responses, index = place
        before, now = responses[index], _highest(responses[index], said)
        row = _row(usage, now)
        if now != before:
            _take_out(usage, before)
            _add(row, now, 1)
            responses[index] = now
    elif sent or read or written or output or said.cost:
        before, now, row = NOTHING, said, _row(usage, said)
        _add(row, said, 1)
        if key:
            _keep(usage, said)
    elif context:
        before, now, row = NOTHING, said, _row(usage, said)
    else:
        return said, said
    if context > row.context:
        row.context, row.window = min(context, TOKENS_MAX), response.window
    if len(usage.rows) > ROWS_MAX:
        _bound(usage)
    return now, before


def _counted_before(usage: RunUsage, said: CountedResponse) -> tuple[list[CountedResponse], int] | None:
    """Where a response is that has been counted. Only one that is older than the last one is looked for among
    all: a transcript may repeat its history."""
    key, recent = said.key, usage.recent
    if key in usage.recent_keys:
        return recent, usage.recent_keys.index(key)
    if recent and said.at < recent[-1].at:
        for index, one in enumerate(usage.responses):
            if one.key == key:
                return usage.responses, index
    return None


def _model(usage: RunUsage, name: str) -> int:
    if usage.models[-1] == name:  # nearly always
        return len(usage.models) - 1
    if name in usage.models:
        return usage.models.index(name)
    if len(usage.models) >= MODELS_MAX:
        return 0
    usage.models.append(name)
    return len(usage.models) - 1


def _highest(one: CountedResponse, other: CountedResponse) -> CountedResponse:
    """What two records of the same response say together: the first of several may be from before it was
    complete."""
    return CountedResponse(
        one.key, one.at, one.model or other.model, max(one.input, other.input),
        max(one.cache_read, other.cache_read), max(one.cache_write, other.cache_write),
        max(one.cache_write_1h, other.cache_write_1h), max(one.output, other.output),
        max(one.cost, other.cost),
    )  # fmt: skip


def _row(usage: RunUsage, response: CountedResponse) -> UsageRow:
    """The row in which a response counts, made if there is none."""
    place = response.place
    row = _row_at(usage, place)
    if row is None:
        row = UsageRow(*place)
        usage.rows.append(row)
    return row


def _row_at(usage: RunUsage, place: tuple[int, int, int, bool]) -> UsageRow | None:
    day, model, size, is_cost_said = place
    for row in reversed(usage.rows):
        if row.day == day and row.model == model and row.size == size and row.is_cost_said == is_cost_said:
            return row
    return None


def _add(row: UsageRow, response: CountedResponse, sign: int) -> None:
    row.responses += sign
    row.input += sign * response.input
    row.cache_read += sign * response.cache_read
    row.cache_write += sign * response.cache_write
    row.cache_write_1h += sign * response.cache_write_1h
    row.output += sign * response.output
    row.cost += sign * response.cost


def _keep(usage: RunUsage, response: CountedResponse) -> None:
    if usage.head_due:
        usage.heads.append(response.copy_id)
        if len(usage.heads) > HEADS_MAX:
            del usage.heads[1]
        usage.head_due = False
    usage.recent.append(response)
    usage.recent_keys.append(response.key)
    if len(usage.recent) > RECENT_MAX:
        oldest = usage.recent.pop(0)
        del usage.recent_keys[0]
        if len(usage.responses) < RESPONSES_MAX:
            usage.responses.append(oldest)


def _bound(usage: RunUsage) -> None:
    """Add the oldest rows together while there are too many: first without their day, then also without
    their model."""
    while len(usage.rows) > ROWS_MAX:
        oldest = min(usage.rows, key=lambda row: (row.day or TOKENS_MAX, not row.model))
        usage.rows.remove(oldest)
        place = (0, oldest.model if oldest.day else 0, oldest.size, oldest.is_cost_said)
        sums = _row_at(usage, place)
        if sums is None:
            sums = UsageRow(*place)
            usage.rows.insert(0, sums)
        _add_row(sums, oldest)


def _add_row(sums: UsageRow, row: UsageRow) -> None:
    sums.responses += row.responses
    sums.input += row.input
    sums.cache_read += row.cache_read
    sums.cache_write += row.cache_write
    sums.cache_write_1h += row.cache_write_1h
    sums.output += row.output
    sums.cost += row.cost
    if row.context > sums.context:
        sums.context, sums.window = row.context, row.window


# -- copies in other runs --------------------------------------------------------------------------


def copy_ids(usage: RunUsage) -> set[int]:
    """What tells the responses of a run from all others, in whichever transcript they are copied."""
    return {response.copy_id for response in (*usage.responses, *usage.recent)}


def without_copies(usage: RunUsage, known: Iterable[int]) -> RunUsage:
    """What a run used itself: less the responses that are ``known`` from other runs by their ids."""
    others = set(known)
    own = msgspec.structs.replace(usage, rows=[msgspec.structs.replace(row) for row in usage.rows])
    for response in (*usage.responses, *usage.recent):
        if response.copy_id in others:
            _take_out(own, response)
    return own


def _take_out(usage: RunUsage, response: CountedResponse) -> None:
    """Count a response no more, also where its row was added to those of days long gone."""
    day, model, size, is_cost_said = response.place
    for place in (
        (day, model, size, is_cost_said),
        (0, model, size, is_cost_said),
        (0, 0, size, is_cost_said),
    ):
        row = _row_at(usage, place)
        if row is not None and row.responses > 0:
            _add(row, response, -1)
            return
