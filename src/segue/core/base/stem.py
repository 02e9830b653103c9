"""The Porter stemmer for English words, so that "tests", "testing" and "tested" are found as one word.

It follows Martin Porter's paper of 1980. A word of another language gets a stem that means nothing but is
always the same. Words of fewer than three letters, or with anything but a-z in them, are left unchanged.
"""

from __future__ import annotations

from functools import lru_cache

from .lazy import regex

STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be because been before being but by can could did "
    "do does doing down each for from had has have having he her here hers him his how i if in into is "
    "it its just me more most my no nor not now of off on once only or other our out over own same she "
    "should so some such than that the their them then there these they this those through to too under "
    "until up very was we were what when where which while who whom why will with would you your s t d "
    "ll m o re ve y".split()
)
"""English words that say nothing about what a text is about."""
_VOWELS = "aeiou"
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate",
    "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al",
    "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "ion", "al", "er", "ic", "ou",
)  # fmt: skip
_LONGEST_FIRST_2 = sorted(_STEP_2, key=len, reverse=True)
_LONGEST_FIRST_3 = sorted(_STEP_3, key=len, reverse=True)
_PLAIN = regex("[a-z]{3,}")


def _shape(word: str) -> str:
    """``c`` for each consonant and ``v`` for each vowel; a y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """Whether a word ends with consonant, vowel and a consonant other than w, x or y, like "hop"."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _step_1(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        for ending in ("ed", "ing"):
            rest = word.removesuffix(ending)
            if rest != word and "v" in _shape(rest):
                word = _completed(rest)
                break
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    return word


def _completed(word: str) -> str:
    """A word without its "ed" or "ing", made a regular word again."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-1:] == word[-2:-1] and _shape(word)[-1] == "c" and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _replaced(word: str, endings: list[str], by: dict[str, str]) -> str:
    for ending in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + by[ending] if _measure(rest) > 0 else word
    return word


def _step_4(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if _measure(rest) > 1 and (ending != "ion" or rest[-1:] in ("s", "t")):
                return rest
            return word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """The stem of a word, which must be in lower case."""
    if not _PLAIN.fullmatch(word):
        return word
    word = _step_1(word)
    word = _replaced(word, _LONGEST_FIRST_2, _STEP_2)
    word = _replaced(word, _LONGEST_FIRST_3, _STEP_3)
    return _step_5(_step_4(word))
