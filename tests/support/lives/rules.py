"""Rules for lives, in eight languages: how developers word, soften, correct and withdraw them.

``{x}`` is a name of its own for each rule, ``{k}`` the same with hyphens, ``{X}`` in capitals; ``{f}`` is a
file in the folder of that name. The first rule of each language forbids to touch a folder; a permission can
soften it.
"""

from __future__ import annotations

from typing import NamedTuple


class RuleForms(NamedTuple):
    rules: tuple[str, ...]
    permissions: tuple[str, ...]
    corrected: tuple[tuple[str, str], ...]
    """Rules, each with what replaces it."""
    withdrawals: tuple[str, ...]


LANGUAGES: dict[str, RuleForms] = {
    "en": RuleForms(
        (
            "Never touch {x}/.",
            "never edit src/{x}.py",
            "Always run {k}-check before a commit.",
            "Use {X} everywhere.",
            "No new dependencies in {x}/.",
            "Don't rename anything in {x}/.",
            "Only use the standard library in {x}/.",
            "Keep Python 3.8 compatibility in {x}/.",
            "do not push to {k}",
            "Ask me before you delete anything in {x}/.",
            "please keep the public API of {x} as it is",
            "Write a test first for every change in {x}/.",
            "You must not change the schema of {x}.",
            "no {k}",
            "Every commit message starts with {X}.",
            "Don't modify {x}.yml.",
        ),
        (
            "You may touch {x}/{f} now, but nothing else in {x}/.",
            "ok, you can edit {x}/{f}, only that file",
            "It's fine to change {x}/{f}, the rest of {x}/ stays off limits.",
        ),
        (
            ("Use tabs in {x}/.", "No, use two spaces in {x}/, not tabs."),
            ("Name the branches of {x} in capitals.", "No, name the branches of {x} in small letters."),
        ),
        (
            "Forget the rule about {x}.",
            "The rule about {x} no longer applies.",
            "You can ignore the rule about {x} from now on.",
        ),
    ),
    "de": RuleForms(
        (
            "Fass {x}/ niemals an.",
            "niemals direkt auf {k} pushen",
            "Vor jedem Commit immer {k}-check laufen lassen.",
            "Keine neuen Abhängigkeiten in {x}/.",
            "Nutze überall {X}.",
            "in {x}/ bitte nichts umbenennen",
            "Die Schnittstelle von {x} darf sich nicht ändern.",
            "Frag mich, bevor du etwas in {x}/ löschst.",
            "Kommentare in {x}/ immer auf Englisch.",
            "bitte kein {k}",
        ),
        (
            "Du darfst {x}/{f} jetzt anfassen, aber sonst nichts in {x}/.",
            "ok, {x}/{f} darfst du ändern, nur diese Datei",
        ),
        (("Nimm Tabs in {x}/.", "Nein, nimm zwei Leerzeichen in {x}/, keine Tabs."),),
        ("Vergiss die Regel zu {x}.", "Die Regel zu {x} gilt nicht mehr."),
    ),
    "fr": RuleForms(
        (
            "Ne touche jamais à {x}/.",
            "toujours lancer {k}-check avant un commit",
            "Pas de nouvelle dépendance dans {x}/.",
            "Utilise {X} partout.",
            "ne pousse jamais sur {k}",
            "Ne renomme rien dans {x}/.",
            "Demande-moi avant de supprimer quoi que ce soit dans {x}/.",
            "Garde l'API publique de {x} telle quelle.",
            "Les commentaires de {x}/ restent en anglais.",
        ),
        ("Tu peux toucher à {x}/{f} maintenant, mais à rien d'autre dans {x}/.",),
        (
            (
                "Utilise des tabulations dans {x}/.",
                "Non, utilise deux espaces dans {x}/, pas de tabulations.",
            ),
        ),
        ("Oublie la règle sur {x}.", "La règle sur {x} ne s'applique plus."),
    ),
    "es": RuleForms(
        (
            "No toques nunca {x}/.",
            "ejecuta siempre {k}-check antes de un commit",
            "Nada de dependencias nuevas en {x}/.",
            "Usa {X} en todas partes.",
            "no hagas push a {k}",
            "No renombres nada en {x}/.",
            "Pregúntame antes de borrar algo en {x}/.",
            "La API pública de {x} no debe cambiar.",
            "Escribe siempre primero la prueba en {x}/.",
        ),
        ("Ahora puedes tocar {x}/{f}, pero nada más en {x}/.",),
        (("Usa tabuladores en {x}/.", "No, usa dos espacios en {x}/, no tabuladores."),),
        ("Olvida la regla sobre {x}.", "La regla sobre {x} ya no vale."),
    ),
    "pt": RuleForms(
        (
            "Nunca mexa em {x}/.",
            "rode sempre {k}-check antes de cada commit",
            "Sem dependências novas em {x}/.",
            "Use {X} em todo lugar.",
            "não faça push para {k}",
            "Não renomeie nada em {x}/.",
            "Pergunte antes de apagar qualquer coisa em {x}/.",
            "A API pública de {x} não pode mudar.",
            "Os comentários em {x}/ ficam em inglês.",
        ),
        ("Agora você pode mexer em {x}/{f}, mas em mais nada em {x}/.",),
        (("Use tabs em {x}/.", "Não, use dois espaços em {x}/, não tabs."),),
        ("Esqueça a regra sobre {x}.", "A regra sobre {x} não vale mais."),
    ),
    "it": RuleForms(
        (
            "Non toccare mai {x}/.",
            "esegui sempre {k}-check prima di un commit",
            "Nessuna nuova dipendenza in {x}/.",
            "Usa {X} ovunque.",
            "non fare push su {k}",
            "Non rinominare nulla in {x}/.",
            "Chiedimi prima di cancellare qualcosa in {x}/.",
            "L'API pubblica di {x} non deve cambiare.",
            "In {x}/ scrivi sempre prima il test.",
        ),
        ("Ora puoi toccare {x}/{f}, ma nient'altro in {x}/.",),
        (("Usa i tab in {x}/.", "No, usa due spazi in {x}/, non i tab."),),
        ("Dimentica la regola su {x}.", "La regola su {x} non vale più."),
    ),
    "zh": RuleForms(
        (
            "不要修改 {x}/。",
            "提交前一定要运行 {k}-check。",
            "不要在 {x}/ 里引入新的依赖。",
            "所有地方都用 {X}。",
            "禁止直接推送到 {k}",
            "{x}/ 里的文件不要重命名。",
            "删除 {x}/ 里的任何东西之前先问我。",
            "{x} 的公共 API 必须保持不变。",
            "{x}/ 里的注释只用英文。",
        ),
        ("现在可以修改 {x}/{f}，但 {x}/ 里的其他文件还是不行。",),
        (("{x}/ 里用制表符缩进。", "不，{x}/ 里用两个空格缩进，不要用制表符。"),),
        ("关于 {x} 的规则作废。", "忘掉关于 {x} 的规则。"),
    ),
    "ja": RuleForms(
        (
            "{x}/ は絶対に触らないでください。",
            "コミットの前に必ず {k}-check を実行してください。",
            "{x}/ に新しい依存関係を追加しないこと。",
            "丸めには常に {X} を使うこと。",
            "{k} には直接プッシュしないで",
            "{x}/ の名前は変更しないでください。",
            "{x}/ のファイルを消す前に必ず聞いてください。",
            "{x} の公開 API は変えないでください。",
            "{x}/ のコメントは英語だけにしてください。",
        ),
        ("{x}/{f} だけは触ってもいいですが、{x}/ のほかのファイルはだめです。",),
        (("{x}/ ではタブを使ってください。", "いいえ、{x}/ ではタブではなくスペース二つを使ってください。"),),
        ("{x} のルールは忘れてください。", "{x} に関するルールはもう不要です。"),
    ),
}
