"""Which sentences are rules and permissions, in twelve languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.core.language.rules import permissions_in, rules_in, takes_back

TABLE = Path(__file__).with_name("rules_of_languages.txt").read_text(encoding="utf-8")


def _rows(kind: str) -> Iterator[tuple[str, str]]:
    """The language and the sentence of each row of the table that is of this kind."""
    language = ""
    for line in TABLE.splitlines():
        if line.startswith("## "):
            language = line.removeprefix("## ")
        elif line.startswith(f"{kind}: "):
            yield language, line.removeprefix(f"{kind}: ")


@pytest.mark.parametrize(("language", "sentence"), list(_rows("rule")))
def test_a_rule_is_known_in_its_language(language: str, sentence: str) -> None:
    assert rules_in(sentence) == [sentence]


@pytest.mark.parametrize(("language", "sentence"), list(_rows("none")))
def test_what_is_no_rule_is_none_in_any_language(language: str, sentence: str) -> None:
    assert rules_in(sentence) == []


@pytest.mark.parametrize(("language", "sentence"), list(_rows("allows")))
def test_a_permission_is_known_in_its_language(language: str, sentence: str) -> None:
    assert permissions_in(sentence) == [sentence]


@pytest.mark.parametrize(("language", "sentence"), list(_rows("allows nothing")))
def test_an_offer_a_question_or_a_remark_allows_nothing(language: str, sentence: str) -> None:
    assert permissions_in(sentence) == []


@pytest.mark.parametrize("kind", ["rule", "none"])
def test_the_table_has_at_least_a_dozen_rows_for_each_of_twelve_languages(kind: str) -> None:
    counts = Counter(language for language, _ in _rows(kind))
    assert len(counts) == 12
    assert min(counts.values()) >= 12


@pytest.mark.parametrize(
    ("said", "later"),
    [
        ("Niemals legacy/ anfassen.", "du darfst legacy/ wieder anfassen"),
        ("Keine neuen Abhängigkeiten.", "Vergiss die Regel mit den Abhängigkeiten."),
        ("Füge einen PDF-Export hinzu.", "den PDF-Export brauchen wir doch nicht"),
        ("Ne touche jamais à legacy/.", "tu peux toucher à legacy/ maintenant"),
        ("Ajoute un export PDF.", "laisse tomber l'export PDF"),
        ("No toques legacy/.", "ya puedes tocar legacy/"),
        ("Não mexa em legacy/.", "agora você pode mexer em legacy/"),
        ("Non toccare legacy/.", "ora puoi toccare legacy/"),
        ("Raak legacy/ nooit aan.", "je mag legacy/ nu weer aanraken"),
        ("Nie ruszaj legacy/.", "możesz już ruszać legacy/"),
        ("Не трогай legacy/.", "теперь можно трогать legacy/"),
        ("Добавь экспорт в PDF.", "отмени экспорт в PDF"),
        ("不要改 legacy/。", "现在可以改 legacy/ 了"),
        ("添加 PDF 导出功能", "取消 PDF 导出"),
        ("legacy/は変更しないで", "legacy/は変更してもいいです"),
        ("legacy/는 수정하지 마", "이제 legacy/는 수정해도 돼요"),
    ],
)
def test_what_was_said_is_taken_back_in_its_language(said: str, later: str) -> None:
    assert takes_back(said, later)


@pytest.mark.parametrize(
    ("said", "later"),
    [
        ("Niemals legacy/ anfassen.", "du darfst jetzt legacy/ledger.py ändern"),
        ("Ne touche jamais à legacy/.", "tu peux toucher à legacy/ledger.py"),
        ("No toques legacy/.", "legacy/ ya no compila"),
        ("Не трогай legacy/.", "legacy/ больше не собирается"),
        ("不要改 legacy/。", "现在可以改 legacy/ledger.py 了"),
    ],
)
def test_a_part_of_a_rule_that_is_allowed_leaves_the_rule_in_its_language(said: str, later: str) -> None:
    assert not takes_back(said, later)
