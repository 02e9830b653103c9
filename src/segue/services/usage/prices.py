"""The prices of models: a list that is shipped with Segue, and what the setting ``prices`` says instead."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..._files import read_bytes
from ...core.usage.prices import PriceList, prices_set
from ...errors import BadSettings
from ...settings import Settings

_FILE = Path(__file__).with_name("prices.json")


@cache
def listed_prices() -> PriceList:
    """The list prices that are shipped."""
    return msgspec.json.decode(read_bytes(_FILE), type=PriceList)


def prices_of(settings: Settings) -> PriceList:
    """The list prices, and those that the user set. Raises BadSettings."""
    try:
        return replace(listed_prices(), set_to=prices_set(settings.text("prices")))
    except ValueError as fault:
        raise BadSettings(f"prices: {fault}", hint="for example: gpt-5=1.25/10 my-model=0.5/2") from fault
