"""How a message of the user relates to what was asked before: it adds, corrects, permits, answers, asks ….

A later message hardly ever replaces the task: most add to it, correct it, answer a question or only ask. So
in doubt a message adds. It is taken for a mere question or for "go on" only if nothing in it asks for a
change, and for new work only if it says so.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..base.lazy import phrases, regex
from .assent_words import POINTS
from .points import points_in
from .proposals import content_words, picks_from
from .relation import Relation
from .rules import permissions_in
from .sentences import begins_with_assent, is_assent, sentences
from .subjects import subjects_of

ASKED_WITHIN = 4
"""A question of the agent stands in so many sentences at the end of its message."""
ANSWER_WORDS_MAX, SHORT_WORDS_MAX, QUESTION_CHARS_MAX = 12, 25, 600
ROUTINE_WORDS_MAX = 14
LOOKED_AT_CHARS = 600

_GO_ON = regex(
    r"\W*(?:please\s+|just\s+|ok(?:ay)?[,.]?\s+|now\s+)*"
    r"(?:go on|continue|resume|carry on|keep (?:going|working)|proceed|pick (?:it |this )?up|start again)\b"
    r"(?:[^.!?\n]{0,40}\b(?:where|what|from|with)\b[^.!?\n]{0,40}"
    r"\b(?:stopped|left(?: off)?|ended|crashed|died|broke off|(?:was|were|got|is) \w+|was|were"
    r"|(?:the )?(?:work|task|plan|rest|next (?:step|task|item|phase)))\W*|\W*)"
    r"(?:,?\s*(?:and|but)\s+(?:first\s+)?(?:tell|say|show|list|remind|report)\b[^.!?\n]{0,80}[.!?]*)?\W*",
    re.I,
)
"""To go on where the last run stopped says nothing about the work, nor does to tell first what is left."""
_ONWARD = regex(
    r"(?:(?:please|ok|okay|and|now|then|bitte|und)\W+)*(?:next|go|go on|carry on|keep going|continue|resume"
    r"|the rest|weiter|mach weiter|weitermachen|sigue|continúa|continua|vai avanti|avanti|pode continuar"
    r"|vas-y|接着做|接着|继续|下一步|続けて|次|계속)(?:\W+(?:please|then|continue|bitte))*\W*",
    re.I,
)
"""Says to go on, and answers no question that has several answers."""
_ADDITION = regex(
    r"\W*(?:also|in addition|additionally|one more thing|another thing|while you(?:['’]re| are) at it"
    r"|(?:oh,? )?and (?:please|also)|after that|then(?! (?:yes|no|ok)\b)|when everything|don['’]?t forget to"
    r"|außerdem|zusätzlich|ach und|aussi|en plus|además|también|além disso|também|inoltre|anche|daarnaast"
    r"|ook)\b|\W*(?:另外|还有|また|さらに|또)",
    re.I,
)
"""Begins what adds to the work."""
_ADDS_SOON = regex(
    r"\W*(?:[\w'’]+ ){1,4}(?:also|auch|außerdem|aussi|également|también|também|anche|ook|także|также)\b", re.I
)
"""The same after some words: "I'd also like you to …"."""
_ROUTINE_WORDS = frozenset(
    """commit commits committed push pushed merge pull rebase deploy release publish tag stage add all
    the this
    that these it them change changes file files everything work now please pls and then also to on in into a
    main master origin branch remote github upstream pr open create make go ahead ok okay yes great good
    thanks thank you with message messages well nice perfect looks look your our let's lets do so for me
    us again run rerun test tests build lint gitter committe committen pushe pushen und bitte den die das
    alles änderungen commite pousse pousser tout haz hacer sube subir cambios los faça suba o os
    commita""".split()
)
_ROUTINE = phrases(
    "commit*, push*, merge, deploy, run the tests, run tests, run lint, build, pousse*, sube, subir, suba",
    "提交, 推送, コミット, プッシュ, 커밋, 푸시",
)
_WORDS = regex(r"[^\W_]+(?:'[^\W_]+)?")
_OPENS = phrases(
    """new task, new topic, new subject, new project, new work, next task is, another task, different task,
    separate task, different topic, another topic, something else, something different, switch gears,
    switching gears, change topics, switch to a new, switch to another, unrelated question, unrelated task,
    on a different note, on another note, let's start a new, let's start something new, let's move on to,
    neue Aufgabe, andere Baustelle, anderes Thema, etwas anderes, etwas ganz anderes, nouvelle tâche,
    autre sujet, autre chose, nueva tarea, otra tarea, otra cosa, otro tema, nova tarefa, outra coisa,
    outra tarefa, nuovo compito, altra cosa, nieuwe taak, iets anders, nowe zadanie, новая задача, другая
    задача, другое дело, nový úkol""",
    "新任务, 新任務, 另一个任务, 换个话题, 别的事, 新しいタスク, 別のタスク, 別件, 새 작업, 다른 작업",
)
_WITHDRAWS = regex(
    r"(?:^|[,;:.!]\s*|\b(?:and|but|actually|ok|okay|please|no|then|can you|could you|let's|lets)\s+)"
    r"(?:please\s+|just\s+)?"
    r"(?:never ?mind|forget (?:it|that|this|about|the|what)|scrap (?:it|that|this|the)|scratch (?:it|that"
    r"|this|the)|skip (?:it|that|the)|cancel (?:it|that|the)"
    r"|drop (?:it|that|this|the (?:idea|plan|feature|change|request|rule))|disregard|take (?:it|that) back"
    r"|ignore (?:that|this|my|the (?:last|previous))|undo (?:it|that|this|the|your|all)|abort"
    r"|revert (?:it|that|this|the|your|all|back|everything|to)|roll (?:it|that|this|back)"
    r"|stop (?:it|that|this|doing|working|everything)\b|vergiss|lass (?:das|es)|verwirf|oublie|laisse tomber"
    r"|mach (?:das|es) rückgängig|annule|olvida|olvídalo|cancela|deshaz|esquece|desfaça|reverta|dimentica"
    r"|lascia perdere|annulla|vergeet|laat maar|zapomnij|забудь|отмени|верни как было)\b"
    r"|\bno longer (?:need|want)\b|\b(?:don'?t|do not) (?:need|want)\b.{0,60}\b(?:any ?more|after all)\b"
    r"|算了|不用了|忘掉|忘记|忘記|不再需要|别管|取消|撤销|撤銷|忘了|回退|不要做了|取り消し|やめて|忘れて|元に戻して|취소|그만|되돌려",
    re.I,
)
_INFORMATION = regex(
    r"^\W*(?:(?:and|but|also|so|ok|okay|well|hmm|oh|yeah|wait|then|btw|just answer[^.]*\.|quick question"
    r"|question|und|aber|et|mais|y|pero|e)\W+){0,3}"
    r"(?:(?:what|why|how|where|which|who)(?:'?s| (?:is|are|was|were|does|do|did|has|have|can|could|about"
    r"|happen\w*"
    r"|kind|type|of|many|much|far|long|else))|any idea|warum|wieso|weshalb|wie|wo|welche\w*|wer|qu['’]est"
    r"|quoi"
    r"|pourquoi|comment|où|quel\w*|c['’]est quoi|qué|por qué|cómo|dónde|cuál\w*|quién|o que|por que|onde|qual"
    r"|quem|che cosa|perché|dove|quale|chi|wat|waarom|hoe|waar|welke|dlaczego|gdzie|który|kto|почему"
    r"|зачем|где"
    r"|какой|какие|какая|кто|proč|kde)\b(?!\s+(?:you|we|i) (?:can|could|should|have to|need to) )"
    r"|什么|甚麼|为什么|為什麼|怎么|怎麼|哪|谁|多少|是不是|能否|(?:吗|嗎|呢)[？?。]?$"
    r"|(?:ですか|ますか|でしょうか|のか|ですかね)[？?。]?$|何|なぜ|どう|どこ|いつ|(?:까요|나요|는지|인가)[.?？]*$|무엇|왜|어떻게|어디",
    re.I,
)
"""How a sentence looks that wants to know something, though it has no question mark."""
_REQUESTS = phrases(
    """can you, could you, would you, will you, won't you, can we, could we, would it be, can it, can this,
    couldn't you, can't you, can't we, why don't, why not, should we, should it, shouldn't we, shouldn't it,
    should the, should be, is it possible, is there a way, is there any way, any chance, do you mind, what if,
    what about, how about, how can we, how do we make, how do we fix, how do i fix, please, pls, i want,
    i need, i would like, i'd like, i think we should, let's, lets, make it, make the, make sure, add,
    fix, remove, change it, change the, update the, update it, rename, delete, create, write, implement,
    refactor, replace, ensure, revert, undo, rewrite, convert, keep the, put the, set the, run the,
    rerun, try again, kannst du, könntest du, können wir, sollten wir, bitte, mach, ändere, füge,
    entferne, peux-tu, pouvez-vous, pourrais-tu, pourriez-vous, peut-on, s'il te plaît, s'il vous plaît,
    ajoute, change, corrige, puedes, podrías, podemos, por favor, agrega, cambia, arregla, hagamos, pode,
    poderia, adicione, mude, corrija, crie, faça, puoi, potresti, possiamo, per favore, aggiungi, kun je,
    kunnen we, graag, voeg, możesz, proszę, dodaj, zmień, можешь, можем, пожалуйста, добавь, сделай,
    измени, исправь, нужно, давай, můžeš, prosím, přidej, oprav""",
    """请, 請, 能不能, 可否, 帮我, 幫我, 改成, 添加, 增加, 修改, 删除, 加上, 修复, 换成, してください,
    して下さい, してほしい,
    して欲しい, できますか, お願い, 直して, 追加して, 해주세요, 해 주세요, 해줘, 수정해, 추가해, 바꿔""",
)
"""A question with one of these asks for work and not for words."""
_WRONG = phrases(
    """wrong, incorrect, not right, not correct, not working, not what, not like, not there, not yet, instead,
    actually, i meant, i mean, supposed to, should be, should have, should not, shouldn't, still not,
    still see, still fail*, still broken, still shows, still get*, still there, still the same, still
    wrong, still returns, still missing, still has, still have, still does, still doesn't, doesn't, does
    not, don't, didn't, did not, isn't, is not, aren't, wasn't, can't, cannot, won't, nothing happened,
    nothing happens, no longer, fail*, broken, breaks, broke, bug, bugs, error, errors, crash*,
    exception, issue, problem, missing, forgot, missed, too big, too small, too long, too short, too
    much, too many, too slow, too wide, not enough, not recognized, revert, undo, weird, ugly, bad,
    worse, why did you, why are you, why is it, you missed, you forgot, you broke, you removed, you
    deleted, you skipped, you ignored, kill this, remove this, falsch, nicht so, nicht richtig,
    stattdessen, sondern, Fehler, kaputt, geht nicht, funktioniert nicht, fehlt, faux, pas ça, pas comme,
    pas bon, plutôt, erreur, marche pas, marche plus, ne marche, ne fonctionne, fonctionne pas, manque,
    problème, problèmes, probleme, problema, problemas, problemi, incorrecto, está mal, en vez
    de, falla, falta, no funciona, no es, errado, em vez de, falha, erro, não funciona, não está, não é,
    sbagliato, invece, errore, manca, non funziona, fout, niet goed, in plaats van, werkt niet, źle,
    zamiast, błąd, brakuje, nie działa, неправильно, не так, вместо, ошибка, ошибки, не работает, не
    хватает, не видно, не то, по прежнему, špatně, místo, chyba, nefunguje""",
    """不对, 不對, 错误, 錯誤, 错了, 不是, 应该, 應該, 还是, 還是, 仍有, 仍然, 没有, 沒有, 报错, 報錯,
    失败, 不出来, 不行,
    不在, 问题, 問題, 違う, 違い, ではなく, エラー, 間違, できない, 動かない, できません, しません,
    表示されない, なりません, すぎる, 아니, 틀렸, 에러, 오류, 안 돼, 안돼, 대신, 여전히, 않는다, 않아""",
)
_FAILS = phrases(
    """doesn't work, does not work, not working, didn't work, still not, still fail*, still broken,
    geht nicht, funktioniert nicht, marche pas, marche plus, fonctionne pas, fonctionne plus, no funciona,
    não funciona, non funziona, werkt niet, nie działa, не работает, nefunguje""",
    """不行, 还是不, 還是不, 動かない, できない, 안 돼, 안돼""",
)
"""What says that something does not work, though it may begin with a word of assent ("ça marche pas")."""
_SUGGESTS = regex(
    r"(?:\b(?:no|right|ok|okay|nicht|non|não|нет)|いいのでは|べきでは|必要では|ではないか|んじゃ|吧|죠)\W*[?？]\W*$",
    re.I,
)
"""A question that expects a yes: it proposes something."""
_NO = regex(
    r"^\W*(?:(?:nope|nah|nein|нет)\b|(?:no|nee|non|não|nie|ne)(?:\s*[,.!;:—–]"
    r"|\s+(?:i|it|that|this|you|we|wait|please|not|thanks|ich|du|das|es|je|tu|c['’]est|eu|você|yo|tú|io)\b))"
    r"|^\W*(?:不[,，。 ]|不对|いいえ|いや|아니)",
    re.I,
)
"""A no by itself: "no new dependencies" and "não renomeie" are rules."""
_OFFERS = regex(
    r"[?？]\W*$|\b(?:want me to|would you like|do you want|shall i|should i|let me know|your call"
    r"|say the word"
    r"|which (?:one|of|option|approach)|prefer|if you(?:['’]d)? (?:want|like|wish|prefer)|options?:|choose"
    r"|if anything else|paste the|give me the|tell me|soll ich|möchtest du|willst du|sag bescheid|veux-tu"
    r"|voulez-vous|dois-je|réponds|dis-moi|quieres|debo|si quieres|quer que|se quiser|devo|posso|vuoi|zal ik"
    r"|wil je|хотите|если хотите|можете ответить)\b|(?:吗|嗎|呢|是否|告诉我|ますか|ください"
    r"|까요)[？?。]?\W*$",
    re.I,
)
_THANKED = (
    """thank you, thanks, thx, ty, great, perfect, nice, awesome, excellent, cool, good job, good work, good,
    well done, lovely, amazing, brilliant, works, works great, works well, works now, works fine, it works,
    that works, looks good, look good, looks great, looks right, looks nice, looks perfect, lgtm, super,
    prima, danke, klasse, toll, passt, merci, parfait, génial, gracias, perfecto, genial, obrigado, obrigada,
    perfeito, grazie, perfetto, ottimo, bedankt, dank je, top, dzięki, спасибо, отлично, děkuji, díky,
    skvělé""",
    "谢谢, 謝謝, 很好, 太好了, ありがとう, 完璧, 고마워, 좋아",
)
_THANKS, _THANKS_ANYWHERE = phrases(*_THANKED, at_start=True), phrases(*_THANKED)
"""Match the beginning of a message that is content with what was done, and such words anywhere."""
_PRAISED = subjects_of(
    "lot very much job work so far really all everything day nice beautiful exactly wanted"
    " super gut sehr viel tout bien beaucoup muy mucho muito bem molto bene bardzo dobrze очень хорошо"
)
_PRAISES = phrases(
    """thanks, thank you, thx, looks good, looks great, looks right, look good, is good, is great, is
    fine, is right,
    is perfect, is exactly right, works, works now, works well, works fine, well done, passt, ist gut,
    ist richtig, danke, c'est bon, c'est parfait, merci, está bien, está perfecto, gracias, está bom,
    está ótimo, obrigado, obrigada, va bene, è perfetto, grazie, bedankt, is goed, dzięki, jest dobrze,
    спасибо, всё хорошо, работает""",
    "谢谢, 謝謝, 很好, 可以了, 没问题, ありがとう, 大丈夫です, 고마워, 좋아요",
)
_CHOICE = phrases(
    """or, which, what, how, where, when, who, whether, oder, welche*, was, wie, wo, wann, wer, ob, ou,
    quel*, quoi,
    comment, où, quand, qui, o, cuál*, qué, cómo, dónde, cuándo, quién, qual, como, onde, quando, quem,
    quale, come, dove, chi, of, welke, wat, hoe, waar, wanneer, wie, czy, który, jak, gdzie, или, какой,
    какая, как, где, когда""",
    "还是, 還是, 哪, 什么, 怎么, 如何, どちら, どの, どう, 何, それとも, 어느, 무엇, 어떻게, 아니면",
)
_OFFERS_WORK = phrases(
    """shall i, should i, want me to, would you like me to, do you want me to, may i, can i, could i, i
    can, i could,
    let me know, proceed, soll ich, möchtest du dass ich, darf ich, dois-je, veux-tu que, puis-je,
    quieres que, debo, puedo, devo, posso, quer que eu, vuoi che, zal ik, mag ik, czy mam, mam, мне""",
    "要我, 需要我, 我可以, ましょうか, しますか, 할까요",
)


def relation_of(
    text: str, *, how: str = "", reply_to: str = "", interrupts: bool = False, first: bool = False
) -> Relation:
    """How a message relates to what was asked before. ``reply_to`` is what the agent said last, ``first`` is
    whether nothing was asked before it."""
    text = text.strip()
    asked = asks_back(reply_to)
    if _is_short(text) and picks_from(reply_to, text):
        return "answers"
    if is_assent(text) or _GO_ON.fullmatch(text):
        passes_over = _ONWARD.fullmatch(text) is not None and asks_to_choose(reply_to, text)
        return "answers" if asked and not _GO_ON.fullmatch(text) and not passes_over else "goes_on"
    if first:
        return "asks" if only_asks(text) else "new"
    if is_routine(text):
        return "goes_on"
    if opens_work(text):
        return "new"
    if withdraws(text):
        return "withdraws"
    if permissions_in(text) and _words(text) <= 2 * SHORT_WORDS_MAX:
        return "permits"
    if how == "refusal" or interrupts:
        return "corrects"
    if only_asks(text):
        return "asks"
    if asked and _is_answer(text):
        return "answers"
    return "corrects" if _NO.search(text) or _WRONG.search(text[:LOOKED_AT_CHARS]) else "adds"


def _words(text: str) -> int:
    if text.isascii():
        return len(text.split())
    wide = sum(ord(char) > 0x2E7F for char in text[:400])
    return len(text.split()) + wide // 2


def _is_short(text: str) -> bool:
    return _words(text) <= SHORT_WORDS_MAX


def asks_back(said: str) -> bool:
    """Whether the end of an agent's message asks the user something, or offers something."""
    return any(_OFFERS.search(sentence) for sentence in sentences(said)[-ASKED_WITHIN:])


