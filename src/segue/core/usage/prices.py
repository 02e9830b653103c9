"""List prices of models, and what tokens cost at them.

Prices are found by the id of a model: first those that the user set, of which the longest prefix counts, then
the list. An id in the list also stands for itself with a date or another ending that does not change the
price, and for no other: a model without a known price has none. Nothing is guessed from a similar name.
"""

from __future__ import annotations

from ..base.lazy import regex
from ..base.values import Value

MILLION = 1_000_000
PRICE_MAX = 10_000
_PLATFORM = regex(r".*\banthropic[./]")
_ENDING = regex(
    r"(?:-(?:\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|00\d|v\d|latest|preview|exp|thinking|chat|customtools|1m"
    r"|minimal|low|medium|high|xhigh)|\[1m\]|:\d)*\Z"
)
"""What may follow the id of a model without changing its price: dates, versions of a platform, a larger
window, and how much it thinks."""
_TURNED = regex(r"claude-(\d+(?:-\d)?)-(opus|sonnet|haiku)(?=-|\Z)")


class TokenPrice(Value):
    """Dollars for a million tokens. What is not said of a cache costs as much as the input."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    long: TokenPrice | None = None
    """The price of prompts with more than ``prompt_above`` tokens of it."""
    prompt_above: int = 0

    def cost(self, input: int, cache_read: int, cache_write: int, cache_write_1h: int, output: int) -> float:
        """What so many tokens cost; those that the cache keeps for an hour are among those written to it."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        hour = write if self.cache_write_1h is None else self.cache_write_1h
        brief = max(0, cache_write - cache_write_1h)
        dollars = input * self.input + cache_read * read + brief * write + output * self.output
        return (dollars + min(cache_write, cache_write_1h) * hour) / MILLION

    def of_prompt(self, tokens_above: int) -> TokenPrice:
        """The price of prompts that have more than so many tokens."""
        is_long = self.long is not None and 0 < self.long.prompt_above <= tokens_above
        return self.long if is_long and self.long is not None else self


class PriceList(Value):
    """Prices by the ids of models, and as of which day."""

    as_of: str
    models: dict[str, TokenPrice]
    about: str = ""
    set_to: dict[str, TokenPrice] = {}
    """What the user set, by prefixes of ids; the empty prefix stands for every model."""

    def price(self, model: str) -> TokenPrice | None:
        """The price of a model; None if it is not known."""
        if not model:
            return None
        name = model.lower().rpartition("/")[2]
        prefixes = [one for one in self.set_to if name.startswith(one) or model.lower().startswith(one)]
        if prefixes:
            return self.set_to[max(prefixes, key=len)]
        if name.endswith(":free"):
            return TokenPrice(0.0, 0.0)
        return self._listed(_plain(name))

    def _listed(self, name: str) -> TokenPrice | None:
        for wanted in dict.fromkeys((name, _TURNED.sub(r"claude-\2-\1", name))):
            fits = [one for one in self.models if _stands_for(_plain(one), wanted)]
            if fits:
                return self.models[max(fits, key=len)]
        return None


def _plain(name: str) -> str:
    """An id in the form in which ids are compared: without the platform, and with hyphens only."""
    return _PLATFORM.sub("", name).replace(".", "-").replace("@", "-")


def _stands_for(listed: str, name: str) -> bool:
    return name.startswith(listed) and bool(_ENDING.match(name, len(listed)))


def prices_set(text: str) -> dict[str, TokenPrice]:
    """The prices in a setting such as ``gpt-5=1.25/10 my-model=0.5/2/0.05``: input, output, and if they are
    given what reading and writing a cache costs. Raises ValueError if a part of it is none."""
    prices: dict[str, TokenPrice] = {}
    for word in text.replace(",", " ").split():
        name, equals, numbers = word.rpartition("=")
        try:
            dollars = [float(number) for number in numbers.split("/")]
        except ValueError:
            dollars = []
        if not 2 <= len(dollars) <= 4 or not all(0 <= one <= PRICE_MAX for one in dollars):
            raise ValueError(
                f"{word!r} is not a price: use MODEL=INPUT/OUTPUT, or MODEL=INPUT/OUTPUT/READ/WRITE with a"
                " cache, in dollars per million tokens"
            )
        if equals and not name:
            raise ValueError(f"{word!r} names no model")
        read, write, *_ = [*dollars[2:], None, None]
        prices[name.lower()] = TokenPrice(dollars[0], dollars[1], read, write)
    return prices
