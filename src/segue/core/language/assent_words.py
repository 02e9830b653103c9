"""The words with which people agree, or point back to what was proposed, in several languages.

They name nothing of their own: "yes", "lets do that then", "klingt gut, mach das". A letter too many, too few
or out of place is overlooked in those of them that are typed most.
"""

from __future__ import annotations

import re

from ..base.lazy import regex

ASSENTING = frozenset(
    """
    hm hmm hmmm uh um well alright aha go goes on ahead continue continues continuing proceed resume
    carry keep going y yes yep yeah yup yea ok okay k sure please pls plz do it that this so next more
    again retry try then now and the a of work working task job item items step steps todo todos list
    what you your were was are is doing where we us i me left off stopped last time point here pick up
    back to with from get started start finish rest remaining let's lets just thanks thank thx ty great
    good perfect fine right correct agreed approved approve lgtm nice cool sounds no nope done ready all
    both hi hello hey still for as works agree absolutely definitely exactly ship suggested proposed said
    looks alright mach mache machen machs macht weiter weitermachen mal bitte ja jo jep jawohl genau gut
    los leg fahr fahre fort fortfahren setz setze und nun jetzt dann damit da wo du aufgehört hast warst
    der die das es nächste nächsten nächster schritt aufgabe arbeite einfach nochmal nein danke klingt
    hört sich passt in ordnung einverstanden gerne gern klar wir machen's mach's so geht geht's wie
    vorgeschlagen lass uns tun
    continuez continuer vas y allez allons oui ouais accord d'accord svp s'il te vous plaît plait
    poursuis poursuivez poursuivre reprends reprenez la le suite encore non merci fais fait faites
    faisons ça cela comme on marche va me bien sûr très parfait c'est bon
    sigue siga seguir continúa continua continuar adelante sí si vale por favor dale procede prosigue
    gracias hazlo haz hagamos hagámoslo eso esto lo así suena parece claro de acuerdo vamos perfecto está
    entonces
    avanti prosegui procedi sì bene per favore vai grazie fallo facciamo così
    prossiga sim pode ser faz faça façamos fazer isso isto lá manda ver beleza combinado bom então assim
    tá perfeito obrigado obrigada
    ga door verder maar graag doorgaan met doe dat fortsätt fortsæt fortsett tack tak takk videre vidare
    да продолжай продолжайте продолжи дальше давай хорошо ок пожалуйста нет так сделай
    kontynuuj dalej proszę devam et evet lütfen
    """.split()
)
ASSENTING_WITHOUT_SPACES = regex(
    r"(?:请|請|你|继续|繼續|接着|下去|做|吧|工作|进行|执行|好|的|可以|是|对|對|行|就|这样|這樣|这么|這麼|那样|那么|那|按|照|说|說"
    r"|方案|来|來|办|辦|没问题|沒問題|同意|了|嗯|都|先|听|聽|开始|開始"
    r"|はい|うん|ええ|お願いします|お願い|続けて|続行|ください|下さい|どうぞ|進めて|それ|これ|その|この|で|方向|方針|通り|とおり"
    r"|まま|いい|良い|です|ます|ね|よ|そう|して|しましょう|しよう|行きましょう|行こう|いこう|やって|やりましょう|やろう|了解|しました"
    r"|頼みます|頼む|では|じゃあ|じゃ|全部|両方|を|も"
    r"|계속|네|예|응|해|하세요|주세요|진행|좋아요?|그래요?|그렇게|해줘|하자|\s|\W)+"
)
MISTYPED = (
    "that", "this", "lets", "then", "sure", "good", "great", "okay", "please", "continue", "proceed", "ahead",
    "sounds", "perfect", "agreed", "weiter", "bitte", "genau", "adelante", "parfait", "perfecto",
)  # fmt: skip
"""Words of which one letter may be wrong."""
MISTYPED_SHORT = ("do", "yes", "yep", "oui", "sim", "mach", "hazlo")
"""Shorter ones, of which a letter may be too much or two may have changed places."""

BEGINS_WITH_ASSENT = regex(
    r"^\W*(?:(?:y|yes|yep|yeah|yup|yea|ok|okay|k|sure|go(?: on| ahead| for it)?|continue|proceed"
    r"|do (?:it|that|so|this)|please(?: do)?|sounds (?:good|great|fine|right)|perfect|great|thanks?(?: you)?"
    r"|next|keep going|lgtm|approved?|agreed|absolutely|definitely|exactly|correct|right|no|nope|resume"
    r"|carry on|let'?s (?:do (?:it|that|this|so)|go)|make it so|ship it|works for me|fine (?:by|with) me"
    r"|done|ready"
    r"|ja|jawohl|jep|genau|gerne?|klar|einverstanden|in ordnung|passt|(?:klingt|hört sich) gut"
    r"|(?:dann |ja |ok |so )?mach(?:e|t|en wir|s)?(?: das| es| mal| so|'s)|leg los|los geht'?s|weiter"
    r"|oui|ouais|d['’]accord|on y va|vas-y|allez-y|allons-y|(?:fais|faites|faisons|on fait)(?:-le| ça| cela)"
    r"|ça (?:marche|me va)|très bien|parfait|bien sûr|continuez"
    r"|s[ií]|vale|dale|claro|adelante|de acuerdo|hazlo|haz(?: eso| esto)|hagámoslo|hagamos (?:eso|esto)"
    r"|suena bien|me parece bien|perfecto|continúa|sigue|está bien"
    r"|sim|pode (?:fazer|ser|ir)|(?:faz|faça|façamos|vamos fazer) (?:isso|isto)|manda ver|beleza|combinado"
    r"|parece bom|tá bom|perfeito|s[iì]|va bene|fallo|facciamo(?:lo| così)|да|давай|так и сделай)\b"
    r"|好的?|可以|行|是的|对|嗯|没问题|同意|就(?:这样|这么|按|照)|按(?:这个|你说的|照)|照(?:这个|你说的|做|办)|那就|继续|开始吧"
    r"|はい|うん(?!ど)|ええ|了解|いい(?:です|ね|よ)|それで|そうして|そうしま|その(?:通り|とおり|まま|方針)|お願いします|やって(?:ください|$)"
    r"|進めて|続けて|頼む|네|예|응|좋아|그래|그렇게)",
    re.I,
)
"""Matches the beginning of a message that agrees, whatever else it says."""
POINTS = regex(
    r"\b(?:this|that|it|these|those|them|both|above|same|option|the (?:first|second|third|last"
    r"|other) one|again|dies(?:es|e)?|beides?|beide|ça|cela|ceci|eso|esto|ambos|isso|isto|aquilo|questo"
    r"|это)\b"
    r"|(?:这个|那个|这样|那样|它们?|それ|これ|そのまま|両方|그것|이것)",
    re.I,
)
"""Words that point to what was said before."""