def _is_answer(text: str) -> bool:
    """Whether a message that follows a question is short and states something, or begins as an answer
    does."""
    words = _words(text)
    if _ADDITION.match(text):
        return False
    is_list = bool(points_in(text))  # "please do these too: …" asks for more
    if begins_with_assent(text) and not is_list and not _FAILS.search(text[:LOOKED_AT_CHARS]):
        return words <= 2 * SHORT_WORDS_MAX
    return words <= ANSWER_WORDS_MAX and not _REQUESTS.search(text) and not _WRONG.search(text)


def adds(text: str) -> bool:
    """Whether a message says itself that it adds to the work."""
    return _ADDITION.match(text) is not None or _ADDS_SOON.match(text) is not None


def withdraws(text: str) -> bool:
    """Whether a message takes something back, by its form."""
    return _WITHDRAWS.search(text[:300]) is not None


def contradicts(text: str) -> bool:
    """Whether a message begins with a no."""
    return _NO.search(text) is not None


def opens_work(text: str) -> bool:
    """Whether a message says itself that it is about something else."""
    return _OPENS.search(text[:300]) is not None


def is_routine(text: str) -> bool:
    """Whether a message only says to do what comes at the end: commit, push, run the tests."""
    words = _WORDS.findall(text.lower())
    if not 0 < len(words) <= ROUTINE_WORDS_MAX or not _ROUTINE.search(text):
        return False
    return all(word in _ROUTINE_WORDS or (not word.isascii() and _ROUTINE.search(word)) for word in words)


