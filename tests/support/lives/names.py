"""Names that occur once in a life, so that what bears one can be found in a text."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

_NOUNS = (
    "amber", "anchor", "badge", "barrel", "basket", "beacon", "border", "bridge", "bucket", "cabin",
    "canal", "canyon", "cargo", "cedar", "cellar", "circle", "copper", "coupon", "cursor", "desert",
    "digest", "drawer", "engine", "falcon", "ferry", "forest", "garden", "glacier", "harbor", "hazel",
    "island", "ivory", "jacket", "juniper", "kettle", "lagoon", "lantern", "ledger", "lemon", "maple",
    "marble", "meadow", "mirror", "museum", "needle", "nickel", "orchard", "otter", "paddle", "parcel",
    "pebble", "pepper", "pillar", "planet", "pocket", "prairie", "quarry", "quiver", "rabbit", "ribbon",
    "rocket", "saddle", "salmon", "silver", "spruce", "stable", "summit", "tariff", "temple", "thistle",
    "timber", "tunnel", "turtle", "valley", "velvet", "vendor", "violet", "voucher", "walnut", "willow",
    "window", "winter", "wizard",
)  # fmt: skip
_PLAIN = re.compile(r"[a-z]{4,}")
_STOP = frozenset({"that", "this", "with", "from", "about", "when", "them", "into", "last", "each", "more"})


class Names:
    """Draws pairs of nouns, each noun in few pairs and no pair twice."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._drawn: set[str] = set()

    def pair(self) -> str:
        """A name such as ``ledger_canal``."""
        while True:
            name = "_".join(self._rng.sample(_NOUNS, 2))
            if name not in self._drawn:
                self._drawn.add(name)
                return name

    def noun(self) -> str:
        return self._rng.choice(_NOUNS)

    def filled(self, form: str, name: str = "") -> tuple[str, str]:
        """A form with a name of its own in it, and that name."""
        x = name or self.pair()
        values = {"x": x, "X": x.upper(), "k": x.replace("_", "-"), "f": f"{self.noun()}.py", "a": x}
        return form.format(**values), x


def stems(text: str) -> frozenset[str]:
    """The beginnings of the words that say something."""
    return frozenset(word[:5] for word in _PLAIN.findall(text.lower()) if word not in _STOP)


def is_clear(about: str, own: str, others: Iterable[str]) -> bool:
    """Whether words point to one text and to no other."""
    wanted = stems(about)
    shared = wanted & stems(own)
    return bool(shared) and all(len(wanted & stems(other)) < len(shared) for other in others)
