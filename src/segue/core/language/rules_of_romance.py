"""How rules are worded in Spanish, Portuguese and Italian."""

from __future__ import annotations

from ..base.lazy import regex
from .rule_forms import END, RuleForms, leading, one_of, words

_UNITS = (
    r"(?:commits?|push|merge|étape|changement|modification|fichier|fonction|test|tâche|réponse|fois|feature"
    r"|module|classe|pr|cambio|paso|archivo|fichero|función|tarea|respuesta|vez|módulo|clase|mudança"
    r"|alteração|etapa|passo|arquivo|função|tarefa|resposta|modifica|passo|file|funzione|compito|risposta"
    r"|volta|modulo|release|deploy|componente?)"
)

# -- Spanish

_LEAD_SPANISH = leading(
    r"(?:y|pero|por favor|porfa|también|además|entonces|luego|ok|vale|bueno|ojo|importante|nota|regla"
    r"|en general|o|sí|ahora|aquí|claude|recuerda|recuerda que|por defecto|siempre que puedas|eso sí|que)"
)
_NOT_SPANISH = r"(?:no|nunca|jamás)"
_DO_SPANISH = one_of(
    "toqu(?:es|e|éis|en)", "modifiqu(?:es|e|en)", "cambi(?:es|e|en)", "us(?:es|e|en)", "utilic(?:es|e|en)",
    "añad(?:as|a|an)", "agregu(?:es|e|en)", "borr(?:es|e|en)", "elimin(?:es|e|en)", "hag(?:as|a|an)",
    "commit(?:ees|ee|e|ear)", "comit(?:ees|ee|ear)", "sub(?:as|a|an)", "pong(?:as|a|an)", "met(?:as|a|an)",
    "cre(?:es|e|en)", "escrib(?:as|a|an)", "instal(?:es|e|en)", "import(?:es|e|en)", "romp(?:as|a|an)",
    "renombr(?:es|e|en)", "muev(?:as|a|an)", "ejecut(?:es|e|en)", "edit(?:es|e|en)", "dej(?:es|e|en)",
    "invent(?:es|e|en)", "dupliqu(?:es|e|en)", "mock(?:ees|ee)", "introduzc(?:as|a|an)",
    "gener(?:es|e|en)", "implement(?:es|e|en)", "reemplac(?:es|e|en)", "traduzc(?:as|a|an)",
    "quit(?:es|e|en)", "incluy(?:as|a|an)", "empuj(?:es|e)", "push(?:ees|ee)", "vuelv(?:as|a|an) a",
    "actualic(?:es|e|en)", "refactoric(?:es|e)", "respond(?:as|a)", "mezcl(?:es|e)", "hardcode(?:es|e)",
    "asum(?:as|a)", "salt(?:es|e)", "guard(?:es|e)", "despliegu(?:es|e)", "pregunt(?:es|e)", "des\\b",
    "repit(?:as|a)", "camb[ií]es",
)  # fmt: skip
_TO_DO_SPANISH = one_of(
    "tocar", "modificar", "cambiar", "usar", "utilizar", "añadir", "agregar", "borrar", "eliminar",
    "hacer", "commitear", "subir", "poner", "meter", "crear", "escribir", "instalar", "importar", "romper",
    "renombrar", "mover", "ejecutar", "editar", "dejar", "inventar", "duplicar", "mockear", "introducir",
    "generar", "implementar", "reemplazar", "traducir", "quitar", "incluir", "pushear", "actualizar",
    "refactorizar", "responder", "mezclar", "hardcodear", "mantener", "respetar", "correr", "probar",
    "documentar", "trabajar", "comentar", "preguntar", "revisar", "guardar", "desplegar", "formatear",
    "seguir", "repetir",
)  # fmt: skip
_ORDER_SPANISH = one_of(
    "usa", "usad", "use", "utiliza", "utilice", "haz", "haga", "pon", "escribe", "escriba", "responde",
    "responda", "contesta", "crea", "añade", "agrega", "corre", "ejecuta", "prueba", "documenta",
    "comenta", "cambia", "modifica", "toca", "edita", "trabaja", "instala", "importa", "actualiza",
    "genera", "deja", "mantén", "mantenga", "mantener", "guarda", "sigue", "revisa", "pregunta",
    "verifica", "commitea", "formatea", "muestra", "nombra", "incluye", "pasa", "llama", "habla",
    "explica", "valida", "registra", "sube",
)  # fmt: skip
_TONGUE_SPANISH = r"(?:español|castellano|inglés|ingles|francés|alemán|portugués|italiano)\b"
_TOLD_SPANISH = (
    r"(?![^,;]{0,120}\b(?:es|está|están|son|era|hay|funciona|funcionan|sale|salen|da|falla|fallan|pasa"
    r"|tengo|tiene|encontrad\w+|veo|puedo|puede)\b)"
)
_AT_EVERY_SPANISH = (
    rf"\b(?:antes de|después de|en|con|por|tras|a) cada (?:nuev\w )?{_UNITS}|\bcada vez\b"
    r"|\ben todas partes\b|\ben todos lados\b|\ben (?:todos|todas) (?:los|las) \w+|\ben (?:los"
    r"|las) (?:archivos |ficheros |tests )?nuev[oa]s\b|\bantes de (?:commitear|hacer commit|subir|pushear)"
)
SPANISH = RuleForms(
    lead=regex(_LEAD_SPANISH),
    opens=regex(
        one_of(
            rf"{_NOT_SPANISH} (?:me |lo |la |los |las |se |le )?{_DO_SPANISH}\b",
            rf"{_NOT_SPANISH} (?:se (?:debe|deben|puede|pueden) )?{_TO_DO_SPANISH}\w*\b",
            rf"(?:{_ORDER_SPANISH}|arregla|corrige) [^;]{{1,120}}? sin (?:romper|tocar|cambiar|modificar"
            r"|alterar|afectar)\b",
            r"(?:nunca|jamás) (?!he|había|ha\b|vi\b|pasa|funciona|fue|es\b|está|me\b"
            rf"|supe){_TOLD_SPANISH}\S",
            r"siempre (?!me|pasa|falla|sale|da\b|es\b|está|igual|lo mismo|ha\b|hay|ocurre|devuelve"
            rf"|aparece){_TOLD_SPANISH}\S",
            rf"(?:solo|sólo|solamente|únicamente|exclusivamente) (?:{_ORDER_SPANISH}"
            rf"|{_TO_DO_SPANISH})\b{_TOLD_SPANISH}",
            rf"{_ORDER_SPANISH}\b[^;]{{0,80}}?(?:\b(?:siempre|solo|sólo|solamente|únicamente|nunca)\b"
            rf"|{_AT_EVERY_SPANISH})",
            r"(?:usad?|use|utiliza|utilice|pon|escribe|prefiere) [^;]{1,50}?(?: en vez de| en lugar de"
            r"|,? (?:y )?no) ",
            rf"(?:{_AT_EVERY_SPANISH})[^,;]{{0,60}}?[, ]+(?:{_ORDER_SPANISH}|{_TO_DO_SPANISH})\b",
            r"(?:evita|evitad|evite|evitar|prefiero|prefiere|limítate|cíñete|quédate en|respeta|respete"
            r"|respetar|mantente|acuérdate de|recuerda (?:que|siempre|no|usar)|ten en cuenta"
            r"|tened en cuenta|preferiblemente)\b",
            r"(?:mantén|mantenga|mantener|conserva|conservar|preserva|guarda)\b.{0,60}?(?:compatib|simple"
            r"|corto|mínim|estable|intact|igual|la api|el estilo|la estructura|los nombres|la interfaz"
            r"|actualizad|limpi|el mismo|la misma|sin cambios|como está)",
            r"deja(?:d|r|lo|la|los|las)?\b .{0,60}?(?:como est[áa]n?|tal cual|en paz|intact|sin (?:tocar"
            r"|cambios)|quiet[oa])",
            r"(?:responde|responda|contesta|escribe|escriba|habla|háblame|respóndeme|comenta|explica"
            rf"|documenta)\b.{{0,50}}?\ben {_TONGUE_SPANISH}",
            r"(?:todo|toda la|todos los|todas las|comentarios?|código|documentación|mensajes? de commit"
            rf"|commits|respuestas|textos)\b.{{0,40}}?\ben {_TONGUE_SPANISH}",
            r"(?:pregúntame|avísame|consúltame|pregunta|consulta) (?:siempre )?(?:antes|primero"
            r"|si vas a)\b",
            r"(?:asegúrate|asegúrese|asegurate)\b.{0,60}?\b(?:siempre|nunca|de no|siga\w*|se mantenga)\b",
            r"(?:no quiero|quiero (?:que )?(?:siempre|todo|solo|nunca|no|que (?:siempre|nunca|no|todo"
            r"|uses))|no queremos|prefiero)\b(?! (?:decir|saber|molest))",
            r"(?:aquí )?(?:no|nunca|siempre|solo|sólo) (?:usamos|mockeamos|commiteamos|tocamos|queremos"
            r"|hacemos|escribimos|soportamos)\b",
        )
    ),
    bans=regex(
        one_of(
            r"(?:solo|sólo|solamente|únicamente) (?:en|con|la|los|las|el"
            rf"|desde)\b{_TOLD_SPANISH}[^,;]{{2,50}}{END}",
            r"(?:nada de|ningun[oa]?|ningún|cero|sin) (?!embargo|problema|duda|idea|error|miedo|prisa"
            rf"|más\b|que\b|él|ella){_TOLD_SPANISH}\S+(?: [^\s,;]+){{0,7}}{END}",
        )
    ),
    says=regex(
        one_of(
            r"\b(?:debes|debe|deben|debemos|tienes que|tiene que|tenemos que|hay que|deberías|ha de"
            r"|han de) (?:siempre|nunca|no|seguir siendo|mantener\w*|permanecer)\b",
            r"\b(?:siempre|nunca|no) (?:debes|debe|deben|debemos|hay que|se debe|se deben)\b",
            r"\btod[oa]s l[oa]s [^,;]{1,40} (?:deben|tienen que|debería[ns]?)\b",
            r"\b(?:de ahora en adelante|a partir de ahora|de aquí en adelante|desde ahora|en adelante"
            r"|en lo sucesivo|de ahora en más)\b",
            r"\b(?:prohibid[oa]s?|bajo ningún concepto|en ningún caso|de ninguna manera|obligatori[oa]s?"
            r"|intocables?|no se tocan?|no se cambian?|no se modifican?|no se usan?)\b",
        )
    ),
    passes=regex(
        one_of(
            r"\b(?:todavía|aún no|aun no|por ahora|de momento|por el momento|ahora mismo|esta vez|por hoy"
            r"|primero|quizás?|tal vez|creo que|supongo|me pregunto|parece|probablemente|podría\w*|sería"
            r"|a lo mejor|te preocupes|se preocupe)\b",
            r"\bno (?:hagas|cambies|toques|escribas|implementes|modifiques) (?:nada|código|ningún cambio"
            rf"|cambios|ningún código){END}",
        )
    ),
    asks=regex(
        r"¿|(?:y |pero |ok,? )*(?:por qué|cómo|qué|quién|dónde|cuándo|cuál|cuáles|puedes (?!ya|ahora"
        r"|también|[^,;]{0,120} (?:ahora|esta vez|aquí|sin problema|si quieres)\b)|podrías|puede|hay"
        r"|es posible|debo|debería|tengo que|sabes)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:ya|ahora|aquí|también|tú|esta vez|entonces|por mí) (?:sí )?(?:puedes|podéis|pueden"
            r"|puede) (?!ver\b|imaginar|decir)",
            r"\b(?:puedes|podéis|pueden) (?:ya|ahora|también|sin problema)\b|\b(?:puedes"
            r"|podéis) [^,;]{3,50} (?:ahora|esta vez|aquí|sin problema|si quieres)\b",
            r"\b(?:está|esta|están) (?:ahora |ya |bien |todo )*(?:permitid\w+|bien|ok|autorizad\w+)\b",
            r"\b(?:siéntete libre|no hay problema (?:en|con|si)|se permite|te permito|vale (?:usar|tocar"
            r"|cambiar))\b",
        )
    ),
    saying=words(
        """debes debe deben debemos tienes tiene tenemos hay deberías ha han siempre nunca no adelante ahora
        sucesivo prohibido prohibida prohibidos prohibidas ningún ninguna obligatorio obligatoria
        obligatorios intocable intocables todos todas"""
    ),
    foreign_words=words("não nao você em ao uma non che di nie the is you"),
    foreign=regex("[ãõçąęł]"),
    marks=words(
        """no nunca jamás siempre nada ningún ninguna ninguno cero sin solo sólo solamente únicamente
        exclusivamente cada todas todos todo toda evita evitad evite evitar prefiero prefiere limítate
        cíñete quédate respeta respete respetar mantente recuerda cuenta preferiblemente mantén mantenga
        mantener conserva preserva deja dejad dejar responde responda contesta escribe escriba habla español
        castellano inglés ingles comentarios código documentación pregúntame avísame consúltame pregunta
        asegúrate asegúrese asegurate cuida quiero queremos debes debe deben debemos tienes tiene hay
        adelante ahora prohibido prohibida prohibidos concepto caso manera obligatorio obligatoria intocable
        intocables puedes podéis pueden puede permitido permitida bien libre vez lugar acuérdate deberían
        háblame respóndeme permite"""
    ),
)  # fmt: skip