def only_asks(text: str) -> bool:
    """Whether a message wants to know something and asks for nothing else. In doubt it does not."""
    if len(text) > QUESTION_CHARS_MAX or points_in(text):
        return False
    told = [one for one in sentences(text) if not is_assent(one) and not _is_thanks(one)]
    return bool(told) and all(map(_asks, told))


def _asks(sentence: str) -> bool:
    if _REQUESTS.search(sentence) or _WRONG.search(sentence) or _SUGGESTS.search(sentence):
        return False
    if sentence.rstrip().endswith(("?", "？")):
        return True
    return _INFORMATION.search(sentence) is not None and _is_short(sentence)


def _is_thanks(sentence: str) -> bool:
    return _THANKS.match(sentence) is not None and len(sentence.split()) <= 5


@lru_cache(maxsize=32)
def is_content(text: str) -> bool:
    """Whether a message begins by being content with what was done, and takes nothing of it back."""
    first = next(iter(sentences(text)), "")
    if not first or _WRONG.search(first):
        return False
    return _THANKS.match(first) is not None or (_is_short(first) and _PRAISES.search(first) is not None)


def only_thanks(text: str) -> bool:
    """Whether a message is content and asks for nothing. In doubt it asks for something."""
    told = sentences(text)
    if not is_content(text) or len(told) > 2 or not all(map(_is_short, told)):
        return False
    if any(_REQUESTS.search(one) or _WRONG.search(one) or one.endswith("?") for one in told):
        return False
    return all((_THANKS.match(one) or _PRAISES.search(one)) and not _beside_praise(one) for one in told)


