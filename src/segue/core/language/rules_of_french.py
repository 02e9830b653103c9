"""How rules are worded in French."""

from __future__ import annotations

from ..base.lazy import regex
from .rule_forms import END, RuleForms, leading, one_of, words

_UNITS = (
    r"(?:commits?|push|merge|étape|changement|modification|fichier|fonction|test|tâche|réponse|fois|feature"
    r"|module|classe|pr|cambio|paso|archivo|fichero|función|tarea|respuesta|vez|módulo|clase|mudança"
    r"|alteração|etapa|passo|arquivo|função|tarefa|resposta|modifica|passo|file|funzione|compito|risposta"
    r"|volta|modulo|release|deploy|componente?)"
)

_LEAD_FRENCH = leading(
    r"(?:et|mais|aussi|alors|donc|puis|ensuite|sinon|ok|bon|stp|svp|s'il te plaît|s'il vous plaît"
    r"|s'il te plait|merci de|attention|important|note|règle|en général|par contre|surtout|ah|ou|oui|claude"
    r"|veuillez|pense à|par défaut|ici|il faut|faut|merci|au passage|pour info)"
)
_DO_FRENCH = one_of(
    "touche[zrs]?", "modifie[zrs]?", "change[zrs]?", "utilise[zrs]?", "utiliser", "ajoute[zrs]?",
    "supprime[zrs]?", "commit[tezrs]*", "pousse[zrs]?", "push[ezr]*", "merge[zr]?", "fais", "faites",
    "faire", "mets", "mettez", "mettre", "crée[zrs]?", "écri[st]", "écrivez", "écrire", "installe[zrs]?",
    "importe[zrs]?", "casse[zrs]?", "renomme[zrs]?", "déplace[zrs]?", "lance[zrs]?", "exécute[zrs]?",
    "édite[zrs]?", "efface[zrs]?", "laisse[zrs]?", "garde[zrs]?", "conserve[zrs]?", "invente[zrs]?",
    "duplique[zrs]?", "mocke[zrs]?", "introdui[st]", "introduire", "introduisez", "dépasse[zrs]?",
    "génère[zs]?", "générer", "implémente[zrs]?", "remplace[zrs]?", "réécri[st]", "réécrire", "tradui[st]",
    "traduire", "code[zrs]?", "reformate[zr]?", "formate[zrs]?", "documente[zrs]?", "commente[zrs]?",
    "teste[zrs]?", "vérifie[zrs]?", "répond[sez]*", "répondre", "utilis", "va", "prends", "prenez",
    "prendre", "passe[zrs]?", "respecte[zrs]?", "suis", "suivez", "suivre", "nomme[zrs]?", "retire[zrs]?",
    "enlève[zs]?", "enlever", "envoie", "déploie", "déployer", "hardcode[zr]?", "refactore?[zrs]?",
    "parle[zrs]?", "corrige[zrs]?", "mélange[zrs]?", "log[gezr]*", "affiche[zrs]?", "stocke[zrs]?",
    "saute[zrs]?", "simule[zrs]?", "demande[zrs]?", "travaille[zrs]?", "indente[zr]?", "rédige[zrs]?",
    "privilégie[zrs]?", "privilégier",
)  # fmt: skip
_STATE_FRENCH = (
    r"(?:marche\w*|fonctionne\w*|démarre|répond\w*|passe(?:nt)?|compile|charge|sais|sait|vois|voit"
    r"|comprend\w*|est|sont|es|a|as|ai|ont|peut|peux|suis|veut|veux|trouve|change rien|semble|reste|manque"
    r"|arrive|sert|vaut|t'inquiète\w*|vous|te|se|faut|doit|apparaît|apparait|affiche|hésite\w*|importe"
    r"|oublie\w*|explique|commence|renvoie|déclenche|contient|permet)"
)
_TONGUE_FRENCH = r"(?:français|anglais|allemand|espagnol|italien|portugais|néerlandais)\b"
_TOLD_FRENCH = (
    r"(?![^,;]{0,120}\b(?:c'est|est|sont|était|étaient|a été|ont|j'ai|il y a|il y|ça|je|marche|fonctionne"
    r"|trouvée?s?|visible|ne|n')\b)"
)
_AT_EVERY_FRENCH = (
    rf"\b(?:avant|après|à|pour|dans|lors de) chaque (?:nouve\w+ )?{_UNITS}|\bpartout\b|\bà chaque fois\b"
    r"|\bsystématiquement\b|\bdans (?:tous les|toutes les|les nouveaux|les nouvelles) \w+"
    r"|\bau fur et à mesure\b|\bavant de (?:commit\w*|pouss\w+|push\w*|merger)"
)
FRENCH = RuleForms(
    lead=regex(_LEAD_FRENCH),
    opens=regex(
        one_of(
            r"(?:ne |n')(?:pas |jamais |plus |rien |surtout pas )+(?:y |en |me |m'|le |la |les |l'|lui |se "
            r"|s')?\w+(?:er|ir|re)\b",
            r"(?<!\bet )(?<!mais )(?:ne |n')(?:y |en |me |m'|le |la |les |l'"
            rf"|lui )?(?!{_STATE_FRENCH}\b)\w+(?:[esz]|a)(?:[- ](?:le|la|les))? (?:\w+ ){{0,3}}?(?:pas"
            r"|jamais|plus|rien|aucune?|que?|qu')\b(?<!pas que)(?! (?:juste|seulement|que)\b)",
            rf"(?:ne |n')(?:y |en |me |m'|le |la |les |l'|lui )?{_DO_FRENCH}\b",
            rf"(?:{_DO_FRENCH}|corrige|répare) [^;]{{1,120}}? sans (?:casser|toucher|modifier|changer"
            r"|altérer|affecter)\b",
            r"(?:touche|modifie|change|utilise|ajoute|supprime|commit|push|fais|crée|casse|mets|écris"
            r"|invente|lance|renomme)[zs]? (?:pas|jamais|rien|plus|surtout pas)\b",
            rf"toujours (?:{_DO_FRENCH}|\w+(?:er|ir|re|ez)\b|avec|en {_TONGUE_FRENCH})",
            rf"{_DO_FRENCH}(?:-moi|-le|-la|-les)? (?:(?!que\b|si\b)\S+ ){{0,2}}?(?:toujours|uniquement"
            r"|seulement|exclusivement|jamais|impérativement)\b",
            rf"{_DO_FRENCH}\b[^;]{{0,80}}?(?:\bpartout\b|{_AT_EVERY_FRENCH})",
            rf"(?:désormais|dorénavant|à partir de maintenant|à l'avenir),? [^,;]{{0,40}}?(?:{_DO_FRENCH}"
            r"|tu dois|vous devez|ne |n'|je veux )",
            r"(?:utilise[zr]?|emploie|prends|prenez|mets|préfère|écris|choisis) [^;]{1,60}?(?: au lieu d"
            r"| plutôt qu|, pas | et pas )",
            rf"(?:{_AT_EVERY_FRENCH})(?! que (?:je|ça)| qu'(?:il|on))[^,;]{{0,60}}?[, ]+{_DO_FRENCH}\b",
            r"(?<!\()(?:évite[zr]?|préfère[zr]?|préférer|je préfère|je préférerais|limite[sz]?[- ](?:toi"
            r"|vous|tes|vos|les)|tiens[- ]toi|tenez[- ]vous|reste[zs]? (?:sur|dans|à|en)|respecte[zr]?"
            r"|privilégie[zr]?|rappelle-toi|souviens-toi|n'oublie[zs]? jamais|garde[zr]? (?:à l'esprit"
            r"|en tête))\b",
            r"(?:garde[zr]?|conserve[zr]?|maintien[st]|maintenez|maintenir"
            r"|préserve[zr]?)\b.{0,60}?(?:compatib|simple|court|minim|stable|intact|tel|l'api|le style"
            r"|la structure|les noms|l'interface|à jour|propre|le même|la même|inchang)",
            r"laisse[zr]?\b .{1,60}?(?:tel(?:le)?s? quel|tranquille|intact|comme (?:il|elle|c')|inchangé"
            r"|de côté)",
            r"(?:répond[sez]*|répondre|écri[st]|écrivez|écrire|parle[zr]?|rédige[zr]?|commente[zr]?"
            rf"|explique[zr]?|documente[zr]?)\b.{{0,50}}?\ben {_TONGUE_FRENCH}",
            r"(?:tout|toute la|tous les|toutes les|commentaires?|code|docs?|documentation"
            rf"|messages? de commit|commits|réponses|textes)\b.{{0,40}}?\ben {_TONGUE_FRENCH}",
            r"(?:demande[zs]?|préviens|prévenez|consulte)(?:[- ]moi)?,? (?:toujours )?(?:avant|d'abord"
            r"|la permission|si tu)\b",
            r"(?:assure[sz]?[- ](?:toi|vous)|veille[zs]?|fais en sorte"
            r"|vérifie[zs]? toujours)\b.{0,60}?\b(?:toujours|jamais|reste\w*|ne pas)\b",
            r"(?:je (?:ne )?veux (?:pas|plus|aucune?|jamais|toujours|que tout|uniquement)"
            r"|je (?:ne )?souhaite pas|j'aimerais (?:toujours|que tu (?:ne|toujours|évites)))\b",
            r"on (?:n'|ne )?(?:utilise|touche|modifie|mocke|commit|veut|supporte|écrit|met|ajoute"
            r"|code) (?:pas|jamais|toujours|que|uniquement)\b",
            r"(?:il )?(?:ne )?faut (?:toujours|jamais|pas|surtout pas|absolument) (?!oublier|s'inquiéter"
            r"|croire)\w",
        )
    ),
    bans=regex(
        one_of(
            r"(?:uniquement|seulement|exclusivement) (?!quand|si\b|parce|pour (?:moi"
            rf"|info)){_TOLD_FRENCH}[^,;]{{3,50}}{END}",
            r"(?:jamais|aucune?) (?!vu|eu|problème|souci|idée|erreur|résultat|effet|changement|doute"
            rf"|besoin|raison|chance|rapport|de la vie){_TOLD_FRENCH}\S+(?: [^\s,;]+){{0,8}}{END}",
            r"pas d(?:e |')(?!réponse|retour|problème|souci|idée|erreur|soucis|changement|chance|bol"
            rf"|panique|résultat|quoi|raison|besoin){_TOLD_FRENCH}\S+(?: [^\s,;]+){{0,7}}{END}",
        )
    ),
    says=regex(
        one_of(
            r"\b(?:tu|vous|on|nous) (?:ne )?(?:dois|devez|doit|devons|devrais|devriez) (?:toujours|jamais"
            r"|pas|absolument|uniquement|impérativement|surtout)\b",
            r"(?:\bl'|\b(?:le|la|les|ce|cette|ces|aucune?|on) )[^,;]{1,50} ne (?:doit|doivent|devra"
            r"|devront) (?:jamais|pas|plus|en aucun cas)\b|\b(?:doit|doivent|devra|devront) (?:toujours"
            r"|rester|impérativement|obligatoirement)\b",
            r"\b(?:n'as|n'avez) pas le droit\b|\bavant (?:de |d'|chaque )[^,;]{1,40},? (?:tu dois"
            r"|vous devez)\b",
            r"\btu ne (?:peux|pourras) [^,;]{1,60} que si\b",
            r"\btou(?:s|tes) les [^,;]{1,40} (?:doivent|devront|devraient)\b",
            r"\b(?:interdit de|interdiction (?:absolue |formelle |stricte )?de|(?:est|sont) (?:strictement "
            r"|absolument |formellement )?(?:interdite?s?|obligatoires?)|en aucun cas|sous aucun prétexte"
            r"|tu (?:utiliseras|feras|répondras) (?:toujours|impérativement|désormais))\b",
            r"\bil ne faut (?:jamais|pas) (?!oublier)",
            r"\breste(?:nt)? (?:inchang|tel|intact|compatible)",
        )
    ),
    passes=regex(
        one_of(
            r"\b(?:pas encore|pour l'instant|pour le moment|en ce moment|cette fois|tout de suite|d'abord"
            r"|peut-être|je (?:pense|crois|suppose|me demande)|on dirait|il semble|semble|probablement"
            r"|sans doute|pourrait|faudrait|serait|si on|si je|t'inquiète|vous inquiétez)\b",
            r"\b(?:ne |n')?(?:fais|faites|modifie|change|code|écris|implémente|touche"
            rf"|ajoute)[zs]? (?:rien(?:{END}| (?:mais|juste|fais|fait|dis))|(?:pas de|aucune?) (?:code"
            r"|changements?|modifications?)\b)",
        )
    ),
    asks=regex(
        r"(?:et |mais |ok,? |alors |donc )*(?:pourquoi|comment|que(?:l|lle|ls|lles)\b|qui|où|quand est"
        r"|combien|est-ce|peux-tu|pouvez-vous|peut-on|pourrais-tu|as-tu|avez-vous|y a-t-il|faut-il|dois-je"
        r"|doit-on|qu'est-ce|c'est quoi)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:tu peux|vous pouvez|tu as le droit|vous avez le droit|tu es autorisé"
            r"|libre à toi)\b(?! (?:voir|constater|imaginer|m'aider|me))",
            r"\b(?:c'est|est|sont) (?:maintenant |désormais |bien )*(?:autorisé|permis|ok|d'accord)\w*\b",
            r"\b(?:n'hésite pas à|n'hésitez pas à|pas de souci pour|ça me va de)\b",
        )
    ),
    saying=words(
        """dois devez doit doivent devons devrais devriez devra devront devraient interdit interdite
        interdits interdites interdiction obligatoire obligatoires cas prétexte utiliseras feras répondras
        faut reste restent droit pourras peux avant toujours jamais"""
    ),
    foreign_words=words("the is you and"),
    marks=words(
        """ne n pas jamais aucun aucune plus toujours uniquement seulement exclusivement partout chaque
        évite évitez éviter préfère préférez préférer limite limitez tiens tenez reste restez restent
        respecte respectez privilégie privilégiez garde gardez conserve conservez maintiens maintenez
        maintenir préserve préservez laisse laissez tout tous toutes toute réponds répondez répondre écris
        écrivez français anglais demande demandez préviens assure assurez veille veillez veux souhaite faut
        dois devez doit doivent devrais désormais dorénavant maintenant avenir interdit interdite interdits
        interdiction cas prétexte obligatoire obligatoirement impérativement peux pouvez droit autorisé
        permis rappelle souviens systématiquement mesure lieu plutôt rien devraient accord devront devra
        rester que surtout"""
    ),
)  # fmt: skip
