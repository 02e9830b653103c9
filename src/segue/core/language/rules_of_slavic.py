"""How rules are worded in Polish and Russian."""

from __future__ import annotations

from ..base.lazy import regex
from .rule_forms import END, RuleForms, leading, one_of, words

# -- Polish

_LEAD_POLISH = leading(
    r"(?:i|ale|oraz|a|proszę|prosze|też|także|więc|potem|ok|dobra|uwaga|ważne|zasada|ogólnie|lub|albo|tak"
    r"|teraz|tutaj|tu|claude|przy okazji|aha|no|domyślnie|po prostu|pamiętaj)"
)
_ORDER_POLISH = (
    r"(?:\w+(?:aj|uj|ij|yj|ej)(?:cie|my)?|rób|róbcie|twórz|pisz|piszcie|zrób|trzymaj|mów|stwórz|dodaj"
    r"|sprawdź|uruchom|popraw|zostaw|nazwij|pokaż|ustaw|napisz|puść|wrzuć|weź|zmień|psuj|łam|przenoś|ruszaj"
    r"|tłumacz|zapisz|odpal)"
)
"""Imperatives, most of which end alike."""
_TOLD_POLISH = (
    r"(?![^,;]{0,120}\b(?:jest|są|był\w*|działa|działają|mam|ma|mają|widzę|wiem|znalezion\w+|mogę|może"
    r"|przechodzą|przechodzi|pojawia|dało|będzie)\b)"
)
_TONGUE_POLISH = r"(?:po (?:polsku|angielsku|niemiecku)|w języku (?:polskim|angielskim))"
_AT_EVERY_POLISH = (
    r"\b(?:przed|po|przy|w|z|dla|do) każd\w+ (?:now\w+ )?(?:commit\w*|zmian\w+|push\w*|krok\w*|plik\w*"
    r"|funkcj\w+|merge\w*|test\w*|klas\w+|moduł\w*|zadani\w+|odpowiedzi\w*|razem)|\bwszędzie\b"
    r"|\bza każdym razem\b|\bwe wszystkich \w+|\bw nowych \w+"
)
POLISH = RuleForms(
    lead=regex(_LEAD_POLISH),
    opens=regex(
        one_of(
            rf"nie (?:\w+ )?(?!martw|przejmuj|czekaj|pytaj czemu){_ORDER_POLISH}\b",
            r"nie (?:wolno|należy|można) \w",
            r"nie \w+(?:ać|eć|ić|yć|ąć|ować|ść|źć)\b(?! (?:mogę|może|chce|chcę))",
            rf"nigdy (?!wcześniej|więcej nie widz|nie (?:widz|był|dział|mia)){_TOLD_POLISH}\S",
            rf"zawsze (?!tak|to samo|był|jest|się|wywala|zwraca){_TOLD_POLISH}\S",
            rf"(?:tylko|wyłącznie|jedynie) (?:{_ORDER_POLISH}|\w+(?:ać|eć|ić|yć))\b{_TOLD_POLISH}",
            rf"{_ORDER_POLISH} (?:\S+ ){{0,2}}?(?:zawsze|tylko|wyłącznie|nigdy|jedynie)\b",
            rf"{_ORDER_POLISH}\b[^;]{{0,80}}?(?:{_AT_EVERY_POLISH})",
            r"(?:używaj\w*|użyj|stosuj\w*|pisz\w*|korzystaj\w*|bierz) [^;]{1,50}?(?: zamiast|,? a nie"
            r"|, nie) ",
            rf"(?:{_AT_EVERY_POLISH})[^,;]{{0,60}}?[, ]+{_ORDER_POLISH}\b",
            r"(?:unikaj|unikać|unikajcie|wolę|preferuj|preferuję|trzymaj się|przestrzegaj|ogranicz się"
            r"|zostań (?:na|w|przy)|szanuj|stosuj się|pamiętaj,? (?:że|żeby|aby|o)|miej na uwadze"
            r"|nie zapominaj nigdy)\b",
            r"(?:zachowaj|zachowuj|utrzymaj|utrzymuj|zachować|utrzymać)\b",
            r"zostaw\b .{1,60}?(?:w spokoju|bez zmian|tak jak|jak jest|nietknięt|jak są)",
            rf"(?:odpowiadaj|odpowiedz|pisz|mów|komentuj|dokumentuj|wyjaśniaj)\b.{{0,50}}?{_TONGUE_POLISH}",
            r"(?:wszystko|wszystkie|cała|komentarze|kod|dokumentacja|commity|odpowiedzi|teksty"
            rf"|opisy)\b.{{0,40}}?{_TONGUE_POLISH}",
            r"(?:pytaj|zapytaj|spytaj|uprzedź)(?: mnie)?,? (?:zawsze )?(?:zanim|najpierw|przed|o zgodę"
            r"|jeśli)\b",
            r"(?:upewnij się|dopilnuj|zadbaj|sprawdzaj)\b.{0,60}?\b(?:zawsze|nigdy|pozosta\w+|żeby nie"
            r"|aby nie)\b",
            r"(?:nie chcę|nie chcemy|chcę,? (?:żeby|aby) (?:zawsze|wszystko|nie|każd\w+)|chcę (?:zawsze"
            r"|tylko|wyłącznie))\b(?! (?:wiedzieć|mówić))",
            r"(?:nie|nigdy nie|zawsze|tylko) (?:używamy|mockujemy|commitujemy|ruszamy|piszemy|wspieramy"
            r"|dotykamy)\b",
        )
    ),
    bans=regex(
        one_of(
            rf"(?:tylko|wyłącznie) (?:w|z|na|po|bibliotek\w+)\b{_TOLD_POLISH}[^,;]{{2,50}}{END}",
            r"(?:żadn\w+|zero|bez) (?!problemu|pomysłu|błęd|sensu|wątpliwości|różnicy|zmian$|efektu|obaw"
            rf"|stresu|paniki|tego|niego){_TOLD_POLISH}\S+(?: [^\s,;]+){{0,7}}{END}",
        )
    ),
    says=regex(
        one_of(
            r"\b(?:musisz|musi|muszą|musimy|powin\w+|należy) (?:\w+ )?(?:zawsze|nigdy|pozostać|zostać bez"
            r"|być zawsze)\b",
            r"\b(?:zawsze|nigdy nie|nie) (?:musisz|musi|muszą|powin\w+|należy"
            r"|wolno)\b(?! (?:się )?(?:martwić|czekać))",
            r"\bwszystkie [^,;]{1,40} (?:muszą|powinny|mają być)\b",
            r"\b(?:od teraz|odtąd|na przyszłość|od tej pory|od dziś|w przyszłości (?:zawsze|nie|używaj))\b",
            r"\b(?:zabronion\w+|zakaz\w*|pod żadnym pozorem|w żadnym wypadku|obowiązkow\w+|nietykaln\w+)\b",
            r"\b(?:pozostaje|pozostają|zostaje|zostają) (?:bez zmian|niezmien|nietknięt)",
        )
    ),
    passes=regex(
        one_of(
            r"\b(?:jeszcze|na razie|narazie|póki co|w tej chwili|chwilowo|tym razem|najpierw|może|chyba"
            r"|myślę|sądzę|zastanawiam|wydaje|prawdopodobnie|mógłby|byłoby|mogłoby)\b",
            r"\bnie (?:rób|zmieniaj|pisz|implementuj|ruszaj|modyfikuj) (?:nic|niczego|kodu|żadnych zmian"
            rf"|żadnego kodu){END}",
        )
    ),
    asks=regex(
        r"(?:i |a |ale |ok,? )*(?:dlaczego|czemu|jak (?:to|mogę|się|zrobić|mam)|co|kto|gdzie|kiedy|który"
        r"|która|które|czy|mógłbyś|da się)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:teraz|już|tu|tutaj|tym razem|oczywiście) (?:możesz|możecie|wolno ci)\b|\b(?:możesz"
            r"|możecie) (?:już|teraz|też|śmiało|spokojnie)\b",
            r"\b(?:możesz|możecie) [^,;]{3,50} (?:teraz|tym razem|tutaj|jeśli chcesz)\b|\bwolno ci\b",
            r"\b(?:można już|teraz można|jest (?:już |teraz )?(?:dozwolon\w+|ok|w porządku)|śmiało"
            r"|nie ma problemu,? (?:żeby|jeśli)|masz zgodę|pozwalam)\b",
        )
    ),
    foreign_words=words("der die das und nicht ist the you"),
    foreign=regex("[äöüßñãõç]"),
    marks=words(
        """nie nigdy zawsze żadnych żadne żaden żadna żadnego zero bez tylko wyłącznie jedynie zamiast
        wszędzie unikaj unikać unikajcie wolę preferuj preferuję trzymaj przestrzegaj ogranicz zostań szanuj
        stosuj pamiętaj miej zachowaj zachowuj utrzymaj utrzymuj zachować utrzymać zostaw odpowiadaj
        odpowiedz pisz mów komentuj polsku angielsku polskim wszystko wszystkie cała komentarze kod
        dokumentacja commity pytaj zapytaj spytaj uprzedź upewnij dopilnuj zadbaj chcę chcemy musisz musi
        muszą musimy powinien powinna powinno powinny powinieneś należy wolno teraz odtąd przyszłość pory
        dziś zabronione zakaz zakazane pozorem wypadku obowiązkowo obowiązkowe pozostaje pozostają każdym
        każdej każdego możesz możecie dozwolone śmiało pozwalam można zgodę wszystkich przyszłości"""
    ),
)  # fmt: skip

