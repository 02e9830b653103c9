"""How rules are worded in German and Dutch."""

from __future__ import annotations

from ..base.lazy import regex
from .rule_forms import END, RuleForms, leading, one_of, words

# -- German

_LEAD = leading(
    r"(?:und|aber|bitte|also|dann|auch|außerdem|ausserdem|ansonsten|sonst|jetzt|nun|ok|okay|wichtig|achtung"
    r"|hinweis|regel|denk dran|zudem|nochmal|übrigens|generell|prinzipiell|im zweifel|wenn möglich|ach ja"
    r"|hey|oder|nein|ja|claude|am besten|einfach|ganz wichtig|mal|hier|dabei|da)"
)
_PREFIX = (
    r"(?:an|ab|auf|aus|bei|durch|ein|hin|hinzu|her|los|mit|nach|rein|raus|umbe|um|unter|ver|vor|weg|zu|zurück"
    r"|über|wieder|be|er|ent|fest|dazu|heraus|zusammen)?"
)
_TO_DO = _PREFIX + one_of(
    "ändern", "aendern", "fassen", "rühren", "nutzen", "wenden", "setzen", "löschen", "fernen", "fügen",
    "bauen", "schreiben", "antworten", "commit+en", "pushen", "mergen", "importieren", "installieren",
    "machen", "lesen", "testen", "editieren", "modifizieren", "arbeiten", "passen", "nennen", "schieben",
    "führen", "starten", "kommentieren", "dokumentieren", "formatieren", "stellen", "ersetzen", "lassen",
    "legen", "nehmen", "tauschen", "loggen", "speichern", "mocken", "halten", "bleiben", "aktualisieren",
    "prüfen", "fragen", "geben", "zeigen", "rufen", "laufen", "checken", "zeugen", "generieren",
    "kopieren", "deployen", "brechen", "skippen", "springen", "sprechen", "hardcoden", "squashen",
    "rebasen", "achten", "folgen", "meiden", "tun", "greifen", "binden", "wechseln", "refactoren",
    "refaktorieren", "implementieren", "patchen", "erweitern", "kürzen", "raten",
)  # fmt: skip
"""Infinitives, with which German words orders that hold for everybody: "legacy/ nicht anfassen"."""
_DO = one_of(
    "fass", "fasse", "ändere?", "änder", "lösche?", "verwende?", "benutze?", "nutze?", "nimm", "mache?",
    "schreibe?", "füge?", "pushe?", "commite?", "committe?", "merge?", "installiere?", "importiere?",
    "baue?", "lasse?", "rühre?", "gehe?", "gib", "halte?", "bleibe?", "antworte?", "teste?", "führe?",
    "starte?", "bearbeite?", "editiere?", "modifiziere?", "entferne?", "erstelle?", "lege?", "sorge?",
    "stelle?", "arbeite", "setze?", "tu", "zeige?", "ersetze?", "benenne?", "verschiebe?", "mocke?",
    "formatiere?", "dokumentiere?", "kommentiere?", "prüfe?", "checke?", "rufe?", "brich", "speichere?",
    "logge?", "lies", "überspringe?", "erfinde?", "spring", "rate", "aktualisiere?", "füge", "refactore?",
    "implementiere?", "greife?", "binde?", "passe?",
)  # fmt: skip
_NO = r"(?:nicht|nichts|nie|niemals|kein(?:e[nmrs]?|erlei)?)"
_HOLDING = rf"(?:{_NO}|immer|stets|nur|ausschließlich|ausschliesslich|überall|jedes ?mal)"
_SUBJECT = (
    r"\b(?:ich|er|es|man|wir|kann|können|konnte|will|wollte|würde|würden|wird|hab|habe|haben|hat|hatte|ist"
    r"|sind|war|waren|lässt|scheint|gibt|geht|muss ich|soll ich|wurde|wurden|klappt|läuft|funktioniert)\b"
)
_WITHOUT_SUBJECT = rf"(?![^,;]{{0,120}}{_SUBJECT})"
_TONGUE = (
    r"(?:deutsch|deutscher sprache|englisch|englischer sprache|französisch|spanisch|italienisch|polnisch"
    r"|russisch|chinesisch|japanisch|portugiesisch|niederländisch)\b"
)
_AT_EVERY = (
    r"\b(?:vor|nach|bei|mit|in|für|zu|pro) jede[rmns]? (?:neuen? |einzelnen? )?(?:commit|änderung|push"
    r"|schritt|datei|funktion|feature|merge|test|klasse|modul|aufgabe|task|release|deployment|pr|antwort"
    r"|nachricht|mal)|\büberall\b|\b(?:in|für) (?:allen|alle|neuen|den neuen|alle neuen|jeder) (?:dateien"
    r"|tests|modulen|funktionen|module|klassen|neuen|code)|\bjedes ?mal\b|\bimmer wenn\b"
    r"|\bim ganzen (?:code|projekt)|\bdurchgehend\b"
)
GERMAN = RuleForms(
    lead=regex(_LEAD),
    opens=regex(
        one_of(
            r"niemals (?!gesehen|gehört|ge\w+t\b|so\b|funktioniert|passiert|im leben|zuvor)\S",
            rf"nie(?: wieder)? {_WITHOUT_SUBJECT}(?:[^,;]{{1,70}} )?{_TO_DO}(?: bitte)?{END}",
            r"(?:immer|stets|ausschließlich|ausschliesslich|grundsätzlich) (?!noch|wieder|mehr\b|öfter"
            rf"|dasselbe|wenn ich|(?:der|die|das|den) (?:gleiche|selbe|fehler)|mal\b){_WITHOUT_SUBJECT}\S",
            rf"nur {_WITHOUT_SUBJECT}(?:[^,;]{{1,70}} )?{_TO_DO}(?: bitte)?{END}",
            rf"{_DO}\b(?! (?:dir|mir) keine| ich\b)[^,;]{{0,70}}?\b{_HOLDING}\b(?! noch\b)",
            rf"{_DO}\b[^;]{{0,70}}?(?:{_AT_EVERY})",
            r"(?:verwende|nutze?|benutze?|nimm|schreibe?|setze?) [^;]{1,50}?(?: statt| anstatt| anstelle"
            r"|,? (?:und |aber )?nicht) ",
            rf"(?:{_DO}|repariere?|korrigiere?)\b[^;]{{1,90}}?,? ohne [^,;]{{1,50}} zu (?:ändern|verändern"
            r"|brechen|berühren)\b",
            rf"(?:{_AT_EVERY})[^,;]{{0,60}}? (?:{_DO}|{_TO_DO})\b",
            rf"(?=(?:[^,;]{{1,70}} )?(?:{_HOLDING}\b|{_AT_EVERY})(?:[^,;]{{0,60}} )?{_TO_DO}(?: "
            rf"bitte)?{END}){_WITHOUT_SUBJECT}",
            r"(?:lass|lasst|lasse|belasse?)\b .{1,60}?\b(?:in ruhe|unverändert|unangetastet|so\b|wie (?:es"
            r"|sie|er) |stehen\b)",
            r"(?:finger|hände|pfoten) weg\b",
            r"(?:vermeide?|bevorzuge?|halte? dich|haltet euch|beschränke? dich|bleibe? (?:bei|in|auf)"
            r"|respektiere?|befolge?|beachte?|merke? dir|beibehalten|behalte?|denke? (?:bitte "
            r"|immer )*(?:daran|dran)|achte? (?:bitte |immer )*(?:darauf|auf)|ich bevorzuge"
            r"|wir bevorzugen)\b",
            r"(?:stelle? (?:bitte |immer )*sicher|sorge? (?:bitte |immer )*dafür"
            r"|vergiss nie)\b.{0,60}?\b(?:immer|nie|niemals|bleib\w*|stets)\b",
            r"(?:antworte?|schreibe?|sprich|kommentiere?|erkläre?|rede|kommuniziere?"
            rf"|dokumentiere?)\b.{{0,50}}?\b(?:auf|in) {_TONGUE}",
            r"(?:alles|alle \S+|kommentare|code|doku\w*|commit\S*|antworten|texte|variablen\S*|bezeichner"
            rf"|ui)\b.{{0,40}}?\b(?:auf|in) {_TONGUE}",
            r"frage? (?:mich,? )?(?:bitte |immer )*(?:vorher|zuerst|erst|bevor|nach|um erlaubnis|wenn du"
            r"|falls)\b",
            r"wir (?:verwenden|benutzen|nutzen|brauchen|wollen|unterstützen|schreiben|committen|mocken"
            rf"|testen|setzen|pushen|mergen) (?:\S+ ){{0,3}}?(?:{_NO}|nur|immer"
            r"|ausschließlich)\b(?! mehr wissen)",
            r"ich (?:möchte|will|mag) (?:\S+ ){0,2}?(?:kein\w*|nicht,? dass|nur|immer|nie|überall|alles)\b",
        )
    ),
    bans=regex(
        one_of(
            rf"nur (?:in|mit|auf|unter|innerhalb|die|den|das|noch) {_WITHOUT_SUBJECT}[^,;]{{1,40}}{END}",
            r"kein(?:e[nmrs]?|erlei)? (?!ahnung|problem|fehler|angst|sorgen?|idee|stress|panik|eile|lust"
            r"|zeit\b|grund|wunder|plan\b|chance|thema|frage|einwände|ding|änderung(?:en)? nötig"
            rf"|ergebnis){_WITHOUT_SUBJECT}(?![^,;]{{0,120}}\b(?:gefunden|vorhanden|nötig|da|sichtbar"
            rf"|erkennbar)\b)\S+(?: [^\s,;]+){{0,7}}{END}",
        )
    ),
    says=regex(
        one_of(
            rf"\b(?:darf|dürfen|darfst|dürft)\b(?! ich| wir)[^,;]{{0,60}}?\b(?:{_NO}|nur"
            r"|auf keinen fall)\b",
            r"\b(?:muss|müssen|musst|müsst|soll|sollen|sollst|sollte|sollten|solltest)\b(?! ich"
            r"| wir)[^,;]{0,60}?\b(?:immer|stets|nie|niemals|bleiben|unverändert|überall|kein\w*|nur"
            r"|nicht (?:verändert|geändert|angefasst))\b",
            r"\balle\b[^,;]{1,40}\b(?:müssen|sollen|sollten)\b",
            r"\b(?:du|ihr|wir) (?:sollst|sollt|sollen|darfst|dürft|dürfen) (?:\S+ ){0,4}?nicht\b",
            r"\b(?:ab jetzt|ab sofort|von nun an|von jetzt an|künftig|zukünftig|fortan|ab hier)\b",
            r"\bin zukunft (?!könn|woll|viell)",
            r"\b(?:tabu|auf keinen fall|unter keinen umständen|(?:ist|sind) (?:strikt |streng )?(?:verboten"
            r"|pflicht|nicht erlaubt))\b",
            r"\bbleib(?:t|en) (?:unverändert|unangetastet|so\b|wie\b|gleich|kompatibel|erhalten)",
        )
    ),
    passes=regex(
        one_of(
            r"\b(?:noch (?:nicht|nichts|kein\w*|mal|immer)|erst ?mal|vorerst|momentan|im moment"
            r"|für den moment|gerade|diesmal|dieses mal|fürs erste|zunächst|vielleicht|ich (?:glaube|denke"
            r"|vermute|frage)|wahrscheinlich|eventuell|evtl|könnten?|würden?|wäre|scheint|scheinbar"
            r"|sieht so aus|anscheinend|keine sorge|wenn ich|falls ich|hätte)\b",
            r"\b(?:mache?|ändere?|schreibe?|implementiere?|tu|fasse?|baue?)\b (?:\S+ ){0,2}?(?:nichts"
            rf"|keinen code|keine änderungen){END}",
            r"\b(?:nichts|keinen code|keine änderungen) (?:ändern|machen|schreiben|implementieren|tun"
            rf"|umsetzen|bauen){END}",
        )
    ),
    asks=regex(
        r"(?:und |aber |ok,? |also )*(?:warum|wieso|weshalb|wie|was|wer|wo|wann|welche\w*|kannst|können"
        r"|kann|darf ich|dürfen wir|soll(?:en|te|ten)? (?:ich|wir)|ist|sind|hat|hast|gibt es|müssen wir"
        r"|muss ich|wird|war)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:du|ihr) (?:darfst|dürft|kannst|könnt) (?!(?:ja )?(?:sehen|erkennen|dir vorstellen))",
            r"\b(?:darfst|dürft|kannst|könnt) (?:du|ihr) (?:jetzt|ruhig|gerne?|auch|hier|wieder"
            r"|ausnahmsweise|dafür)\b",
            r"\w[/.]\S* (?:darfst|dürft|kannst|könnt) (?:du|ihr)\b",
            r"\b(?:ist|sind|wäre) (?:\S+ )?(?:jetzt |hier |auch |nun |wieder |dafür |schon "
            r"|völlig )*(?:erlaubt|ok|okay|in ordnung|fein)\b",
            r"\b(?:von mir aus|meinetwegen|gerne?|ruhig) (?:darf|dürfen|auch|kannst)\b"
            r"|\bhast du (?:jetzt )?freie hand\b",
            r"\b(?:darf|dürfen) (?:jetzt|ruhig|gerne|auch|hier|wieder|ausnahmsweise)\b",
        )
    ),
    marks=words(
        """niemals nie immer stets ausschließlich ausschliesslich grundsätzlich kein keine keinen keiner
        keines keinem keinerlei nicht nichts nur überall jede jeder jedem jeden jedes statt anstatt anstelle
        lass lasst lasse belass belasse finger hände weg vermeide vermeid bevorzuge halte halt haltet
        beschränke beschränk bleib bleibe bleibt bleiben respektiere befolge beachte beacht merk merke
        behalte behalt denk denke achte acht stell stelle sorg sorge vergiss deutsch englisch deutscher
        englischer französisch frag frage darf dürfen darfst dürft muss müssen musst soll sollen sollst
        sollte sollten solltest alle alles jetzt sofort nun künftig zukünftig fortan zukunft tabu umständen
        verboten pflicht erlaubt kannst könnt ordnung ok okay gern gerne ruhig meinetwegen bevorzugen
        durchgehend unverändert"""
    ),
    saying=words(
        """darf dürfen darfst dürft muss müssen musst müsst soll sollen sollst sollte sollten solltest jetzt
        sofort nun künftig zukünftig fortan hier zukunft tabu keinen umständen verboten pflicht erlaubt
        bleibt bleiben"""
    ),
    foreign_words=words("się jest het een niet the you"),
    foreign=regex("[ąćęłńśźżãõñ]"),
)  # fmt: skip

