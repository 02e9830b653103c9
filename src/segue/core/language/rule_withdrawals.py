"""How people take back what they said, in the languages that rules are known in.

Every expression is for text in lower case with straight apostrophes.
"""

from __future__ import annotations

from ..base.lazy import regex

MARKS = frozenset(
    """forget ignore drop scrap lift withdraw disregard never nevermind nvm mind cancel revoke undo abandon
    take scratch skip rule rules restriction restrictions ban constraint constraints decision decisions
    longer more anymore after instead changed needed need needn not don dont won doesn may can allowed
    free fine ok okay permitted acceptable feel go exception allow vergiss ignorier ignoriere ignorieren
    streich streiche verwirf stornier storniere rückgängig regel vorgabe verbot nicht doch stattdessen
    darf darfst dürft dürfen kannst könnt erlaubt ordnung gern gerne ruhig meinetwegen kein keine keinen
    brauchen oublie oubliez oublier ignorez ignorer annule annulez annuler abandonne abandonnez laisse
    laissez règle contrainte interdiction plus finalement besoin peux pouvez droit autorisé permis accord
    hésite hésitez olvida olvidad olvídate olvidate ignora cancela cancelar descarta anula regla
    restricción ya final falta necesitamos puedes podéis pueden puede está están permite esqueça esquece
    cancele descarte anule desfaça desfaz regra restrição mais já precisa precisamos pode podem permitido
    liberado fique dimentica annulla lascia scarta regola vincolo divieto più serve puoi potete permesso
    consentito sentiti può vergeet negeer annuleer schrap ongedaan verbod meer toch nodig mag mogen kan
    kunt kunnen toegestaan prima oké voel zapomnij ignoruj zignoruj anuluj odpuść porzuć cofnij wycofaj
    zasada zakaz już jednak trzeba potrzebujemy możesz możecie wolno można śmiało pozwalam забудь забудьте
    игнорируй игнорируйте отмени отмените отменяем откати забей правило запрет ограничение больше уже таки
    нужно нужен нужна нужны можешь можете можно разрешаю разрешено разрешается смело""".split()
)
"""Words in lower case; every sentence that takes something back has one of them, or is written in a script
without spaces."""
DROPS = regex(
    r"\b(?:forget|ignore|drop|scrap|lift|withdraw|disregard|never ?mind|nvm|cancel|revoke|undo|abandon"
    r"|take back|scratch|skip|vergiss|ignorier\w*|streiche?|verwirf|storniere?|rückgängig|oublie[zr]?"
    r"|annule[zr]?|abandonne[zr]?|laisse[zr]? tomber|olvida\w*|olvíd\w+|ignora\w*|cancel[ae]\w*"
    r"|descart[ae]\w*|anul[ae]\w*|esqueç?[ae]\w*|esquece|desfaça|desfaz|dimentica\w*|annulla\w*"
    r"|lascia perdere|scarta|vergeet|negeer|annuleer|schrap|ongedaan|zapomnij|z?ignoruj|anuluj|odpuść"
    r"|porzuć|cofnij|wycofaj|забудь\w*|игнорируй\w*|отмени\w*|отменя\w+|откати\w*|забей)\b|忘掉|忘了|忘记"
    r"|忽略|取消|撤销|撤回|算了|不用管|作废|放弃|忘れて|無視して|取り消|キャンセル|撤回|やめて|やめよう|(?:やめ|ヤメ)(?:る|ます)"
    r"|中止|なかったことに|잊어|무시|취소|철회|없던 일|그만"
)
"""Is found in a clause that drops something."""
CALLED_OFF = regex(
    r"\bstop (?:with |working on )?(.{3,80}?),? (?:it|that|this|they) (?:was|is|were|are|has been|have been) "
    r"(?:cancell?ed|called off|abandoned|obsolete)\b"
)
"""Matches a sentence that says that some work was called off."""
SAID = regex(
    r"\b(?:rules?|instructions?|restrictions?|ban|constraints?|decisions?|choices?|requirements?|never"
    r"|always|not|what i (?:said|told|wrote|asked)|regeln?|vorgaben?|entscheidung|anweisung|verbot|nie"
    r"|immer|was ich|règles?|consignes?|contraintes?|interdiction|ce que j'ai dit|jamais|reglas?"
    r"|restricción|instrucción|lo que dije|nunca|siempre|regras?|restrição|instrução|o que (?:eu )?(?:disse"
    r"|falei)|sempre|regol[ae]|vincolo|istruzione|divieto|quello che ho detto|mai|verbod|instructie"
    r"|wat ik zei|nooit|altijd|zasad\w+|ograniczeni\w+|zakaz\w*|co mówiłem|nigdy|zawsze|правил\w+"
    r"|ограничени\w+|запрет\w*|что я (?:сказал|говорил)\w*|никогда|всегда)\b|规则|規則|限制|约束|我说的"
    r"|之前说的|ルール|制約|制限|言ったこと|규칙|제약|제한|말한"
)
"""Is found in a clause that speaks of a rule or of what was said."""
LIFTED = regex(
    r"\b(?:rules?|restrictions?|ban|constraints?|decisions?|regel|vorgabe|verbot|règle|contrainte"
    r"|interdiction|regla|restricción|regra|restrição|regola|vincolo|divieto|verbod|zasada|zakaz|правило"
    r"|запрет|ограничение)\b.*\b(?:lifted|withdrawn|dropped|gone|over|void|off|aufgehoben|hinfällig|vorbei"
    r"|weg|levée?|annulée?|abandonnée?|levantad[oa]|anulad[oa]|fuera|cancelad[oa]|revogad[oa]|annullat[oa]"
    r"|revocat[oa]|opgeheven|vervalt|uchylon[ay]|cofnięt[ay]|снят\w*|отмен[её]н\w*|no longer|nicht mehr"
    r"|ne .* plus|ya no|não .* mais|non .* più|niet meer|już nie|больше не)\b"
)
"""Is found in a clause that says that a rule is over."""
ENDS = regex(
    r"\b(?:no longer|any ?more|after all|instead|changed my mind|not needed|no need|(?:don't|do not|dont"
    r"|needn't|need not|won't|doesn't) (?:need|have)|nicht mehr|doch nicht|doch kein\w*|stattdessen"
    r"|brauch\w* (?:wir |ich )?(?:nicht|kein\w*)|ne .{1,30} plus|n'.{1,30} plus|finalement|plus besoin"
    r"|pas besoin|ya no|al final no|no hace falta|no necesitamos|(?:não|nao) .{1,30} mais|já não"
    r"|não precisa\w*|não é mais|non .{0,30}più|alla fine non|non serve|niet meer|toch niet|toch geen"
    r"|niet nodig|już nie|jednak nie|nie trzeba|nie potrzebujemy|больше не|уже не|вс[её]-таки не"
    r"|не нуж\w+)\b|不再|不用.*了|不需要|没必要|もう.*(?:ない|不要|いい)|必要ない|不要になっ|더 이상"
    r"|안 해도|필요 ?없|하지 않아도"
)
"""Is found in a clause that says that something was so until now."""
FREES = regex(
    r"\b(?:off[- ]limits|forbidden|banned|frozen|protected|taboo|untouchable|appl(?:y|ies)|holds?|valid"
    r"|avoid|must|have to|need(?:ed)? to|tabu|verboten|gesperrt|gilt|gelten|interdite?s?|s'applique\w*"
    r"|prohibid[oa]s?|aplica\w*|rige|vale|proibid[oa]s?|vietat[oaie]|taboe|verboden|geldt|zabronion\w+"
    r"|obowiązuj\w+|запрещ[её]н\w*|запрещено|действует)\b|禁止|适用|有效|必须|禁止|適用|금지|적용"
)
"""Is found in a clause that says of something that no rule is about it any more."""
IN_PART = regex(
    r"\b(?:for this|just this|this (?:time|once|one)|only|nothing else|except|but not|in this (?:case|file"
    r"|pr|branch|step)|one time|once|an exception|für (?:dies\w+|das hier)|diesmal|nur|ausnahmsweise"
    r"|sonst nichts|außer|einmal|pour (?:ça|cela|cette?)|cette fois|seulement|sauf|uniquement|para (?:esto"
    r"|este|esta|isso|isto)|esta vez|solo|sólo|salvo|excepto|dessa vez|desta vez|só|apenas|exceto"
    r"|per quest[oa]|questa volta|stavolta|soltanto|tranne|hiervoor|deze keer|alleen|behalve|tym razem"
    r"|tylko|oprócz|на этот раз|в этот раз|только|кроме|для этого)\b|这次|這次|只|除了|今回|だけ|のみ|이번"
    r"|만 |제외"
)
"""Is found in a permission that is for a part of what was forbidden, or for once."""
NEGATES = regex(
    r"\b(?:never|not|no|avoid|without|dont|nothing|instead of|rather than|(?:an)?statt|au lieu|en vez"
    r"|em vez|invece di|in plaats van|zamiast|вместо|nicht|nie|niemals|kein\w*|nichts|jamais|pas|aucune?|ne"
    r"|sans|nunca|jamás|ningun[oa]?|ningún|sin|não|nao|nenhuma?|sem|non|mai|nessun\w*|niente|senza|niet"
    r"|nooit|geen|nie|nigdy|żadn\w+|bez|не|никогда|никак\w+|без|нельзя)\b|n't\b|不|别|別|勿|禁|ない|禁止"
    r"|な[。！]|마|말|금지|안 "
)
"""Is found in a clause that forbids or denies."""
INSTEAD_OF = regex(
    r"\b(?:instead of|rather than|not|and no(?:t|) longer|(?:an)?statt|anstelle(?: von)?|nicht"
    r"|au lieu d[e']|plutôt qu[e']|pas|en vez de|en lugar de|em vez de|ao invés de|no lugar de|invece di"
    r"|al posto di|anziché|in plaats van|niet|zamiast|a nie|nie|вместо|а не)\s*(.+)|(?:而不是|不要用"
    r"|而非)\s*(.+)"
)
"""Is found in a rule that names, behind it, what it replaces."""
IN_PLACE_OF = regex(r"(.+?)(?:ではなく|じゃなく|の代わりに|말고|대신)")
"""Matches a rule that names, before it, what it replaces."""
FROM_NOW_ON = regex(
    r"\b(?:from now on|from here on|going forward|henceforth|now|instead|any ?more|no longer|ab jetzt"
    r"|ab sofort|künftig|nun|stattdessen|désormais|maintenant|dorénavant|a partir de ahora"
    r"|de ahora en adelante|ahora|ya no|a partir de agora|de agora em diante|agora|d'ora in poi"
    r"|da ora in poi|adesso|vanaf nu|voortaan|nu|od teraz|teraz|odtąd|с этого момента|теперь|отныне)\b"
    r"|从现在|以后|现在|今後|これから|앞으로|이제"
)
"""Is found in a rule that holds from now on."""
WORDLESS = frozenset(
    """a an the and or of to in for on with by from at is are be it this that as if then but so can will has
    have i you we my our your please do don't dont does not never always must should shall may only use
    using run make makes sure keep when before after every each any all no than rather instead avoid prefer
    ensure remember now rule rules again also just touch touching change changing edit editing modify
    modifying add adding write put set go get want need needs allowed allow fine ok okay feel free off
    limits longer more anymore forget ignore drop scrap lift mind cancel undo about what said me us them
    there here out up into did new still these those its was were been one else nothing der die das den dem
    des ein eine einen und oder zu im am auf mit für von bei aus ist sind darf darfst dürfen du ihr wir ich
    es jetzt wieder auch nur kein keine keinen keiner bitte mehr nicht nie niemals immer kannst könnt ruhig
    gern ändern anfassen verwenden nutzen benutzen regel vergiss doch le la les un une de au aux et ou ne
    pas jamais toujours tu vous peux pouvez est sont en dans sur pour avec maintenant nouveau ce cette
    toucher touche modifier modifie utiliser utilise règle oublie plus que el los las una unos del al y o
    con por para son nunca siempre puedes puede ahora ya tocar toques usar usa cambiar regla olvida os um
    uma da dos na nos nas e em com não sempre pode você agora já mexer mexa alterar regra esqueça mais il lo
    gli uno dei degli di per su non mai puoi può ora adesso toccare usare modificare regola dimentica het
    een op met voor van zijn niet nooit altijd geen mag je nu weer wel wijzigen raak gebruik gebruiken
    vergeet aanraken aan af lub w z po nigdy zawsze możesz teraz już ruszaj ruszać zmieniać używaj używać
    zasada zapomnij и или в на с по не никогда всегда можешь можно теперь уже трогай трогать менять
    используй использовать правило забудь""".split()
)
"""Words that do not say what a sentence is about."""
WORDLESS_SIGNS = regex(
    r"现在|可以|不要|不能|不再|禁止|允许|以后|修改|使用|改动|规则|必须|始终|总是|这个|那个|我们|了|再|也|都"
    r"|请|的|吧|用|改|动|してもいいです|しても大丈夫です|してもいい|しないでください|しないで|してください"
    r"|して|もう|今後は|必ず|常に|使用|変更|触ら|です|ます|ない|ください|は|が|を|に|で|の|も|해도 돼요"
    r"|해도 됩니다|하지 마세요|하지 마|이제|절대|항상|사용|수정|건드리지|세요|은|는|이|가|을|를|도|에"
)
"""The same for scripts without spaces, and for endings."""
ACTIONS = frozenset(
    """push commit merg deploi releas delet remov renam move format instal test review pull rebas squash
    pushen committen mergen pousser commiter пушить коммитить""".split()
)
"""Stems of what one does with things: a sentence may share them and be about something else."""
RULE_ON = regex(
    r"\b(?:rules?|regeln?|règles?|reglas?|regras?|regol[ae]|regels?|zasad\w+|regu[łl]\w*|правил\w*)\b"
    r"|规则|規則|规定|規定|ルール|규칙"
)
"""Matches what speaks of a rule as such."""