# -- Russian

_LEAD_RUSSIAN = leading(
    r"(?:и|но|а|пожалуйста|плиз|плз|также|ещё|еще|тоже|потом|ок|окей|ладно|важно|внимание|правило|вообще"
    r"|в целом|или|нет|да|теперь|сейчас|тут|здесь|кстати|по умолчанию|просто|только помни|при этом|затем"
    r"|главное)"
)
_ORDER_RUSSIAN = (
    r"(?:[а-яё]+(?:ай|яй|уй|юй|ей|ой)(?:те|ся|тесь)?|[а-яё]{2,}(?:ши|жи|чи|ди|ви|пи|ти|щи|би|ри|ни|си|зи|ми"
    r"|ки|ьи)(?:те|сь|тесь)?|ставь(?:те)?|коммить(?:те)?|пушь|лезь|оставь(?:те)?|проверь(?:те)?"
    r"|добавь(?:те)?|исправь|обнови|удали|используй|пили|юзай|мерж[иь]|меряй|готовь|режь|ломай)"
)
"""Imperatives, most of which end alike."""
_TOLD_RUSSIAN = (
    r"(?![^,;]{0,120}\b(?:есть|был|была|было|были|работает|работают|падает|падают|вижу|знаю|нашёл|найден\w*"
    r"|могу|может|можно ли|проходят|проходит|появляется|выдает|выдаёт|возвращает|происходит|это)\b)"
)
_TONGUE_RUSSIAN = r"(?:на (?:русском|английском|украинском)(?: языке)?|по-русски|по-английски|по русски)\b"
_AT_EVERY_RUSSIAN = (
    r"\b(?:перед|после|при|в|с|для|к) кажд\w+ (?:нов\w+ )?(?:коммит\w*|изменени\w+|пуш\w*|шаг\w*|файл\w*"
    r"|функци\w+|мерж\w*|тест\w*|класс\w*|модул\w*|задач\w+|ответ\w*|раз\w*)|\bвезде\b|\bкаждый раз\b"
    r"|\bво всех \w+|\bв новых \w+|\bперед (?:коммитом|пушем|мержем)\b|\bпо ходу\b"
)
RUSSIAN = RuleForms(
    lead=regex(_LEAD_RUSSIAN),
    opens=regex(
        one_of(
            r"не (?:надо |нужно |стоит |смей )?(?!волну|беспоко|пережива|забудь|жди|думай|мог|наш[её]?л"
            rf"|очень|знай){_ORDER_RUSSIAN}\b(?<!ли)",
            r"не (?:надо |нужно |стоит )?(?!знать|видеть|волноваться|беспокоиться|переживать|быть"
            r"|ждать)[а-яё]{3,}(?:ать|ять|ить|еть|уть|оть|ти|чь)(?:ся)?\b",
            rf"никогда (?!не (?:видел|работал|был|слышал|встречал)|раньше|такого){_TOLD_RUSSIAN}\S",
            rf"всегда (?!одн[оаи]|один|те же|так\b|был|падает|одинаков|же\b){_TOLD_RUSSIAN}\S",
            rf"(?:только|исключительно|лишь) (?:{_ORDER_RUSSIAN}|[а-яё]+(?:ать|ить|еть"
            rf"|ять))\b{_TOLD_RUSSIAN}",
            rf"{_ORDER_RUSSIAN} (?:(?!я\b|мы\b|он\b|это\b)\S+ ){{0,2}}?(?:всегда|только|исключительно"
            r"|никогда)\b",
            rf"{_ORDER_RUSSIAN}\b[^;]{{0,80}}?(?:{_AT_EVERY_RUSSIAN})",
            r"(?:использу\w+|пиши\w*|бери\w*|ставь\w*|применя\w+|юзай) [^;]{1,50}?(?: вместо|,? а не| не) ",
            rf"(?:{_AT_EVERY_RUSSIAN})[^,;]{{0,60}}?[, ]+(?:{_ORDER_RUSSIAN}|[а-яё]+(?:ать|ить|еть|ять))\b",
            r"(?:избегай(?:те)?|избегать|предпочитаю|предпочитай(?:те)?|предпочтительно|придерживайся"
            r"|придерживайтесь|соблюдай(?:те)?|ограничься|не выходи за|помни(?:те)?|запомни(?:те)?"
            r"|учти(?:те)?|учитывай(?:те)?|имей в виду|следуй(?:те)? (?:стил|правил|конвенц|принцип|pep"
            r"|гайд|соглашени|структур)\w*|старайся)\b",
            r"(?:сохрани(?:те)?|сохраняй(?:те)?|сохранять|поддерживай(?:те)?|держи)\b.{0,60}?(?:совместим"
            r"|прост|коротк|минимал|стабильн|неизмен|как есть|api|стиль|структур|имена|интерфейс|актуальн"
            r"|чист|без изменений|поведение)",
            r"нельзя (?!ли|найти|понять|было|сказать)[а-яё]",
            rf"{_ORDER_RUSSIAN}\b(?:(?! котор)[^;]){{0,60}}? при (?:внесении|добавлении|изменении"
            r"|выполнении|любом|любых|каждом)\b",
            r"при (?:внесении|добавлении|изменении|выполнении|любом|любых|каждом|создании"
            rf"|обновлении)\b[^;]{{0,60}}? {_ORDER_RUSSIAN}\b",
            r"(?:мы )?будем [^,;]{0,40}?(?:только|всегда)\b",
            r"оставь(?:те)?\b .{1,60}?(?:в покое|как есть|без изменений|нетронут|так же)",
            r"(?:отвечай(?:те)?|ответь|пиши(?:те)?|говори(?:те)?|комментируй|документируй|объясняй"
            rf"|общайся)\b.{{0,50}}?{_TONGUE_RUSSIAN}",
            r"(?:вс[её]|все \w+|комментарии|код|документация|доки|коммиты|ответы|тексты"
            rf"|сообщения)\b.{{0,40}}?{_TONGUE_RUSSIAN}",
            r"(?:спрашивай|спроси|предупреждай|согласовывай|уточняй)(?:те)?(?: со мной| меня"
            r"| у меня)? (?:всегда )?(?:перед|прежде|сначала|если)\b",
            r"(?:убедись|убедитесь|проследи(?:те)?|следи(?:те)?|позаботься)\b.{0,60}?\b(?:всегда|никогда"
            r"|оста[её]\w+|чтобы не)\b",
            r"(?:не хочу|не хотим|хочу,? чтобы (?:всегда|вс[её]|не|кажд\w+|ты (?:всегда|не|никогда))"
            r"|я хочу только)\b(?! (?:знать|сказать))",
            r"(?:мы )?(?:не|никогда не|всегда|только) (?:используем|мокаем|коммитим|трогаем|пишем"
            r"|поддерживаем|меняем|добавляем)\b",
        )
    ),
    bans=regex(
        one_of(
            r"(?:только|исключительно) (?:в|на|через|по|с"
            rf"|стандартн\w+)\b{_TOLD_RUSSIAN}[^,;]{{2,50}}{END}",
            rf"(?:никак\w+|ноль|без) (?!проблем|понятия|ошибок|разницы|сомнений|смысла|идей|изменений{END}"
            rf"|того|этого|него|них|тебя|результат){_TOLD_RUSSIAN}\S+(?: [^\s,;]+){{0,7}}{END}",
        )
    ),
    says=regex(
        one_of(
            r"\b(?:должен|должна|должно|должны|обязан\w*|нужно|надо|следует) (?:\w+ )?(?:всегда|никогда"
            r"|остаться|оставаться|остался|обязательно)\b",
            r"\b(?:всегда|никогда не|не) (?:должен|должна|должно|должны|следует|нужно"
            r"|надо)\b(?! (?:волноваться|беспокоиться|ждать|было|работать))",
            r"\bвсе [^,;]{1,40} (?:должны|обязаны)\b",
            r"\b(?:запрещено|запрещается|недопустимо|ни в коем случае|ни при каких|строго обязательно"
            r"|под запретом|не допускается)\b(?! ли)",
            r"\bне забывай(?:те)? [а-яё]|\bиспользовать не будем\b|\bне будем использовать\b"
            r"|\bмы (?:используем|работаем) (?:с )?только\b",
            r"^\W*(?:[а-яё]+ ){0,3}[а-яё]+(?:ать|ить|еть|ять|уть)(?: [а-яёa-z_./-]+){0,5} нельзя"
            r"(?=\s*(?:[.!,;]|$))",
            r"\bнельзя (?:трогать|менять|удалять|изменять|править|пушить|коммитить|ломать|добавлять)\b",
            r"\b(?:с этого момента|отныне|впредь|в дальнейшем|на будущее|теперь всегда|с этих пор)\b",
            r"\b(?:оста[её]тся|остаются) (?:без изменений|неизменн|как есть|нетронут)",
        )
    ),
    passes=regex(
        one_of(
            r"\bничего (?:не )?(?:менять|делать|трогать|писать)\b|\b(?:пока|ещё не|еще не|прямо сейчас"
            r"|в данный момент|на этот раз|в этот раз|сначала|может быть|возможно|думаю|кажется|наверное"
            r"|наверно|вероятно|похоже|интересно|мог бы|могло бы|было бы|если бы)\b",
            r"\bне (?:делай|меняй|пиши|трогай|реализуй|изменяй)(?:те)? (?:ничего|код|никаких изменений"
            rf"|никакого кода|изменений){END}",
        )
    ),
    asks=regex(
        r"(?:и |а |но |ок,? )*(?:почему|зачем|как (?:это|мне|можно|сделать|ты)|что|кто|где|когда (?:это|ты)"
        r"|какой|какая|какие|какое|можно ли|сможешь|есть ли|нужно ли|надо ли|стоит ли)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:теперь|уже|здесь|тут|тебе|в этот раз) (?:можешь|можете|можно)\b(?! ли)|\b(?:можешь"
            r"|можете) (?:теперь|уже|смело|спокойно|также)\b",
            r"\b(?:можешь|можете) [^,;]{3,50} (?:теперь|в этот раз|здесь|если хочешь)\b",
            r"\bможно (?:теперь |уже |и |смело )?(?:трогать|менять|использовать|добавить|добавлять|удалять"
            r"|удалить|править|коммитить|пушить|изменять|изменить)\b",
            r"\b(?:разрешаю|разрешено|разрешается|не против|смело|допустимо|позволяю)\b",
        )
    ),
    marks=words(
        """не никогда всегда никаких никакие никакого никакой ноль без только исключительно лишь вместо
        везде каждый каждым каждого каждой каждом избегай избегайте избегать предпочитаю предпочитай
        предпочтительно придерживайся придерживайтесь соблюдай соблюдайте ограничься помни помните запомни
        учти учтите учитывай имей следуй следуйте старайся сохрани сохраните сохраняй сохранять поддерживай
        держи оставь оставьте отвечай отвечайте ответь пиши пишите говори русском английском русски
        английски всё все комментарии код документация коммиты спрашивай спроси предупреждай согласовывай
        уточняй убедись убедитесь проследи следи позаботься проверяй хочу хотим должен должна должно должны
        обязан обязаны нужно надо следует нельзя запрещено запрещается недопустимо случае момента отныне
        впредь дальнейшем будущее теперь остаётся остается остаются можешь можете можно разрешаю разрешено
        разрешается против смело позволяю всех коммитом пушем новых а"""
    ),
)  # fmt: skip
