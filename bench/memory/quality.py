"""How often the right memory is found: LoCoMo's evidence, coding paraphrases, identifiers.

Every contender sees the same memories and the same questions in the same run. Plain BM25 and vectors alone
are computed here, apart from the product; ours goes through the library as a user calls it.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from segue.api.segue import Segue
from segue.core.base.stem import stem

HERE = Path(__file__).parent
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
STOPS = frozenset(
    "a about after all also am an and any are as at be because been before being but by can could did "
    "do does doing down each for from had has have having he her here hers him his how i if in into "
    "is it its just me more most my no nor not now of off on once only or other our out over own same "
    "she should so some such than that the their them then there these they this those through to too "
    "under until up very was we were what when where which while who whom why will with would you "
    "your s t d ll m o re ve y".split()
)
Rank = Callable[[str], list[str]]
"""A question to the ids of memories, the best first."""


class PlainBm25:
    """BM25 over stemmed words without stop words, nothing else: k1 1.2, b 0.75."""

    def __init__(self, rows: dict[str, str]) -> None:
        self._docs = {id: Counter(self.words(text)) for id, text in rows.items()}
        self._lengths = {id: sum(counts.values()) for id, counts in self._docs.items()}
        self._mean = sum(self._lengths.values()) / max(1, len(rows))
        self._held = Counter(word for counts in self._docs.values() for word in counts)

    @staticmethod
    def words(text: str) -> list[str]:
        return [stem(word) for word in re.findall(r"\w+", text.lower()) if word not in STOPS]

    def __call__(self, query: str) -> list[str]:
        total = len(self._docs)
        scores: dict[str, float] = {}
        for word in self.words(query):
            weight = math.log(1 + (total - self._held[word] + 0.5) / (self._held[word] + 0.5))
            for id, counts in self._docs.items():
                if word in counts:
                    norm = 1.2 * (0.25 + 0.75 * self._lengths[id] / self._mean)
                    scores[id] = scores.get(id, 0.0) + weight * counts[word] * 2.2 / (counts[word] + norm)
        return sorted(scores, key=lambda id: -scores[id])


class Vectors:
    """Cosine alone."""

    def __init__(self, rows: dict[str, str], embed: Callable[[str], Any]) -> None:
        import numpy

        self._ids = list(rows)
        self._matrix = numpy.array([embed(text) for text in rows.values()], dtype=numpy.float32)
        self._embed = embed

    def __call__(self, query: str) -> list[str]:
        import numpy

        order = (-(self._matrix @ numpy.array(self._embed(query), dtype=numpy.float32))).argsort()
        return [self._ids[place] for place in order]


class Ours:
    """The library, with one memory a row."""

    def __init__(
        self, segue: Segue, rows: dict[str, str], scope: str, sessions: dict[str, str] | None = None,
        days: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._segue, self._scope = segue, scope
        memories = [
            {"content": text, "scope": "global", "namespace": scope, "metadata": {"row": id},
             "session": (sessions or {}).get(id, ""), "created": (days or {}).get(id, "")}
            for id, text in rows.items()
        ]  # fmt: skip
        segue.memories.remember_many(memories)

    def __call__(self, query: str) -> list[str]:
        memories = self._segue.memories.search(query, top_k=200, namespace=self._scope)
        return [memory.metadata["row"] for memory in memories]

    def sessions(self, query: str) -> list[str]:
        return [
            name for name, _ in self._segue.memories.sessions_about(query, top_k=20, namespace=self._scope)
        ]


def remembering_embed(embedder: Any) -> Callable[[str], Any]:
    """Each text is embedded once, for all contenders."""
    known: dict[str, Any] = {}

    def embed(text: str) -> Any:
        if text not in known:
            known[text] = embedder.embed([text])[0]
        return known[text]

    return embed


class Cached:
    """An embedder that asks ``embed``."""

    def __init__(self, inner: Any, embed: Callable[[str], Any]) -> None:
        self.name, self.semantic, self.ready = inner.name, inner.semantic, True
        self._embed = embed

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._embed(text) for text in texts]


# -- LoCoMo ----------------------------------------------------------------------------------------


def turns_of(conversation: dict[str, Any]) -> dict[str, str]:
    """Turn id (``D3:11``) to what was said."""
    rows = {}
    for value in conversation.values():
        for turn in value if isinstance(value, list) else ():
            shown = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            rows[turn["dia_id"]] = f"{turn['speaker']}: {turn['text']}{shown}"
    return rows


def evidence_of(question: dict[str, Any], rows: dict[str, str]) -> set[str]:
    parts = (part.strip() for text in question["evidence"] for part in re.split(r"[;, ]+", text))
    return {part for part in parts if part in rows}


def session_of(turn: str) -> str:
    return turn.partition(":")[0]


def days_of(conversation: dict[str, Any]) -> dict[str, str]:
    """Session (``D3``) to when it was: "1:56 pm on 8 May, 2023"."""
    return {
        "D" + name.split("_")[1]: datetime.strptime(text, "%I:%M %p on %d %B, %Y").isoformat() + "Z"
        for name, text in conversation.items()
        if name.endswith("_date_time")
    }


def documents_of(rows: dict[str, str]) -> dict[str, str]:
    """A session as one text, for the baseline that ranks sessions."""
    texts: dict[str, list[str]] = {}
    for id, text in rows.items():
        texts.setdefault(session_of(id), []).append(text)
    return {id: "\n".join(parts) for id, parts in texts.items()}


def share(found: Sequence[str], wanted: set[str], most: int) -> float:
    return len(set(found[:most]) & wanted) / len(wanted)


def unique(ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ids))


def locomo(path: Path, segue: Segue, embed: Callable[[str], Any]) -> dict[str, dict[str, list[float]]]:
    """By contender and measure (``turn@10``, ``turn@10/4`` for a category): one value a question."""
    results: dict[str, dict[str, list[float]]] = {}
    for number, sample in enumerate(json.loads(path.read_text())):
        rows = turns_of(sample["conversation"])
        sessions = {id: session_of(id) for id in rows}
        plain, near = PlainBm25(rows), Vectors(rows, embed)
        days = days_of(sample["conversation"])
        ours = Ours(segue, rows, f"locomo-{number}", sessions, {id: days[sessions[id]] for id in rows})
        undated = Ours(segue, rows, f"undated-{number}", sessions)
        documents = PlainBm25(documents_of(rows))
        for question in sample["qa"]:
            wanted = evidence_of(question, rows)
            if not wanted:
                continue
            text = question["question"]
            ranked: dict[str, tuple[list[str], list[str]]] = {
                "BM25": (plain(text), documents(text)),
                "vectors": (turns := near(text), unique([session_of(id) for id in turns]))[0:2],
                "Segue": (ours(text), ours.sessions(text)),
                "Segue, not told the days": (undated(text), undated.sessions(text)),
            }
            for name, (found, by_session) in ranked.items():
                measures = results.setdefault(name, {})
                values = {
                    "turn@10": share(found, wanted, 10),
                    "turn@20": share(found, wanted, 20),
                    "session@5": share(by_session, {session_of(id) for id in wanted}, 5),
                    "session@10": share(by_session, {session_of(id) for id in wanted}, 10),
                }
                for measure, value in values.items():
                    measures.setdefault(measure, []).append(value)
                    measures.setdefault(f"{measure}/{question['category']}", []).append(value)
    return results


# -- coding ----------------------------------------------------------------------------------------


def pairs(name: str) -> list[tuple[str, str]]:
    lines = (HERE / name).read_text().splitlines()
    return [(memory, query) for memory, _, query in (line.partition("\t") for line in lines if line)]


def coding(segue: Segue, embed: Callable[[str], Any], scope: str = "coding") -> dict[str, dict[str, float]]:
    """Recall at 1 and 5 of two sets of paraphrases, each in a place with the identifiers, and of these."""
    results: dict[str, dict[str, float]] = {}
    for kind in ("paraphrases", "restated"):
        questions = [(name, *pair) for name in (kind, "identifiers") for pair in pairs(f"{name}.tsv")]
        rows = {f"m{place}": memory for place, (_, memory, _) in enumerate(questions)}
        contenders: dict[str, Rank] = {
            "BM25": PlainBm25(rows),
            "vectors": Vectors(rows, embed),
            "Segue": Ours(segue, rows, f"{scope}-{kind}"),
        }
        for contender, rank in contenders.items():
            hits: dict[str, list[bool]] = {}
            for place, (name, _, query) in enumerate(questions):
                found = rank(query)
                for most in (1, 5):
                    hits.setdefault(f"{name}@{most}", []).append(f"m{place}" in found[:most])
            for name, values in hits.items():  # of identifiers the worse
                share = sum(values) / len(values)
                known = results.setdefault(contender, {})
                known[name] = min(known.get(name, 1.0), share)
    return results