# -- Portuguese

_LEAD_PORTUGUESE = leading(
    r"(?:e|mas|por favor|pfv|também|além disso|então|depois|ok|bom|atenção|importante|nota|regra|em geral"
    r"|ou|sim|agora|aqui|claude|lembre-se|lembra|por padrão|olha|ah|só pra lembrar)"
)
_DO_PORTUGUESE = one_of(
    "toquem?", "mexam?", "modifiquem?", "alterem?", "mudem?", "usem?", "utilizem?", "adicionem?",
    "apaguem?", "deletem?", "removam?", "façam?", "commite", "comite", "suba", "coloquem?", "ponha",
    "criem?", "escrevam?", "instalem?", "importem?", "quebrem?", "renomeie", "mova", "executem?",
    "editem?", "deixem?", "inventem?", "duplique", "introduza", "gere", "implementem?", "substitua",
    "traduza", "tire", "inclua", "atualizem?", "refatore", "responda", "misture", "mocke", "hardcode",
    "assuma", "pule", "salve", "rode", "teste", "documente", "mantenha", "siga", "comente", "fale",
    "explique", "formate", "nomeie", "trabalhe", "pergunte", "valide", "verifique", "dê", "repita", "pare",
    "corrija", "volte", "esconda", "mostre", "envie", "rompa", "altere", "force", "permita", "gaste",
    "perca", "exclua", "reescreva", "confie", "tente", "pressuponha", "ignore",
)  # fmt: skip
_TO_DO_PORTUGUESE = one_of(
    "(?:toc|mex|modific|alter|mud|us|utiliz|adicion|apag|delet|remov|commit|comit|coloc|cri|escrev|instal"
    "|import|quebr|renome|mov"
    "|execut|edit|deix|invent|duplic|ger|implement|atualiz|refator|respond|mock|pul|salv|rod|test|document"
    "|coment|fal|format"
    "|trabalh|verific|mistur)[aei]r", "fazer", "subir", "introduzir", "substituir", "traduzir", "incluir",
    "manter", "seguir",
)  # fmt: skip
_DO_TOLD_PORTUGUESE = one_of(
    "toca", "mexe", "altera", "muda", "usa", "adiciona", "apaga", "deleta", "remove", "commita", "comita",
    "coloca", "cria", "escreve", "instala", "importa", "quebra", "executa", "edita", "deixa", "inventa",
    "duplica", "gera", "tira", "mantém", "faz",
)  # fmt: skip
"""Imperatives that are also how one tells what somebody does."""
_TONGUE_PORTUGUESE = r"(?:português|portugues|pt-br|inglês|ingles|espanhol|francês|alemão)\b"
_TOLD_PORTUGUESE = (
    r"(?![^,;]{0,120}\b(?:é|está|estão|são|era|há|tem|funciona|funcionam|aparece|dá|falha|falham|tenho"
    r"|encontrad\w+|vejo|consigo|foi|sentido)\b)"
)
_AT_EVERY_PORTUGUESE = (
    rf"\b(?:antes de|depois de|após|em|com|por|a) cada (?:nov[oa] )?{_UNITS}|\bcada vez\b|\btoda vez\b"
    r"|\bsempre que\b|\bem todo lugar\b|\bem todos os \w+|\bem todas as \w+|\bn[oa]s (?:arquivos "
    r"|testes )?nov[oa]s\b|\bantes de (?:commitar|comitar|fazer commit|subir|dar push)"
)
PORTUGUESE = RuleForms(
    lead=regex(_LEAD_PORTUGUESE),
    opens=regex(
        one_of(
            rf"(?:não|nao) (?:me |se |o |a |os |as )?(?:{_DO_PORTUGUESE}|{_TO_DO_PORTUGUESE})\b(?! sentido"
            rf"| diferença| falta| mais sentido| nada{END})",
            rf"(?:{_DO_PORTUGUESE}|corrija|ajuste) [^;]{{1,120}}? sem (?:quebrar|alterar|mexer|mudar"
            r"|prejudicar|afetar)\b",
            rf"(?:nunca|jamais) (?!vi\b|foi|tinha|funcion|mais vi|me\b|é\b|está){_TOLD_PORTUGUESE}\S",
            rf"sempre (?:{_DO_PORTUGUESE}|{_TO_DO_PORTUGUESE}|em|com|que (?!eu))\b{_TOLD_PORTUGUESE}",
            rf"(?:só|somente|apenas|exclusivamente) (?:{_DO_PORTUGUESE}"
            rf"|{_TO_DO_PORTUGUESE})\b{_TOLD_PORTUGUESE}",
            rf"{_DO_PORTUGUESE}\b[^;]{{0,80}}?(?:\b(?:sempre|só|somente|apenas|nunca)\b"
            rf"|{_AT_EVERY_PORTUGUESE})",
            r"(?:usem?|utilizem?|escreva|coloque|prefira) [^;]{1,50}?(?: em vez de| ao invés de"
            r"| no lugar de|,? (?:e )?(?:não|nao)) ",
            rf"(?:{_AT_EVERY_PORTUGUESE})[^,;]{{0,60}}?[, ]+{_DO_PORTUGUESE}\b",
            r"(?:evite[m]?|evitar|prefiro|prefira|dê preferência|limite-se|atenha-se|fique em|respeite[m]?"
            r"|respeitar|lembre-se de|lembre-se que|lembra de|leve em conta|tenha em mente"
            r"|de preferência)\b",
            r"(?:mantenha|manter|mantém|conserve|preserve|preservar)\b.{0,60}?(?:compatib|simples|curt"
            r"|mínim|estável|intact|igual|a api|o estilo|a estrutura|os nomes|a interface|atualizad|limp"
            r"|o mesmo|a mesma|como está|inalterad)",
            r"deix(?:e|a|ar|em)\b .{0,60}?(?:como est(?:á|ão)|do jeito que|em paz|quiet[oa]|intact"
            r"|sem mexer|inalterad)",
            r"(?:responda|responde|escreva|escreve|fale|fala|comente|explique"
            rf"|documente)\b.{{0,50}}?\bem {_TONGUE_PORTUGUESE}",
            r"(?:tudo|toda a|todos os|todas as|comentários?|código|documentação|mensagens de commit"
            rf"|commits|respostas|textos)\b.{{0,40}}?\bem {_TONGUE_PORTUGUESE}",
            r"(?:pergunte|me pergunte|me pergunta|pergunta|me avise|consulte)(?:-me)? (?:sempre )?(?:antes"
            r"|primeiro|se for)\b",
            r"(?:garanta|garantir|certifique-se|assegure)\b.{0,60}?\b(?:sempre|nunca|de não|continue\w*"
            r"|se mantenha)\b",
            r"(?:não quero|nao quero|quero (?:sempre|tudo|só|apenas|que (?:sempre|nunca|não|tudo"
            r"|você (?:sempre|nunca|não|use)))|não queremos)\b(?! (?:dizer|saber))",
            r"(?:aqui )?(?:não|nunca|sempre|só) (?:usamos|mockamos|commitamos|mexemos|queremos|escrevemos"
            r"|suportamos)\b|a gente (?:não|nunca|sempre|só) (?:usa|mexe|commita|quer)\b",
        )
    ),
    bans=regex(
        one_of(
            rf"(?:não|nao) (?:me |o |a |os |as )?{_DO_TOLD_PORTUGUESE}\b(?! sentido| diferença| falta| mais"
            rf"| nada{END})",
            rf"(?:só|somente|apenas) (?:em|com|n[oa]s?|[oa]s?)\b{_TOLD_PORTUGUESE}[^,;]{{2,50}}{END}",
            r"(?:nada de|nenhuma?|zero|sem) (?!problemas?|dúvida|ideia|erros?|querer|pressa|mais\b|que\b"
            rf"|sucesso|contar){_TOLD_PORTUGUESE}\S+(?: [^\s,;]+){{0,7}}{END}",
        )
    ),
    says=regex(
        one_of(
            r"\b(?:deve|devem|devemos|deverá|tem que|têm que|temos que|precisa|precisam) (?:sempre|nunca"
            r"|não|continuar|permanecer|manter\w*)\b",
            r"(?<!que )\b(?:sempre|nunca|não) (?:deve|devem|devemos) \w+r\b|\bnão (?:pode|podem) (?:mudar"
            r"|ser (?:alterad|mudad|mexid|quebrad|tocad))",
            r"\btod[oa]s [oa]s [^,;]{1,40} (?:devem|têm que|precisam|deveriam)\b",
            r"\b(?:a partir de agora|daqui (?:pra|para|em) (?:a )?(?:frente|diante)|de agora em diante"
            r"|doravante|daqui em diante)\b",
            r"\b(?:proibid[oa]s?|de jeito nenhum|em hipótese alguma|em nenhum caso|obrigatóri[oa]s?"
            r"|intocáve(?:l|is)|é vedado)\b",
        )
    ),
    passes=regex(
        one_of(
            r"\b(?:ainda|por enquanto|por agora|no momento|agora não|desta vez|dessa vez|primeiro|talvez"
            r"|acho que|suponho|parece|provavelmente|poderia|seria|se preocupe|será que|me pergunto)\b",
            r"\b(?:não|nao) (?:faça|mude|altere|escreva|implemente|mexa|modifique) (?:nada|código"
            rf"|nenhuma mudança|nenhuma alteração|nenhum código|em nada){END}",
        )
    ),
    asks=regex(
        r"(?:e |mas |ok,? )*(?:por que|por quê|porque será|como|o que|quem|onde|quando é|qual|quais|poderia"
        r"|consegue|tem como|é possível|devo|será)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:você|vc|vocês) (?:já )?(?:pode|podem) (?!ver\b|imaginar|me\b"
            r"|ajudar)(?:\w+ ){0,2}?\w+r\b",
            r"\b(?:agora|já|aqui|também|dessa vez|desta vez) (?:já |sim )?(?:pode|podem) (?!ver\b|me\b)"
            r"|\b(?:pode|podem) (?:sim|agora|também|à vontade)\b",
            r"\b(?:pode|podem) [^,;]{3,50} (?:agora|dessa vez|desta vez|aqui|à vontade|se quiser)\b",
            r"\b(?:está|tá|é) (?:agora |tudo )*(?:permitid\w+|liberad\w+|ok|tranquilo|autorizad\w+)\b",
            r"\b(?:fique à vontade|sinta-se livre|tudo bem (?:usar|mexer|adicionar|se)|sem problema (?:usar"
            r"|mexer|em))\b",
        )
    ),
    saying=words(
        """deve devem devemos deverá tem têm temos precisa precisam sempre nunca não agora daqui diante
        doravante proibido proibida proibidos nenhum hipótese caso obrigatório obrigatória intocável
        intocáveis vedado todos todas"""
    ),
    foreign_words=words("el los las en hay non che il di lo le del he"),
    foreign=regex("[ñ¿¡òù]"),
    marks=words(
        """não nao nunca jamais sempre nada nenhum nenhuma zero sem só somente apenas exclusivamente cada
        toda todas todos tudo evite evitem evitar prefiro prefira preferência limite atenha fique respeite
        respeitar lembre lembra leve mantenha manter mantém conserve preserve deixe deixa deixar responda
        responde escreva escreve fale português portugues pt inglês ingles comentários código documentação
        pergunte pergunta avise consulte garanta garantir certifique assegure verifique cuide quero queremos
        deve devem devemos têm tem precisa precisam agora frente diante doravante proibido proibida hipótese
        obrigatório obrigatória pode podem permitido liberado vontade tranquilo vez invés lugar intocável
        novos novas sinta"""
    ),
)  # fmt: skip

