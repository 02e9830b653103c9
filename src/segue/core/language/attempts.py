"""Sentences in which an agent says that something was tried in vain, so that nobody tries it again.

Only what is over counts: an outcome, and not a plan for the case that something fails.
"""

from __future__ import annotations

import re

from ..base.lazy import regex
from .sentences import sentences

ATTEMPTS_MAX, BYTES_MIN, CHARS_MAX = 3, 18, 400
_MARKS = (
    "work", "fail", "revert", "roll", "back", "undid", "undo", "gave up", "giving up", "abandon",
    "dead end", "luck", "worse", "help", "vain", "drop", "funktioniert", "rückgängig", "zurück", "marche",
    "annul", "funcion",
    "deshech", "funziona", "annullat", "не работает", "не помогло", "откатил", "不行", "失败", "失敗", "回滚",
    "没用", "ダメ", "駄目", "元に戻", "うまくいか", "되돌", "실패",
)  # fmt: skip
_FAILED = regex(
    r"\b(?:did(?:n['’]t| not) (?:work|help|fix|solve|change anything|make (?:any|a) difference)"
    r"|does(?:n['’]t| not) (?:work|help) (?:here|either|because|since|as)"
    r"|(?:made|makes) (?:it|things|that|matters) worse|no luck\b|dead[- ]end|was a dead end|in vain"
    r"|(?:that|this|the) (?:approach|attempt|idea|fix|change|patch|route|way|trick|workaround|experiment) "
    r"(?:failed|fails|broke|breaks|does(?:n['’]t| not) work|did(?:n['’]t| not) work|was wrong|backfired)"
    r"|(?:tried|attempted)\b.{3,200}\b(?:but|however|without success|failed|no effect))\b",
    re.I,
)
_TAKEN_BACK = regex(
    r"(?:^|[;:—–,.(]\s*|\b(?:so|and|i|we|i['’]ve|i['’]m|am|have|now)\s+)"
    r"(?:reverted|reverting|roll(?:ed|ing)(?: (?:it|that|this|them))? back|back(?:ed|ing)(?: (?:it"
    r"|that))? out"
    r"|undid|undoing|gave up on|giving up on|gave it up|abandoned|abandoning|took (?:it|that|this|them) back"
    r"|put (?:it|that) back|dropp(?:ed|ing) (?:it|that|this|the (?:idea|attempt|approach)))\b",
    re.I,
)
_ELSEWHERE = regex(
    r"\b(?:das|dies|der (?:ansatz|versuch)) (?:hat nicht funktioniert|funktioniert (?:so )?nicht"
    r"|hat nicht geholfen)|rückgängig gemacht|(?:ça|cela) (?:n['’]a pas|ne) (?:marché|fonctionné|marche)"
    r"|j['’]ai annulé|no (?:funcionó|ha funcionado|sirvió)|he revertido|reverti\b|não funcionou"
    r"|non ha funzionato|ho annullato|heeft niet gewerkt|teruggedraaid|nie zadziałało|cofnąłem"
    r"|не (?:сработало|помогло)|откатила?\b|(?:没有用|不起作用|行不通|失败了，|已回滚|失敗了)"
    r"|(?:うまくいきませんでした|元に戻しました|ダメでした)|(?:작동하지 않았|되돌렸습니다|실패했습니다)",
    re.I,
)
_AHEAD = regex(
    r"\?\s*$|\b(?:if|unless|in case|when|should|might|could|would|may|can|will|let me|let['’]s|to avoid"
    r"|before|wenn|falls|si|se|если|如果|もし|만약)\b",
    re.I,
)
_POINTS_BACK = regex(r"^(?:that|this|it|neither|das|dies|cela|ça|eso|questo|isso|这|那|それ|これ)\b", re.I)


def attempts_in(text: str) -> list[str]:
    """What an agent's message says was tried in vain, each as it was said; a sentence that points back is
    given with the one before it."""
    low = text.lower()
    if not any(mark in low for mark in _MARKS):
        return []
    told = sentences(text)
    attempts: list[str] = []
    for at, sentence in enumerate(told):
        if not is_attempt(sentence):
            continue
        before = told[at - 1] if at and _POINTS_BACK.match(sentence) else ""
        whole = f"{before} {sentence}" if before else sentence
        attempts.append(whole if len(whole) <= CHARS_MAX else sentence)
    return attempts[:ATTEMPTS_MAX]


def is_attempt(sentence: str) -> bool:
    """Whether a sentence says that something was tried and did not do."""
    if len(sentence.encode()) < BYTES_MIN or len(sentence) > CHARS_MAX or _AHEAD.search(sentence[:60]):
        return False
    return any(form.search(sentence) is not None for form in (_FAILED, _TAKEN_BACK, _ELSEWHERE))