# -- Dutch

_LEAD_DUTCH = leading(
    r"(?:en|maar|graag|alsjeblieft|aub|svp|dus|dan|ook|verder|daarnaast|trouwens|oké|ok|nu|let op"
    r"|belangrijk|of|nee|ja|gewoon|in het algemeen|regel|hier|claude|hou er rekening mee)"
)
_DO_DUTCH = one_of(
    "raak", "wijzig", "verander", "gebruik", "voeg", "verwijder", "maak", "commit", "push", "merge", "zet",
    "schrijf", "installeer", "importeer", "breek", "hernoem", "verplaats", "draai", "bewerk", "laat",
    "doe", "pas", "kom", "ga", "test", "mock", "verzin", "genereer", "vervang", "vertaal", "houd", "hou",
    "blijf", "stop", "werk", "run", "geef", "antwoord", "documenteer", "formatteer", "edit", "deploy",
    "refactor", "neem", "check", "controleer", "kopieer", "update", "introduceer", "log", "sla", "stuur",
    "bouw", "plaats", "noem", "start", "vraag", "zorg",
)  # fmt: skip
_TO_DO_DUTCH = one_of(
    "aanraken", "wijzigen", "veranderen", "gebruiken", "toevoegen", "verwijderen", "maken", "committen",
    "pushen", "mergen", "zetten", "schrijven", "installeren", "importeren", "breken", "hernoemen",
    "verplaatsen", "draaien", "bewerken", "laten", "doen", "aanpassen", "aankomen", "testen", "mocken",
    "genereren", "vervangen", "vertalen", "houden", "blijven", "werken", "runnen", "antwoorden",
    "documenteren", "deployen", "refactoren", "controleren", "updaten", "introduceren", "loggen",
    "opslaan", "bouwen", "noemen", "zitten", "vragen", "overslaan",
)  # fmt: skip
_NO_DUTCH = r"(?:niet|niets|nooit|geen)"
_SUBJECT_DUTCH = (
    r"\b(?:ik|hij|het (?:is|werkt|lijkt|kan)|ze|kan|kunnen|kon|wil|zou|zouden|wordt|worden|heb|heeft|hebben"
    r"|had|is|zijn|was|waren|lijkt|werkt|gaat|lukt|staat|weet)\b"
)
_ALONE_DUTCH = rf"(?![^,;]{{0,120}}{_SUBJECT_DUTCH})"
_TONGUE_DUTCH = r"(?:nederlands|engels|duits|frans|spaans)\b"
_AT_EVERY_DUTCH = (
    r"\b(?:voor|na|bij|met|in|per) (?:elke|iedere|elk|ieder) (?:nieuwe? )?(?:commit|wijziging|push|stap"
    r"|bestand|functie|feature|merge|test|klasse|module|taak|release|pr|antwoord)|\boveral\b|\b(?:in"
    r"|voor) (?:alle|nieuwe|de nieuwe) (?:bestanden|tests|modules|functies|code|nieuwe)|\belke keer\b"
    r"|\btelkens\b"
)
DUTCH = RuleForms(
    lead=regex(_LEAD_DUTCH),
    opens=regex(
        one_of(
            rf"nooit (?!meer gezien|gezien|gewerkt|gedacht|gehoord|eerder|geweten){_ALONE_DUTCH}\S",
            rf"(?:altijd|uitsluitend|steeds) (?!hetzelfde|dezelfde|weer|al\b|nog){_ALONE_DUTCH}\S",
            rf"(?:alleen|enkel|slechts) {_ALONE_DUTCH}(?:[^,;]{{1,70}} )?{_TO_DO_DUTCH}{END}",
            rf"{_DO_DUTCH}\b(?! je geen)[^;]{{0,70}}?\b(?:{_NO_DUTCH}|altijd|alleen|enkel|uitsluitend"
            r"|overal)\b",
            rf"{_DO_DUTCH}\b[^;]{{0,70}}?(?:{_AT_EVERY_DUTCH})",
            r"(?:gebruik|schrijf|neem|zet) [^;]{1,50}?(?: in plaats van|,? (?:en )?(?:niet|geen)) ",
            rf"(?:{_AT_EVERY_DUTCH})[^,;]{{0,60}}? (?:{_DO_DUTCH}|{_TO_DO_DUTCH})\b",
            rf"{_ALONE_DUTCH}(?:[^,;]{{1,70}} )?\b(?:{_NO_DUTCH}|altijd"
            rf"|alleen)\b(?:[^,;]{{0,60}} )?{_TO_DO_DUTCH}{END}",
            r"laat \S.{0,60}?\b(?:met rust|ongemoeid|ongewijzigd|zoals (?:het|ze|die)|staan|intact)\b",
            r"(?:blijf (?:van|uit|binnen|in|bij|weg)|handen af|vermijd|hou(?:d)? (?:je|jullie|rekening"
            r"|vast)|beperk je|behoud|respecteer|volg (?:de|het|onze)|onthoud|denk eraan|let erop"
            r"|geef de voorkeur|liever geen|ik heb liever)\b",
            r"zorg (?:er )?(?:altijd )?(?:voor|ervoor)\b.{0,60}?\b(?:nooit|altijd|blij\w+)\b",
            rf"(?:antwoord|schrijf|praat|spreek|reageer|leg)\b.{{0,50}}?\bin het {_TONGUE_DUTCH}",
            r"(?:alles|alle \S+|comments?|commentaar|code|documentatie|commit\S*|antwoorden"
            rf"|teksten)\b.{{0,40}}?\bin het {_TONGUE_DUTCH}",
            r"vraag (?:me|mij|het)? ?(?:altijd )?(?:eerst|voordat|vooraf|voor je|als je)\b",
            r"(?:ik|we|wij) (?:wil|willen|hoef|hoeven) (?:\S+ )??(?:geen|niet dat|alleen|altijd|nooit)\b",
            r"(?:we|wij) (?:gebruiken|schrijven|mocken|testen|committen"
            rf"|ondersteunen) (?:\S+ ){{0,2}}?(?:{_NO_DUTCH}|altijd|alleen)\b",
        )
    ),
    bans=regex(
        one_of(
            rf"(?:alleen|enkel|slechts) (?:in|op|met|onder|binnen|de|het) {_ALONE_DUTCH}[^,;]{{1,40}}{END}",
            r"geen (?!idee|probleem|zin\b|zorgen|fout|fouten|tijd|reden|haast|paniek|stress|dank|verschil"
            rf"|resultaat|vraag){_ALONE_DUTCH}(?![^,;]{{0,120}}\b(?:gevonden|nodig|zichtbaar"
            rf"|beschikbaar)\b)\S+(?: [^\s,;]+){{0,7}}{END}",
        )
    ),
    says=regex(
        one_of(
            rf"\b(?:mag|mogen)\b(?! ik| we)[^,;]{{0,60}}?\b(?:{_NO_DUTCH}|alleen|onder geen beding)\b",
            r"\b(?:moet|moeten|dient|dienen)\b(?! ik| we)[^,;]{0,60}?\b(?:altijd|nooit|blijven|ongewijzigd"
            r"|overal|geen|alleen)\b",
            r"\balle\b[^,;]{1,40}\b(?:moeten|dienen)\b",
            r"\b(?:vanaf nu|voortaan|in het vervolg|van nu af aan|in de toekomst (?:altijd|graag|niet"
            r"|geen))\b",
            r"\b(?:taboe|onder geen beding|in geen geval|(?:is|zijn) (?:verboden|verplicht"
            r"|niet toegestaan))\b",
            r"\bblijf(?:t)? (?:ongewijzigd|onaangeroerd|hetzelfde|zoals)|\bblijven (?:ongewijzigd|zoals)",
        )
    ),
    passes=regex(
        one_of(
            r"\b(?:nog (?:niet|niets|geen|even|steeds)|voorlopig|op dit moment|momenteel|deze keer|voor nu"
            r"|eerst even|misschien|ik (?:denk|geloof|vermoed|vraag)|(?:alleen|enkel) (?:een )?(?:plan"
            r"|voorstel|analyse|uitleg)|waarschijnlijk|zou kunnen|lijkt|blijkbaar|eventueel|zou"
            r"|geen zorgen)\b",
            r"\b(?:doe|wijzig|schrijf|implementeer|verander|maak|bouw)\b (?:\S+ ){0,2}?(?:niets"
            rf"|geen code|geen wijzigingen){END}",
        )
    ),
    asks=regex(
        r"(?:en |maar |ok,? |dus )*(?:waarom|hoe|wat|wie|waar|wanneer|welke?|kun|kan|kunnen|mag ik|mogen we"
        r"|moet ik|moeten we|is|zijn|heb|heeft|zou)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:je|jij|jullie|u) (?:mag|mogen|(?:kan|kunt|kunnen) (?=nu|wel|gerust|weer|ook|hier"
            r"|best)) (?!zien|begrijpen)",
            r"\b(?:mag|mogen|kan) (?:je|nu|wel|gerust|weer|hier)\b",
            r"\b(?:is|zijn|het is) (?:nu |wel |weer |hier )*(?:toegestaan|prima|oké|ok|goed)\b",
            r"\bvoel je vrij\b",
        )
    ),
    marks=words(
        """nooit altijd uitsluitend steeds geen niet niets alleen enkel slechts overal elke elk iedere ieder
        telkens laat blijf blijft blijven handen vermijd houd hou beperk behoud respecteer volg onthoud denk
        let liever zorg nederlands engels duits vraag mag mogen moet moeten dient dienen alle alles nu
        voortaan vervolg toekomst taboe beding geval verboden verplicht toegestaan plaats willen wil hoeven
        kunt kan prima oké ok gerust vrij"""
    ),
    saying=words(
        """mag mogen moet moeten dient dienen nu voortaan vervolg toekomst taboe beding geval verboden
        verplicht toegestaan blijf blijft blijven"""
    ),
    foreign_words=words("der und nicht ist the you que"),
    foreign=regex("[äöüßąćęłńśźż]"),
)  # fmt: skip
