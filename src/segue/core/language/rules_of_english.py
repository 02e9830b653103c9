"""How rules are worded in English."""

from __future__ import annotations

from ..base.lazy import regex
from .rule_forms import END, RuleForms, leading, one_of, words

_LEAD = leading(
    r"(?:and|but|also|pl[aes]{2,5}|pls|plz|then|so|ok|okay|oh|just|however|otherwise|btw|hey|hi|now|next"
    r"|first|second|finally|lastly|additionally|furthermore|moreover|besides|likewise|in addition|again"
    r"|plus|yes|yeah|well|or|nor|in general|generally|in particular|important(?:ly)?|critical|note|reminder"
    r"|rule|hard rule|constraint|seriously|ideally|if possible|where(?:ver)? possible"
    r"|when(?:ever)? possible|when in doubt|by default|to be clear|as always|as usual|claude|codex|gemini"
    r"|copilot|guys|let'?s|(?:can|could|would|will) you(?: please)?(?= (?:always|never|only|stop|avoid|not"
    r"|keep)\b))"
)
_NOT = r"(?:do ?not|don'?t)"
_STATE = one_of(
    "know", "see", "think", "worry", "care", "mind", "understand", "like", "believe", "feel", "hesitate",
    "recall", "get (?:it|why|how|what|the|that|this|me|any|an?)", "have", "remember", "bother", "panic",
    "stop", "give up", "you", "we", "i", "they", "even", "really", "seem", "appear", "exist", "match",
    "wait", "need", "want", "forget", "hold back", "sweat", "say", "apologi[sz]e",
    "be (?:afraid|shy|sorry|silly)", "quite", "always", "actually", "show up", "load", "help", "both",
)  # fmt: skip
"""After "don't", words with which it is no order, or none about the work."""
_TELLS = (
    r"(?:mind|been|be|had|has|have|is|was|were|just|an?|the|seen|saw|got|gets|did|does|works?|before|really"
    r"|once|again|because|and|or|so|knew|came|went|ran|made|happens?|mentioned|used to|in my|on my|in the"
    r"|\w+(?<!emb)(?<!ne)(?<!fe)(?<!se)(?<!spe)ed|\w+[^\Wsui]s)\b"
)
"""After "never" or "always", words with which somebody tells how things are."""
_VERB = one_of(
    "add", "answer", "append", "apply", "ask", "assume", "attach", "avoid", "begin", "build", "bump",
    "call", "capitali[sz]e", "change", "check", "cite", "commit", "communicate", "compile", "confirm",
    "copy", "create", "declare", "delete", "deploy", "describe", "document", "edit", "end", "escape",
    "execute", "explain", "export", "fix", "follow", "format", "generate", "give", "go with", "handle",
    "implement", "import", "include", "increment", "install", "introduce", "keep", "leave", "link", "lint",
    "list", "log", "look", "make", "mark", "mention", "merge", "mock", "modify", "move", "name", "open",
    "output", "pass", "pin", "place", "prefix", "print", "provide", "push", "put", "quote", "read",
    "rebase", "record", "refer", "remove", "rename", "reply", "report", "respond", "return", "reuse",
    "review", "run", "save", "send", "set", "show", "sign", "sort", "speak", "squash", "start", "state",
    "store", "tag", "talk", "target", "tell", "test", "touch", "treat", "type", "update", "use",
    "validate", "verify", "work", "wrap", "write",
)  # fmt: skip
"""Verbs with which people begin orders to an agent."""
_STEP = (
    r"(?:(?:new|single|major|small|finished|completed|code) )*(?:commit|change|step|push|edit|feature|task"
    r"|phase|file|function|module|class|method|release|pr|pull request|merge|session|time|response|answer"
    r"|message|test|(?:bug ?)?fix|iteration|milestone|component|endpoint|migration|refactor(?:ing)?"
    r"|deploy(?:ment)?|reply|turn|section|item|chapter|round|branch|batch|story|ticket|issue|\w+ (?:is"
    r"|are) \w+ed)s?\b"
)
_AT_EVERY = one_of(
    rf"\b(?:before|after|with|on|for|at|in|per|to) (?:every|each|any) {_STEP}",
    r"\b(?:before|after|when(?:ever)?|prior to) (?:you )?(?:commit|push|deploy|merg|releas)(?:t?ing|es?"
    r"|s)?\b",
    r"\b(?:(?:every|each|any) ?time|whenever|wherever) (?:you|we)\b",
    r"\b(?:as (?:you|we) go|at all times|one at a time|every ?time$|each time$)\b",
    r"\buntil (?:i (?:say|tell|ask|approve)|told|further)",
)
"""What makes an order one for every step."""
_HABIT = r"(?:use|write|keep|follow|format|name|prefix|store|return|import|put|wrap|log) (?!our @|@)"
_IN_EVERY = one_of(
    r"\b(?:everywhere|throughout|across the (?:board|code ?base|project))\b",
    r"\b(?:in|for|on) (?:all|any|every|each) (?:the |new |our |of )*(?:files?|code|modules?|commits?|tests?"
    r"|class(?:es)?|functions?|methods?|endpoints?|places|cases|amounts|responses|commands|messages|changes"
    r"|components?|pages?)\b",
    r"\b(?:in|for) (?:the |any |all )?new (?:files?|code|modules?|tests?|classes|functions)\b",
)
"""What makes an order one for every place."""
_TONGUE = (
    r"(?:(?:simple|plain|british|american|us|uk|brazilian|traditional|simplified) )*(?:english|german"
    r"|french|spanish|portuguese|italian|dutch|polish|russian|chinese|japanese|korean|turkish|ukrainian"
    r"|czech|swedish|danish|norwegian|finnish|hungarian|greek|hindi|arabic|hebrew|vietnamese|thai"
    r"|mandarin)\b"
)
_STYLE = (
    r"(?:\d+[- ])?(?:tabs?|spaces?|(?:snake|camel|kebab|pascal)[-_ ]?case|type (?:hints|annotations)"
    r"|docstrings|f-strings|(?:single|double) quotes|semicolons|(?:conventional|semantic|atomic"
    r"|small) commits|emojis?|(?:absolute|relative) imports|(?:descriptive|meaningful|short"
    r"|clear) (?:variable |function )?names|strict mode|(?:named|default) exports|functional components"
    r"|arrow functions|trailing commas|metric units|early returns|guard clauses|async/await|tdd"
    r"|test[- ]driven development)\b"
)
"""What code looks like: an order to use it is about all code."""
_CODE = (
    r"(?:(?:new|public|the|our|your|of|these|unit|api|code|source|python|react|commit|error|log"
    r"|user-facing)[- ])*(?:functions?|methods?|class(?:es)?|modules?|files?|commits?|tests?|code|comments?"
    r"|docs|documentation|docstrings?|variables?|names?|imports?|dependenc(?:y|ies)|changes?|messages?"
    r"|errors?|amounts?|strings?|endpoints?|components?|scripts?|branch(?:es)?|prs?|pull requests"
    r"|migrations?|queries|responses?|answers?|texts?|identifiers|types?|logs?|dates?|times?|timestamps?"
    r"|prices?|inputs?|secrets?|requests?|apis?|ui|output)\b"
)
_CHANGED = (
    r"(?:changed|touched|modified|edited|altered|removed|deleted|renamed|moved|committed|pushed|used|broken"
    r"|added|introduced|updated|rewritten|replaced|logged|stored|exposed|hard-?coded|mocked|skipped"
    r"|duplicated)\b"
)
_NOT_BANNED = (
    r"(?:idea|problems?|worries|worry|luck|doubt|ways?|difference|issues?|errors?|warnings?|output|response"
    r"|results?|success|thanks?|rush|hurry|clue|one|joy|matter|wonder|reason|need|longer|thing|good|chance"
    r"|clear|obvious|real|wait|not|i|you|we|it|the|this|that|that's|it's|there|they|don't|dont|let's|lets"
    r"|just|he|please|do|keep|my|your|what|why|how|sorry|never|still|go|questions?|changes? (?:needed"
    r"|so far)|conflicts?|such|sense|point|big deal|and|but|because|is|are|match(?:es|ing)?|effect|use|data"
    r"|improv\w*|answer|reply|sound|access|connection|internet|paths?|fix(?:es)?|hits|records|rows|entries"
    r"|items|value|values|signal|progress|news|comment|more (?:errors|problems|issues|questions))\b"
)
"""After "no", words with which nothing is forbidden."""
_VERBLESS = (
    r"(?!.{0,120}\b(?:is|are|was|were|has|have|had|does|did|will|would|can|could|found|needed|required"
    r"|expected|exists?|left|needs?|available|seen|shown|see|get|got|gets|happens?|appears?|works?|shows?"
    r"|matter|since|because|to (?!main\b|master\b|prod)\w+(?=\W*$)|to be|when i|given|\w+ed(?=\W*$))\b)"
)
_TROUBLE = (
    r"(?:bugs?|problems?|errors?|issues?|warnings?|regressions?|confli\w+|breach\w*|leaks?|failures?"
    r"|crash\w*)"
)
_TROUBLE = (
    r"(?:bugs?|problems?|errors?|issues?|warnings?|regressions?|confli\w+|breach\w*|leaks?|failures?"
    r"|crash\w*)"
)
_STEADY = (
    r"(?:compatib|unchanged|untouched|intact|stable|as[- ](?:is|it is|they are)|in sync|up[- ]to[- ]date"
    r"|consisten|minimal|simple|short|small|concise|clean\b|separate|free of|dependency[- ]free|green"
    r"|passing|private|readable|brief|to a minimum|under \d|below \d|within|alphabetical|sorted|idiomatic"
    r"|lean|focused|dry\b|pure|working|backward|in (?:the |a )?same|tidy|out of|the (?:public |existing "
    r"|current |same )?(?:api|interface|behaviou?r|signature|format|style|structure|names?))"
)
_OPENS = one_of(
    rf"(?:never|always)(?: ever)? (?!{_TELLS})\S",
    rf"{_NOT}(?: (?:ever|please|just|only|simply|also|blindly))? (?!{_STATE}\b)\w",
    r"(?:avoid(?![^,;]{0,120} by \w+ing\b)|refrain from|abstain from|steer clear of|stay (?:away from"
    r"|out of|clear of|within|inside|in|on)|hands off|keep (?:your )?hands off|keep (?:away|out)) \S",
    r"(?:stop|quit) \w+ing\b",
    r"(?:i |we |i'd |we'd |i would |we would |would )?(?:strongly |really "
    r"|much )?prefer(?:ably)?\b(?! (?:not to have|previous|option|approach|the (?:first|second|third|last"
    r"|latter|former)|[a-d1-9]\b|your|this|that|it\b))",
    r"(?:i'd|i would|we'd) rather (?:not|you|we|have|use|keep|avoid)\b",
    r"(?:stick (?:to|with)|adhere to|conform to|comply with|respect|honou?r) (?!option|approach|[a-d1-9]\b"
    r"|it\b|this\b|that\b|strict)\S",
    r"(?:preserve|maintain) (?:[\w'-]+ ){0,3}?(?:existing|backwards?|compat\w*|consisten\w*|apis?"
    r"|behaviou?rs?|styles?|structure|conventions?|formats?|naming|awareness|coverage|interfaces?"
    r"|signatures?|architecture|invariants?)\b",
    r"follow (?:the |our |my |its )?(?:[\w'/.-]+ ){0,4}(?:conventions?|styles?|guide(?:s|lines?)?|patterns?"
    r"|pep ?8|rules?|standards?|best practices|principles|structure|tdd|semver|naming|architecture|workflow"
    r"|instructions in)\b",
    r"keep (?!going|working|up\b|on\b|at it|trying|reading|it up|track of|digging|iterating"
    rf"|in mind$)(?:[^,;]{{1,60}} )??[\w.-]*{_STEADY}",
    r"(?:keep|bear) in mind\b",
    rf"keep (?:our |the |this |your |all )*(?:chats?|conversation|discussion|repl(?:y|ies)|answers|responses"
    rf"|messages) in {_TONGUE}",
    r"(?:make|be) sure (?:that )?(?:it|this|that|you|we|nothing) (?:does not|doesn't|do not|don't|never"
    r"|will not|won't) (?:break|exceed|violate|block|leak|affect|touch|change|use|go (?:over|beyond))\b",
    r"leave \S.{0,60}?\b(?:alone|untouched|unchanged|as[- ](?:is|it is|they are|they were|it was)"
    r"|out of (?:it|this)|in place|intact)\b",
    r"only (?:ever )?(?:use|do|change|touch|edit|run|modify|work|add|write|commit|push|create|support"
    r"|import|fix|update|delete|include|allow|call|install|target|make changes|answer|respond|reply|rely"
    r"|depend|consider|read|test|deploy|merge|return|log|store|show|display|generate|output|accept|produce"
    r"|render|stop|ask|pause|interrupt)\b",
    r"(?:use|change|touch|edit|modify|import|commit|stage|work|support|update|fix|write|test|run|install"
    r"|add|answer) (?:only|exclusively|solely|nothing (?:but|else|outside|other than))\b",
    r"(?:touch|change|edit|modify|rename|remove|delete|move) nothing (?:in|inside|under|below) \S",
    r"(?:use|change|touch|edit|modify|import|commit|work|support|install|answer) [^,;:]{1,40} (?:only"
    rf"|exclusively|solely)(?: please)?{END}",
    r"nothing (?:else (?:in|from|outside|than|should)|outside|beyond|but) \S",
    r"(?:limit|restrict|confine) (?:yourself|your|the|all|any|changes|edits|it|this|work|them"
    r"|scope)\b.{0,60}\bto\b",
    r"use [^;]{1,60}?(?:, ?not|, ?never|,? (?:and|but) not"
    r"|(?<!is)(?<!are)(?<!was)(?<!does)(?<!do)(?<!did)(?<!if)(?<!or) not| instead of| rather than"
    r"|,? over) (?!just|only|sure)\w",
    rf"use (?:an? |the |only )?{_STYLE}",
    r"instead of [^,;]{1,40},? use\b",
    r"use (?:the )?[\w`./@+-]+(?: [\w`./@+-]+)? for (?:all|any|every) ",
    r"for (?:all|any|every) [\w -]{2,30},? (?:please |always )?use\b",
    rf"(?:{_VERB}|have) [^,;]{{1,80}} always{END}",
    r"(?:we'll|we will|let's|lets) (?:only|always|never|stick (?:to|with)|not (?:use|add|touch|change|mock"
    r"|support))\b",
    rf"{_VERB} (?:.{{0,120}} )??{_AT_EVERY}",
    rf"{_HABIT}(?:.{{0,80}} )??{_IN_EVERY}",
    rf"(?:before|after|on|with|for|at|in) (?:every|each|any) {_STEP}[^,;:]{{0,60}}?[,:]? (?:please |always "
    rf"|also |then |you (?:must|should|need to|have to) )*{_VERB}\b",
    r"(?:whenever|wherever|(?:every|each|any) ?time) (?:you|we)\b[^,;:]{0,80}, (?:please |always |also "
    rf"|then |you (?:must|should|need to|have to) )*{_VERB}\b",
    rf"(?:all|every|each|any) (?:of )?{_CODE}[^,;]{{0,40}}? (?:should|must|shall|needs? to|has to"
    r"|have to)\b",
    r"(?!explain|tell|answer|show|describe|list|read|look|review"
    rf"|check){_VERB} [^;]{{1,150}}? without (?:changing|touching|modifying|altering|breaking|editing"
    r"|affecting|making any (?:other|further|more) changes|any (?:other|new|extra) )",
    r"(?:make (?:very )?sure|ensure|see to it)(?: that)?\b[^,;]{1,60}? (?:stays?|remains?|keeps? (?:working"
    r"|compat)|(?:is|are) (?:never|always)|never|always|every time|each time|whenever|backwards?)\b",
    r"(?:make (?:very )?sure|be (?:very )?(?:sure|certain|careful)|take care|ensure)(?: that)?(?: to| you"
    r"| we)? (?:to )?(?:never|always|not|do not|don't|dont) \w",
    r"be careful (?:not|with|when)\b",
    r"be (?:(?:sure to be|very|extremely|as|more) )*(?:concise|brief|terse|surgical|minimal"
    r"|conservative)\b",
    r"(?:make (?:very )?sure|ensure)(?: that)? (?:(?:all |any |every )?new \w|(?:there (?:is"
    rf"|are) )?no (?!(?:\w+ ){{0,2}}?{_TROUBLE})\S)",
    r"(?:make (?:very )?sure|ensure)(?: that)? [^,;]{1,50}? (?:will|do|does|is|are|get)(?: not"
    rf"|n't)(?: be)? {_CHANGED}",
    r"remember (?:to(?! (?:also|update|add|include|fix|test))|that|not|always|never)\b",
    r"(?:ask|check with|consult|confirm with|check in with|warn|notify) (?:me |us )?(?:first|before"
    r"|for (?:my )?(?:permission|approval)|whenever|if you(?:'re| are)? (?:unsure|not sure|in doubt|need to"
    r"|want to|have to))\b",
    r"(?:get|wait for|obtain) my (?:explicit )?(?:approval|permission|ok|okay|confirmation|consent)\b",
    r"(?:answer|reply|respond|speak|talk|communicate|write(?: me| back| to me)?|explain"
    rf"|comment)\b(?: [\w' -]{{1,40}})?? in {_TONGUE}",
    r"(?:everything|all|any|code|comments?|docs|documentation|docstrings|commit messages?|commits|answers?"
    r"|responses?|replies|messages|names|identifiers|ui|texts?|labels|readme)\b[^,;]{0,50}? (?:must be "
    rf"|should be |have to be |to be |are |is )?in {_TONGUE}",
    r"(?:i|we) (?:(?:really|always|only|never|just|would) )*(?:want|need|expect|would like"
    rf"|require) (?:you to (?:always|never|only|not|stop|avoid|keep|stick)|everything|every|all {_CODE}"
    r"|no\b|zero\b|only\b)",
    r"everything (?:should|must|has to|needs to) be in\b",
    r"(?:i|we) (?:would )?only (?:want|need|support|accept|use)\b",
    rf"(?:i|we)(?: also| really)? (?:{_NOT}|never)(?: ever| really)? want (?!(?:to|that|this|it|them|these"
    rf"|those){END})(?!to (?!see|use|have|add|introduce|rely|depend|break|change|store|support|commit|lose"
    r"|touch|mix))\w",
    rf"we (?:{_NOT}|never|always|only) (?:ever )?(?:use|mock|commit|push|write|add|want|support|ship|allow"
    r"|put|import|store|log|edit|touch|deploy|merge|rely on|depend on|name|prefix|squash|rebase|release"
    r"|run|need (?!to\b|you|it\b|that\b|this\b|the\b|these|those|any of|an?\b))",
    rf"we {_NOT} (?:need|want|have) to (?:support|maintain|keep|preserve|care|stay)\b",
    r"(?:you|we|agents?|everything|everyone) must (?!have (?:been|\w+ed)\b|be (?:an?|joking|kidding|wrong"
    r"|right)\b)\w",
    r"(?:both|the|our|your|its|all|every|each|any|new|no) (?:(?!what|which|that|if|where"
    r"|whether)[^\s,;]+ ){1,6}must (?!have (?:been|\w+ed)\b|be (?:an?|some|because|due|something|\w+ing"
    r"|wrong|missing|related)\b)\w",
)
_NOUN = r"[\w`*./@'\"+#&-]+"
_BANS = one_of(
    rf"(?!only\b)(?:[\w./-]+ ){{1,5}}only(?: please)?{END}",
    rf"(?:zero|no) (?!{_NOT_BANNED})(?!{_VERB} (?:everything|it|this|that|them|the|all|my|your"
    rf"|on)\b){_VERBLESS}"
    + one_of(
        rf"(?:{_NOUN} ){{0,3}}?[\w`-]{{2,}}(?<!ss)(?<!us)(?<!is)s(?:`?(?: {_NOUN}){{0,6}})?{END}",
        r"(?:new|more|extra|additional|external|hard-?coded|magic|direct|third[- ]party"
        rf"|backwards?) {_NOUN}(?: {_NOUN}){{0,5}}{END}",
        rf"(?:{_NOUN} ){{0,2}}?(?:code|logic|markdown|html|css|javascript|typescript|python|prose|text"
        r"|fluff|jargon|emoji|boilerplate|refactoring|mocking|explanation|preamble|nonsense|magic|orm"
        rf"|sql)(?: {_NOUN}){{0,5}}{END}",
        rf"{_NOUN}(?: {_NOUN}){{0,3}}!",
    ),
)
_SAYS = one_of(
    r"\bmust (?:not|never|always|only|stay|remain|keep|continue to)\b",
    r"\bmustn't \w",
    r"\b(?:you|we|agents?) (?:should|shall|may) (?:not|never|always|only|keep|leave|preserve|stick"
    r"|avoid) (?!have\b|be (?:able|surprised))",
    r"\b(?:you|we) shouldn't (?!have\b|be (?:able|surprised|an?)\b)\w",
    r"\b(?:you|we)(?:'re| are) (?:not|never) (?:allowed|permitted|supposed) to\b",
    r"(?<!\bit )(?<!\bthat )(?<!\bthis )\bshould (?:never|always) (?!have\b)\w",
    rf"\b(?:should|shall|may)(?: not|n't| never| only) be {_CHANGED}",
    rf"\b(?:from now on|henceforth|from here on|from this point on|going forward(?={END}))",
    r"\bin (?:the )?future,? (?:please|always|never|do|don't|use|make|ask|when|you (?:should|must))\b",
    r"\b(?:off[- ]limits|are (?:strictly )?(?:forbidden|prohibited|mandatory|taboo)|(?:is"
    r"|are) strictly (?:forbidden|prohibited)|\w+ing [^,;]{0,40}\bis (?:forbidden|prohibited|not allowed"
    r"|mandatory))\b",
    r"\b(?:under no circumstances|at no point|at all times|no matter what|without exception|(?:is"
    r"|are) non[- ]negotiable)\b",
    r"\b(?:it is|it's|its) (?:very |really |absolutely )?(?:important|crucial|essential|critical|vital"
    r"|forbidden|imperative) (?:to|that|we|you)\b",
    r"\b(?:stays?|(?:must|should|shall|has to|have to) (?:stay|remain)) (?:untouched|unchanged|as[- ](?:is"
    r"|it is|they are)|the same|read-only|compatible)\b",
)
_WORK_ON = (
    r"(?:implement|act|code|change|edit|write|make|modify|build|fix|do|start|begin|execute|run|create"
    r"|generate|apply|touch|delete|update)"
)
_PASSES = one_of(
    r"\b(?:yet|for now|right now|at the moment|for the moment|this time|at this point|just now|this once"
    r"|immediately)\b",
    rf"\b(?:{_NOT}|never|not) (?:\w+ ){{0,2}}?{_WORK_ON}(?:{END}| (?:just|only|but|first|until|unless|here"
    r"|again)\b)",
    rf"\b(?:{_NOT}|never|not) (?:\w+ ){{0,2}}?{_WORK_ON} (?:anything|any code|code|any changes?|changes"
    rf"|any files?|files|any edits|the code|it|this|that|any of (?:it|this|that))(?:{END}| (?:just|only|but"
    r"|first|before|until|unless|and|or|besides|except|here|again|at all)\b)",
    rf"\b(?:{_NOT}|not) [^,;]{{1,50}} now{END}",
    r"\b(?:it|that|this|which|message|error|docs?|log|page|he|she|they) (?:says?|said|complains?|claims?)\b",
    r"\b(?:they|the user) (?:mentioned|asked|wants?|is asking)\b",
    rf"\b(?:{_NOT}|not) (?:start|begin|move|go|continue) (?:on|with|to)\b(?!.{{0,120}}\buntil\b)",
    r"\b(?:perhaps|maybe|i (?:think|thought|guess|wonder|suppose|assume|believe)|not sure|might"
    r"|i'm guessing|would be (?:nice|good|cool|great)|if we|so(?: that)? (?:we|you|it|i) |seems?"
    r"|looks? like|probably|was wondering|what if|suppose)\b",
)
ENGLISH = RuleForms(
    lead=regex(_LEAD),
    opens=regex(_OPENS),
    bans=regex(_BANS),
    says=regex(_SAYS),
    passes=regex(_PASSES),
    asks=regex(
        r"(?:(?:and|but|also|so|ok|okay|well|hmm|oh|yeah|then)[,. ]+)*(?:is|are|was|were|can|could|would"
        r"|does|did|do (?:you|we|i)|should (?:we|i)|shouldn't|how|what|whats|what's|why|which|who)\b"
    ),
    allows=regex(
        one_of(
            r"\b(?:(?:you|we) (?:may|are allowed to|'re allowed to|can now)|you (?:can|are free to"
            r"|have my (?:ok|permission|approval) to)) (?:now |also |still |again |safely "
            r"|go ahead and )*(?!want|need|have|see|tell|find|notice|imagine|be\b|check|look|read|test|try"
            r"|observe|think|get|assume|guess|also\b|not\b|never\b|only\b)\w",
            r"\b(?:is|are|it's|that's|be) (?:now |also |totally |perfectly |absolutely )*(?:fine|ok|okay"
            r"|allowed|permitted|acceptable)\b",
            r"\bfeel free to\b|\bi don't mind (?:if you|you)\b|\bgo ahead and\b|\bno longer off[- ]limits\b"
            r"|\bi(?:'ll| will)? allow\b|\bno objections? to\b|\bmakes an exception\b|\ban exception for\b",
        )
    ),
    saying=words(
        """must mustn should shouldn shall may can now henceforth here point forward future limits forbidden
        prohibited allowed mandatory taboo circumstances times matter exception negotiable important
        crucial essential critical vital imperative stay stays remain remains permitted supposed"""
    ),
    foreign_words=words(
        """les une est sont nous vous des du au avec dans el los las que por te se hay mi il che nie en het
        een der und não nao très deux"""
    ),
    foreign=regex(r"[à-öø-ÿ].*\b(?:dont|no)\b|\b(?:dont|no)\b.*[à-öø-ÿ\u3040-\u30ff\u4e00-\u9fff]"),
    marks=words(
        """never always not don dont donot without must mustn shall should shouldn only prefer preferably
        avoid refrain remember ensure stop quit no keep leave use stick adhere respect preserve maintain
        honor honour follow every each all any whenever everything everywhere throughout wherever zero
        nothing limit restrict confine sure certain careful care ask check consult confirm warn notify
        approval permission confirmation want need expect like rather forward henceforth future now off
        limits forbidden prohibited allowed mandatory circumstances important crucial essential critical
        vital imperative hands stay stays remain remains mind bear comply conform english german french
        spanish portuguese italian dutch polish russian chinese japanese korean turkish ukrainian go time
        may matter exception negotiable abstain steer default committing pushing commit push can fine ok
        okay feel allow permitted acceptable free"""
    ),
)  # fmt: skip
