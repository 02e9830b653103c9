"""Changes after which the code does the same, by module, text of the line, and change; with the reason."""

from __future__ import annotations

_NOT_A_VALUE = "it only has to differ from what is compared with it"
_NO_TEXT = "without a text that scores there is only 0 to be divided by it"
_ONLY_AT_A_LIMIT = "how long to wait is looked at only after a rate limit"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "core/memories/ranking.py", "weight_total = sum(weights) or 1.0", "1.0 → 2.0",
    ): "where no word weighs anything, each share is 0, whatever it is divided by",
    (
        "core/memories/ranking.py", "total: int = 0", "0 → 1",
    ): "only a search without hits leaves it out, and then no score is made",
    (
        "core/memories/ranking.py", "length_mean: float = 1.0", "1.0 → 2.0",
    ): "only a search without hits leaves it out, and then no score is made",
    (
        "core/memories/ranking.py",
        "best = max((text for text, _ in texts.values()), default=0.0) or 1.0",
        "0.0 → 1.0",
    ): _NO_TEXT,
    (
        "core/memories/ranking.py",
        "best = max((text for text, _ in texts.values()), default=0.0) or 1.0",
        "1.0 → 2.0",
    ): _NO_TEXT,
    (
        "core/brief/trail_words.py", "_outcome = lru_cache(maxsize=256)(outcome)", "256 → 512",
    ): "how many answers are remembered changes none of them",
    (
        "core/supervision/decide.py",
        "return float(min(policy.wait_seconds * 2 ** min(waits, 30), policy.wait_seconds_max))",
        "30 → 60",
    ): "it keeps the power small enough for a float; the longest wait is reached long before",
    (
        "services/sessions/holds.py",
        "if self.until < self._holds.moment(self._lease * 2 / 3):",
        "< → <=",
    ): "a lease is renewed a microsecond earlier",
    (
        "services/supervision/supervisor.py",
        'retry = _asked_to_wait(fault or look.fault, heard) if trouble == "rate" else 0.0',
        "0.0 → 1.0",
    ): _ONLY_AT_A_LIMIT,
    (
        "services/supervision/supervisor.py",
        'retry = _asked_to_wait(look.fault, heard) if action.cause == "rate" else 0.0',
        "0.0 → 1.0",
    ): _ONLY_AT_A_LIMIT,
    (
        "services/supervision/supervisor.py",
        "self, launch: Launched, look: Look, cause: str, detail: str, retry_seconds: float = 0.0",
        "0.0 → 1.0",
    ): _ONLY_AT_A_LIMIT,
    (
        "services/supervision/supervisor.py",
        "troubled_seconds=now - following.troubled if following.troubled else 0.0,",
        "0.0 → 1.0",
    ): "it is looked at only while there is trouble",
    (
        "services/supervision/supervisor.py",
        "began, reported, printed, changed = time.monotonic(), 0.0, -1, time.monotonic()",
        "1 → 2",
    ): _NOT_A_VALUE,
    (
        "services/supervision/supervisor.py",
        "began, reported, printed, changed = time.monotonic(), 0.0, -1, time.monotonic()",
        "0.0 → 1.0",
    ): "both lie before the first moment that a clock of the system tells",
    (
        "services/supervision/follow.py", "self._stamp = (0.0, 0)", "0 → 1",
    ): _NOT_A_VALUE,
    (
        "services/supervision/follow.py", "self._stamp = (0.0, 0)", "0.0 → 1.0",
    ): _NOT_A_VALUE,
    (
        "services/supervision/follow.py", "self._searched = 0.0", "0.0 → 1.0",
    ): "both lie before the first moment that a clock of the system tells",
}  # fmt: skip