def praised(sentence: str) -> frozenset[str]:
    """What a sentence that is content says that it is content with; empty if it names nothing."""
    return subjects_of(_PRAISES.sub(" ", _THANKS_ANYWHERE.sub(" ", sentence))) - _PRAISED


def _beside_praise(sentence: str) -> frozenset[str]:
    """What a sentence is about behind the words with which it is content; before them stands what they are
    about."""
    found = [*_PRAISES.finditer(sentence), *_THANKS_ANYWHERE.finditer(sentence)]
    return subjects_of(sentence[max((match.end() for match in found), default=0) :]) - _PRAISED


def content_part(text: str) -> str:
    """The sentence with which a message is content."""
    return next(iter(sentences(text)), "") if is_content(text) else ""


def asks_to_choose(said: str, text: str) -> bool:
    """Whether the end of an agent's message asks how something should be, and does not only offer to do it.
    What the user answers then binds."""
    if picks_from(said, text):
        return True
    asked = [one for one in sentences(said)[-ASKED_WITHIN:] if one.rstrip().endswith(("?", "？"))]
    return any(_CHOICE.search(one) or not _OFFERS_WORK.search(one) for one in asked)


def only_offers(said: str) -> bool:
    """Whether what the end of an agent's message asks is whether it should do more."""
    asked = [one for one in sentences(said)[-ASKED_WITHIN:] if _OFFERS.search(one)]
    questions = [one for one in asked if one.rstrip().endswith(("?", "？"))]
    return bool(asked) and all(_OFFERS_WORK.search(one) and not _CHOICE.search(one) for one in questions)


def points_back(text: str, reply_to: str) -> bool:
    """Whether a message cannot be understood without what the agent said before it."""
    if not reply_to:
        return False
    words = len(content_words(text))
    return (
        picks_from(reply_to, text)
        or is_assent(text)
        or (words < 6 and begins_with_assent(text))
        or (words < 12 and POINTS.search(text[:70]) is not None)
    )