# -- Italian

_LEAD_ITALIAN = leading(
    r"(?:e|ma|però|per favore|perfavore|anche|inoltre|quindi|poi|ok|bene|attenzione|importante|nota|regola"
    r"|in generale|o|sì|adesso|ora|qui|claude|ricorda|ricordati|di default|mi raccomando|ah|comunque"
    r"|allora)"
)
_TO_DO_ITALIAN = one_of(
    "toccar\\w*", "modificar\\w*", "cambiar\\w*", "usar\\w*", "utilizzar\\w*", "aggiunger\\w*",
    "cancellar\\w*", "eliminar\\w*", "fare", "far", "farlo", "committar\\w*", "pushar\\w*", "mergiar\\w*",
    "metter\\w*", "crear\\w*", "scriver\\w*", "installar\\w*", "importar\\w*", "romper\\w*",
    "rinominar\\w*", "spostar\\w*", "eseguir\\w*", "lanciar\\w*", "lasciar\\w*", "inventar\\w*",
    "duplicar\\w*", "introdurr\\w*", "generar\\w*", "implementar\\w*", "sostituir\\w*", "tradurr\\w*",
    "rimuover\\w*", "aggiornar\\w*", "rifattorizzar\\w*", "risponder\\w*", "mescolar\\w*", "mockar\\w*",
    "saltar\\w*", "editar\\w*", "formattar\\w*", "documentar\\w*", "testar\\w*", "salvar\\w*", "rompere",
    "superar\\w*", "assumer\\w*", "chieder\\w*", "ripeter\\w*",
)  # fmt: skip
_ORDER_ITALIAN = one_of(
    "usa", "utilizza", "fai", "metti", "scrivi", "rispondi", "crea", "aggiungi", "esegui", "lancia",
    "prova", "testa", "documenta", "commenta", "cambia", "modifica", "tocca", "edita", "lavora",
    "installa", "importa", "aggiorna", "genera", "lascia", "mantieni", "salva", "segui", "controlla",
    "chiedi", "verifica", "committa", "formatta", "mostra", "nomina", "includi", "passa", "chiama",
    "parla", "spiega", "valida", "registra", "pusha", "usate", "scrivete",
)  # fmt: skip
_TONGUE_ITALIAN = r"(?:italiano|inglese|francese|tedesco|spagnolo)\b"
_TOLD_ITALIAN = (
    r"(?![^,;]{0,120}\b(?:è|sono|era|erano|c'è|ci sono|funziona|funzionano|ho|ha|hanno|fallisce|falliscono"
    r"|trovat\w+|vedo|riesco|dà|compare|esce)\b)"
)
_AT_EVERY_ITALIAN = (
    rf"\b(?:prima di|dopo|a|per|in|con|ad) ogni (?:nuov\w )?{_UNITS}|\bogni volta\b|\bovunque\b"
    r"|\bdappertutto\b|\bin tutt[ie] (?:i|gli|le) \w+|\bnei (?:file |test )?nuovi\b"
    r"|\bprima di (?:committare|fare commit|pushare|fare push)"
)
ITALIAN = RuleForms(
    lead=regex(_LEAD_ITALIAN),
    opens=regex(
        one_of(
            rf"(?:{_ORDER_ITALIAN}|correggi|sistema) [^;]{{1,120}}? senza (?:rompere|toccare|modificare"
            r"|cambiare|alterare)\b",
            rf"mai {_TO_DO_ITALIAN}\b",
            r"(?:non|mai) (?:mai |si (?:deve|devono|può|possono) )?(?:lo |la |li |le "
            rf"|mi )?{_TO_DO_ITALIAN}\b",
            rf"mai (?!visto|stato|successo|funzionato|dire|capitato|più visto){_TOLD_ITALIAN}\S",
            rf"sempre (?:{_TO_DO_ITALIAN}|in|con|usare)\b{_TOLD_ITALIAN}",
            rf"(?:solo|soltanto|solamente|esclusivamente|unicamente) (?:{_ORDER_ITALIAN}"
            rf"|{_TO_DO_ITALIAN})\b{_TOLD_ITALIAN}",
            rf"{_ORDER_ITALIAN}\b[^;]{{0,80}}?(?:\b(?:sempre|solo|soltanto|solamente|esclusivamente|mai)\b"
            rf"|{_AT_EVERY_ITALIAN})",
            r"(?:usa|usate|utilizza|scrivi|metti|preferisci) [^;]{1,50}?(?: invece di| al posto di| anziché"
            r"| piuttosto che|,? (?:e )?non) ",
            rf"(?:{_AT_EVERY_ITALIAN})[^,;]{{0,60}}?[, ]+(?:{_ORDER_ITALIAN}|{_TO_DO_ITALIAN})\b",
            r"(?:evita|evitate|evitare|preferisco|preferisci|preferirei|limitati|attieniti|resta (?:in|su"
            r"|dentro)|rimani (?:in|su)|rispetta|rispettare|ricordati (?:di|che)|ricorda (?:di|che)"
            r"|tieni (?:presente|conto|a mente)|preferibilmente)\b",
            r"(?:mantieni|mantenere|conserva|preserva|tieni)\b.{0,60}?(?:compatib|semplic|cort|brev|minim"
            r"|stabil|intatt|ugual|l'api|lo stile|la struttura|i nomi|l'interfaccia|aggiornat|pulit"
            r"|lo stesso|la stessa|invariat|com'è)",
            r"lascia(?:re|te|lo|la)?\b .{0,60}?(?:com'è|così com|stare|in pace|intatt|invariat|come sono)",
            r"(?:rispondi|rispondimi|scrivi|parla|parlami|commenta|spiega"
            rf"|documenta)\b.{{0,50}}?\bin {_TONGUE_ITALIAN}",
            r"(?:tutto|tutta la|tutti i|tutte le|commenti|codice|documentazione|messaggi di commit|commit"
            rf"|risposte|testi)\b.{{0,40}}?\bin {_TONGUE_ITALIAN}",
            r"(?:chiedimi|chiedi|avvisami|consultami) (?:sempre )?(?:prima|il permesso|se devi|conferma)\b",
            r"(?:assicurati|assicurarsi|fai in modo|fai attenzione)\b.{0,60}?\b(?:sempre|mai|di non|a non"
            r"|riman\w+|rest\w+)\b",
            r"(?:non voglio|voglio (?:sempre|tutto|solo|che (?:sempre|non|tutto|tu (?:non|usi|sempre)))"
            r"|non vogliamo)\b(?! (?:dire|sapere))",
            r"(?:qui )?(?:non|mai|sempre|solo) (?:usiamo|mockiamo|committiamo|tocchiamo|vogliamo|scriviamo"
            r"|supportiamo)\b|(?:usiamo|scriviamo|committiamo) (?:sempre|solo|mai)\b",
        )
    ),
    bans=regex(
        one_of(
            rf"(?:solo|soltanto|solamente) (?:in|con|la|il|le|i|gli)\b{_TOLD_ITALIAN}[^,;]{{2,50}}{END}",
            r"(?:niente|nessun[ao']?|zero|senza) ?(?!problem|dubbio|idea|errore|errori|fretta|di che"
            r"|da fare|paura|contare|che\b|successo|panico"
            rf"|ansia){_TOLD_ITALIAN}\S+(?: [^\s,;]+){{0,7}}{END}",
        )
    ),
    says=regex(
        one_of(
            r"\b(?:devi|deve|devono|dobbiamo|bisogna|va|vanno|dovresti) (?:sempre|mai|rimanere|restare"
            r"|mantenere)\b",
            r"\bnon (?:devi|deve|devono|dobbiamo|bisogna|va|vanno|si tocca|si toccano|si usa|si usano"
            r"|si cambia|si modifica|può essere|possono essere)\b(?! bene)",
            r"\btutt[ie] (?:i|gli|le) [^,;]{1,40} (?:devono|dovrebbero)\b",
            r"\b(?:d'ora in poi|da ora in poi|d'ora in avanti|da adesso in poi|in futuro (?:usa|non|sempre"
            r"|evita))\b",
            r"\b(?:vietat[oaie]|proibit[oaie]|in nessun caso|per nessun motivo|obbligatori[oaie]?"
            r"|intoccabil[ei]|assolutamente (?:non|vietato))\b",
            r"\b(?:resta|rimane|restano|rimangono) (?:invariat|com|intatt|compatibil)",
        )
    ),
    passes=regex(
        one_of(
            r"\b(?:ancora|per ora|per adesso|al momento|per il momento|adesso no|questa volta|stavolta"
            r"|per oggi|prima di tutto|forse|credo|penso|suppongo|mi chiedo|sembra|probabilmente"
            r"|potrebbe\w*|sarebbe|magari|preoccupart\w+|preoccupar\w+)\b",
            r"\bnon (?:fare|cambiare|toccare|scrivere|implementare|modificare) (?:niente|nulla|codice"
            rf"|nessun codice|nessuna modifica|modifiche){END}",
        )
    ),
    asks=regex(
        r"(?:e |ma |ok,? )*(?:perché|perchè|come mai|come (?:si|faccio|posso|mai)|cosa|che cosa|chi|dove"
        r"|quando (?:è|viene)|quale|quali|potresti|può|è possibile|devo|dovrei|c'è un modo|sai)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:ora|adesso|qui|stavolta|da ora) (?:sì )?(?:puoi|potete) (?!vedere|dirmi)|\b(?:puoi"
            r"|potete) (?:anche|ora|adesso|tranquillamente|pure)\b",
            r"\b(?:puoi|potete) [^,;]{3,50} (?:ora|adesso|stavolta|questa volta|qui|se vuoi)\b",
            r"\b(?:è|sono|va) (?:ora |adesso |tutto |anche )*(?:permess\w+|consentit\w+|ok|bene"
            r"|autorizzat\w+)\b (?!che)",
            r"\b(?:sentiti libero|nessun problema (?:se|a|per)|ti permetto|si può (?:usare|toccare"
            r"|modificare|aggiungere))\b",
        )
    ),
    saying=words(
        """devi deve devono dobbiamo bisogna va vanno dovresti non tutti tutte ora adesso avanti futuro
        vietato vietata proibito proibita nessun obbligatorio obbligatoria intoccabile intoccabili
        assolutamente resta rimane restano rimangono"""
    ),
    foreign_words=words("não nao el los las em ao as en um uma dá ne pas les the is you"),
    foreign=regex("[ñãõç¿¡ê]"),
    marks=words(
        """non mai sempre niente nessun nessuno nessuna zero senza solo soltanto solamente esclusivamente
        unicamente ogni ovunque dappertutto tutti tutte tutto tutta evita evitate evitare preferisco
        preferisci preferirei limitati attieniti resta rimani rispetta rispettare ricordati ricorda tieni
        preferibilmente mantieni mantenere conserva preserva lascia lasciare rispondi rispondimi scrivi
        parla parlami italiano inglese commenti codice documentazione chiedimi chiedi avvisami assicurati
        modo verifica voglio vogliamo devi deve devono dobbiamo bisogna vanno dovresti poi avanti futuro
        vietato vietata proibito caso motivo obbligatorio obbligatoria intoccabile intoccabili invariato
        puoi potete permesso consentito libero invece posto anziché restano rimane rimangono ora va"""
    ),
)  # fmt: skip
