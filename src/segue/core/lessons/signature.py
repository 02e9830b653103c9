"""By what a failure is known again: the lines of its output that say why, without what differs from one time
to the next.

Paths are their last names, numbers and hashes are marks, spacing and case do not count. A line that any
failure could print ("exit code 1", "2 failed") is no signature: it would bring up a lesson about something
else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..base.lazy import regex
from ..runs.outcomes import failing_tests, telling

SIGNATURES_MAX, SIGNATURE_CHARS = 4, 160
_PATH = regex(r"(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+([\w.@+-]+)")
_PLACE = regex(r"(?<=[\w\]])[:(]\d+(?:[:,]\d+)*\)?|\bline \d+(?:, column \d+)?|\bat position \d+")
_MARKED = regex(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{8}-[0-9a-f-]{20,}\b|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b")
_NUMBER = regex(r"\d+(?:[.,:]\d+)*")
_EDGES = " \t>|│├╭╰─▶=_-*·•✗✖×✘❌●"
_LEAD = regex(r"^(?:e (?=\w)|npm err!\s*|\d+ ?[|│] ?|\[?(?:error|stderr)\]?[: ]\s*(?=\w+error))")
_GENERIC = regex(
    r"exit(?:ed)?(?: with)?(?: (?:code|status))? #|^(?:error|fail(?:ed|ures?)?|traceback)\b[:.! ]*$"
    r"|^traceback \(most recent|^(?:the )?(?:command|process|script|build|test|tests|run|job)s? failed\b"
    r"|^[\W\d#]*# (?:tests? )?(?:failed|passed|errors?|failing|problems?|warnings?)\b|^tests?: +#"
    r"|^test suites?:|^found # |^short test summary|^test result: "
    r"|elifecycle|lifecycle script|^make(?:\[#\])?: \*\*\*"
    r"|^aborting due to|could not compile .* due to|\bin <module$|^warn(?:ing)?\b|^failure reason$|^at \w"
)
_NAMED = regex(r"['\"`‘“][^'\"`]*\w{3}|\w\.[a-z]\w|::|\w{3}_\w|\w/\w")
"""What names something: a quotation, a file, a test, an identifier."""
_CODE = regex(r"\[\w+\]")
_WORD = regex(r"[^\W\d_]{3,}")
WORDS_MIN = 2


def signatures(output: str) -> tuple[str, ...]:
    """The signatures of a failed command's output, the first lines first; none if it says nothing of its
    own."""
    return of_lines((*telling(output, failed=True), *failing_tests(output)))


def of_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """The signatures of lines that say why something failed."""
    found = dict.fromkeys(normalised(part) for line in lines for part in line.split("\n"))
    return tuple(one for one in found if is_telling(one))[:SIGNATURES_MAX]


def same_failure(known: Iterable[str], seen: Iterable[str]) -> bool:
    """Whether two failures share what tells them apart: a line that names something, or two lines."""
    shared = set(known) & set(seen)
    return len(shared) > 1 or any(_NAMED.search(_CODE.sub("", one)) for one in shared)


def normalised(line: str) -> str:
    """A line without what differs from one time to the next."""
    text = " ".join(line.split()).strip(_EDGES).casefold()
    text = _LEAD.sub("", text).strip(_EDGES)
    text = _PLACE.sub("", _PATH.sub(r"\1", text))
    text = _NUMBER.sub("#", _MARKED.sub("#", text))
    return re.sub(r"\s+", " ", text).strip(_EDGES + ".:;,")[:SIGNATURE_CHARS]


def is_telling(signature: str) -> bool:
    """Whether a normalised line tells this failure from others."""
    return len(_WORD.findall(signature)) >= WORDS_MIN and not _GENERIC.search(signature)
