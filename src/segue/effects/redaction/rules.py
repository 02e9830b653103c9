r"""What secrets look like: one table in RE2's syntax, for texts and raw transcripts alike.

Patterns match the bytes of JSON lines, so each copes with escapes at any depth: white space may be written
``\n`` or ``\\n``, a quote ``\"`` or ``\\\"``. No pattern begins or ends within an escape.

A rule also names how its matches begin: by literals and, where those are too common, by a head, which is the
beginning of its pattern without the parts that make an automaton large. All heads together make an automaton
of some hundred states. All patterns together would need many thousands, which is too many to build in a
process that lives for a second.

The shapes of vendors' keys are in `vendors.py`. The public rule sets of gitleaks, detect-secrets and
trufflehog showed which ones matter; every rule was written from scratch.
"""

from __future__ import annotations

from binascii import b2a_base64

from .vendors import VENDORS

W = r"(?:[ \t\r\n]|\\+[nrt])"
"""White space, plain or escaped."""
U = r"\\+u(?:00[89a-fA-F]|0[1-9a-fA-F][0-9a-fA-F]|[1-9a-fA-F][0-9a-fA-F]{2})[0-9a-fA-F]|\\+/"
"""An escaped character that is not ASCII, or an escaped slash."""
V = rf"(?:[^\x00-\x20\x7f\"'\\,;<>(){{}}\[\]|&`]|{U})"
"""A character of a value without quotes."""
FIRST = rf"(?:[^\x00-\x20\x7f\"'\\`,\]}}:\[{{<$]|{U})"
"""The first character in quotes: never one that can follow a closing quote in JSON or begin a mask."""
Q = r"(?:\\*[\"'`])"
"""A quote of any depth, never the backslashes of an escape that follows."""
WIDE = r"＝|：|\\+u[fF]{2}1[aAdD]"
"""A full-width equals sign or colon, plain or escaped."""

PASSWORDS = r"passcode|passphrase|passw(?:or)?d|pgpass|pwd|psk|[_.-]pass|[_-]pw"
NAMES = (
    rf"{PASSWORDS}|secret|token|private[_-]?key[_-]?id|key[_-]?base|[_-]?key|credentials?|authorization|"
    r"[_.\"-]auth|conn(?:ection)?[_-]?str(?:ing)?|dsn|[?&](?:sig|key|code)|access[_-]?code|bearer|[_-]pat"
)
KEY_OF = tuple(
    b"access account admin aes api app application auth cipher client consumer crypto deploy encrypt "
    b"encryption fernet hmac ingest integration jwt license master priv private root secret security service "
    b"service_role session shared sharedaccess sign signing storage subscription webhook write".split()
)
"""Words that make `key` a telling name. They are matched backwards from `key`, because so many alternatives
would double the size of the automaton."""
SUFFIX = (
    r"(?:[_-]?(?:value|plain|prod|production|staging|stage|dev|test|live|old|new|b64|base64|data|"
    r"[0-9]{1,2}))?"
)
TYPE = rf"(?:{W}{{0,2}}:{W}{{0,2}}&?(?:'static )?[A-Za-z]{{3,9}}(?:{W}\|{W}[A-Za-z]{{4,9}})?{W}{{1,2}})?"
"""A type annotation between a name and its value."""
BLOCK = rf"[|>][+-]?[0-9]?[ ]?(?:\r?\n|(?:\\+r)?\\+n){W}{{0,24}}"
"""How a block of lines begins in YAML."""
TRIPLE = r"(?:\"{3}|(?:\\\"){3}|(?:\\{3}\"){3}|(?:\\{7}\"){3}|'{3})"
"""Three quotes, which begin a text of many lines; in JSON all three have as many backslashes."""
JOINED = (
    rf"(?:{Q}?\]?{TYPE}{W}{{0,4}}(?:=>|[:=]=?|\?=|\|\|=|%3[aAdD]|{WIDE}){W}{{0,4}}"
    rf"(?:{BLOCK}|{TRIPLE}{W}{{0,4}})?|{Q},{W}{{0,8}})"
)
"""What may stand between a name and its value: an assignment, or the next argument."""
VALUE_OF = rf"{Q}?,?{W}{{0,12}}{Q}?value{Q}?{W}{{0,2}}[:=]{W}{{0,2}}"
"""The same where name and value are two fields of one object."""
UNSEEN_CHARS = (
    "\x00-\x07\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Characters that are not seen and break no line, as a set of a pattern: one may stand within a secret."""
UNSEEN_PLAIN = (
    r"(?:[\x00-\x07\x0e-\x1b\x1f\x7f]|\xc2[\x80-\x84\x86-\x9f\xad]|\xcd\x8f|\xd8\x9c|"
    r"\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])|\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])|"
    r"\xe3\x85\xa4|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb9-\xbb])|\xf3\xa0[\x80-\xbf][\x80-\xbf])"
)
"""One of them in UTF-8."""
UNSEEN_ESCAPED = (
    r"u(?:00(?:0[0-7eEfF]|1[0-9abABfF]|7[fF]|8[0-46-9a-fA-F]|9[0-9a-fA-F]|[aA][dD])|034[fF]|061[cC]|115[fF]|1160|"
    r"17[bB][45]|180[b-fB-F]|200[b-fB-F]|202[a-eA-E]|206[0-9a-fA-F]|3164|[fF](?:[eE](?:0[0-9a-fA-F]|[fF][fF])|"
    r"[fF](?:[aA]0|[fF][9abAB]))|[dD][bB]4[0-3]\\+u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""What follows the backslashes of one that is escaped."""
_VARIANT = r"\xb8[\x80-\x8f]"
UNSEEN_HEAD = rf"{UNSEEN_PLAIN}|\\(?:{UNSEEN_ESCAPED}|(?:x1[bB]|033|e)\[)"
UNSEEN_HEAD = UNSEEN_HEAD.replace(_VARIANT, _VARIANT + "[!-~]")
"""How one of them begins, in UTF-8 or escaped, or a colour of a terminal in the text of a program. Variants
are common, since many emoji end in one, and then nothing of a word follows."""


class Rule:
    """One kind of secret. A plain class with slots, because it is the fastest to create at every start."""

    __slots__ = ("before", "check", "head", "kind", "literals", "pattern")

    def __init__(
        self, kind: str, literals: str, pattern: str, head: str = "", check: str = "shape", before: str = ""
    ) -> None:
        self.kind = kind
        self.literals = literals
        """Space-separated, in lower case; every match begins with one of them."""
        self.pattern = pattern
        self.head = head
        """Matches wherever the pattern does, ignoring case. Empty: the literals followed by `RUN`."""
        self.check = check
        """How a match is judged: a key of `_CHECKS` in `scan.py`."""
        self.before = before
        """What must precede the match and belongs to the secret. A pattern begins with something rare,
        because one that can begin anywhere would make every position a candidate."""


RUN = r"[a-z0-9_.~+/=\\-]{6}"
"""What follows the literals of a rule without a head."""


def _shape(kind: str, literals: str, pattern: str, head: str = "", before: str = "") -> Rule:
    for short, chars in (("«a»", "[A-Za-z0-9]"), ("«b»", "[A-Za-z0-9_-]"), ("«h»", "[0-9a-f]")):
        pattern, before = pattern.replace(short, chars), before.replace(short, chars)
    return Rule(kind, literals, pattern, head, "shape", before)


_CRYPT = "[./A-Za-z0-9]"
_CRYPT_HEAD = r"\$(?:apr1|[1567y]|argon2i?d?)\$[./a-z0-9=]+[$,]"
_HASHES = (
    (
        "password-hash",
        "$2a$ $2b$ $2x$ $2y$",
        rf"\$2[abxy]\$[0-9]{{2}}\${_CRYPT}{{53}}",
        r"\$2[abxy]\$[0-9]{2}",
    ),
    ("password-hash", "$apr1$ $1$", rf"\$(?:apr1|1)\${_CRYPT}{{1,8}}\${_CRYPT}{{22}}", _CRYPT_HEAD),
    (
        "password-hash",
        "$5$ $6$",
        rf"\$[56]\$(?:rounds=[0-9]+\$)?{_CRYPT}{{1,16}}\${_CRYPT}{{43,86}}",
        _CRYPT_HEAD,
    ),
    ("password-hash", "$y$ $7$", rf"\$[y7]\${_CRYPT}{{1,16}}\${_CRYPT}{{1,86}}\${_CRYPT}{{43}}", _CRYPT_HEAD),
    (
        "password-hash",
        "$argon2",
        r"\$argon2(?:id?|d)\$(?:v=[0-9]{1,4}\$)?[a-z0-9=,]{1,60}\$[A-Za-z0-9+/]{11,}\$[A-Za-z0-9+/]{27,}",
        _CRYPT_HEAD,
    ),
    ("password-hash", ":::", ":::", ":::", "[0-9a-fA-F]{32}:[0-9a-fA-F]{32}"),
    ("password-hash", "{sha} {ssha}", r"\{S?SHA\}[A-Za-z0-9+/]{27,}={0,2}", r"\{s?sha\}[a-z0-9+/]{8}"),
    (
        "password-hash",
        "pbkdf2_sha",
        r"pbkdf2_sha(?:1|256|512)\$[0-9]+\$«b»+\$[A-Za-z0-9+/]{27,}={0,2}",
        r"pbkdf2_sha[0-9]+\$",
    ),
)

_USER = rf"(?:[^\x00-\x20\x7f\"'\\/:@<>\[\](){{}}`|,;]|{U})"
_PASS = rf"(?:[^\x00-\x20\x7f\"'\\/@<>\[\](){{}}`|]|{U})"
PEM = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

_NAMED_HEAD = (
    rf"(?:{NAMES}){SUFFIX}(?:(?:[ \t\r\n\]\"'`\\]|\\[nrt])*(?:[:=>]|[?|]+=|value|%3[ad]|＝|：|uff1[ad])|"
    r"\\*[\"'`],|,(?:[ \t\r\n\"'`\\]|\\[nrt])*value)"
)
_NAMED = (
    "passw passp passc pwd pgpass psk _pass .pass -pass _pw -pw secret token private key _key -key "
    'credential authorization _auth .auth "auth -auth conn dsn ?sig &sig ?key &key ?code &code access bearer '
    "_pat -pat"
)
_URL_HEAD = rf":\\*/\\*/{_USER}*(?::{_PASS}*)?@"
_OPTION = rf"-[a-z_]*(?:{PASSWORDS}|pass|secret|token|key){W}"

_GAP = rf"(?:{W}{{1,2}}|{W}{{0,2}}\\*{W}{{1,10}}|%20|\+|{W}?{Q}{W}?[+.]?{W}?{Q})"
"""What stands between `Bearer` and its token: a space, also encoded; the end of a line, or of a string."""
_ENCODED_STARTS = (
    "AKIA ASIA ghp_ gho_ ghs_ github_pat_ glpat- sk-ant- sk-proj- sk_live_ xoxb- xoxp- AIza npm_ pypi- "
    "eyJhbGciO"
).split()


def _base64_of(start: str) -> str:
    """How the base64 of a text begins that begins like this."""
    return b2a_base64(start.encode(), newline=False).decode()[: len(start) * 4 // 3]


_ENCODED = [_base64_of(start) for start in _ENCODED_STARTS]
_ENCODED += [_base64_of(start) for start in _ENCODED if len(start) > 4]
"""How the base64 of some keys begins, and the base64 of that."""
_HEX = [start.encode().hex() for start in ("ghp_", "gho_", "ghs_", "sk-", "AKIA")]
"""How the hexadecimal digits of some keys begin: few, because digits are common."""
_DER = (
    r"(?:MII[A-Za-z0-9+/]{3}IBA(?:AKC|DANBgkq)|MHcCAQEE|MI(?:GH|HuA|G2)AgEA|MC4CAQAwBQYDK2V|"
    r"b3BlbnNzaC1rZXktdjE)"
)
"""How a private key begins within a PEM, in base64."""
_SET = rf"set(?:x|env)?{W}(?:[-/][A-Za-z-]{{1,9}}{W}){{0,3}}"
_COOKIE = rf"cookies?{Q}?(?:{W}{{0,2}}[:=]{W}{{0,2}}|{W}){Q}?[A-Za-z0-9_.$%-]{{1,64}}="
_ARGUMENTS = rf"(?:[A-Za-z0-9_.=:/@$-]+{W})"
_ARGUMENT = rf"(?:[A-Za-z0-9_./@:-]+|{Q}{Q}){W}+"
_HTPASSWD = (
    rf"htpasswd{W}+(?:-[a-mo-zA-Z]*b[a-mo-zA-Z]*{W}+(?:[0-9]+{W}+)?{_ARGUMENT}{_ARGUMENT}|"
    rf"-(?:[A-Za-z]*n[A-Za-z]*b|[A-Za-z]*b[A-Za-z]*n)[A-Za-z]*{W}+(?:[0-9]+{W}+)?{_ARGUMENT})"
)
_WORDS = rf"(?:(?:[^\x00-\x20\x7f|;&`\\]|\\+[\"'/u])+{W}+)"
_GIVEN = (
    (
        "ldapsearch ldapmodify ldapadd ldapdelete ldappasswd ldapwhoami ldapcompare ldapmodrdn",
        rf"{_WORDS}{{0,16}}-w{W}",
        rf"ldap[a-z]+{W}+-",
    ),
    (
        "smbclient rpcclient smbget smbmap winexe",
        rf"{_WORDS}{{0,16}}(?:-U|--user)(?:{W}|=)?{Q}?[A-Za-z0-9_.\\-]+%",
        rf"(?:smbclient|rpcclient|smbget|smbmap|winexe){W}",
    ),
    (
        "nmcli",
        rf"{_WORDS}{{0,16}}(?:password|psk|(?:802-11-wireless-security|wifi-sec)\.psk){W}",
        rf"nmcli{W}",
    ),
)
"""Programs that take a password, and what stands between their name and the password."""
_SETTERS = r"set_?(?:password|passphrase|passwd|secret(?:_?key)?|(?:access|auth|api)?_?token|api_?key)"
_ORACLE = (
    rf"(?:jdbc:oracle:(?:thin|oci8?):|(?:sqlplus|expdp|impdp|sqlldr){W}+(?:-[A-Za-z]+{W}+){{0,3}}(?:userid=)?{Q}?)"
    r"[A-Za-z0-9_$#.-]{1,64}\\*/"
)
_PGPASS = r":(?:5[0-9]{3}|6432|[12]5[0-9]{3}|\*):[A-Za-z0-9_*.-]+:[A-Za-z0-9_.@-]+:"
_SEED = r"(?:mnemonic|phrase|seed[ _-]?words?|seed\\*[\"'`]?[ ]?[:=])"

RULES: tuple[Rule, ...] = (
    Rule("private-key", "-----begin", PEM, "-----begin [a-z0-9 ]*private", "pem"),
    Rule("private-key", "-----end", PEM.replace("BEGIN", "END"), "-----end [a-z0-9 ]*private", "pem_end"),
    Rule("private-key", "mii mhcc mig mih mc4c b3blbnnzac", _DER, _DER.replace("A-Za-z", "a-z"), "der"),
    Rule("private-key", "ls0tls1crudjti", r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,}", check="encoded_pem"),
    Rule(
        "encoded-key",
        " ".join(_ENCODED).lower(),
        rf"(?:{'|'.join(_ENCODED)})[A-Za-z0-9+/_-]{{20,}}={{0,2}}",
        check="encoded",
    ),
    Rule(
        "encoded-key",
        " ".join(_HEX),
        rf"(?i:(?:{'|'.join(_HEX)})[0-9a-f]{{32,}})",
        rf"(?:{'|'.join(_HEX)})",
        "hex",
    ),
    Rule("private-key", "private-lines:", r"(?i:private-lines: ?[0-9]{1,3})", "private-lines:", "putty"),
    Rule(
        "private-key",
        "private-mac: private-hash:",
        r"(?i:private-(?:mac|hash): ?([0-9a-f]{40,64}))",
        "private-(?:mac|hash):",
        "spoken",
    ),
    Rule("private-key", "kty", rf"kty{Q}{W}{{0,2}}:{W}{{0,2}}{Q}[A-Za-z]{{2,4}}{Q}", rf"kty{Q}", "jwk"),
    *(_shape(kind, *shape) for kind, _, *shape in VENDORS),
    *(_shape(*shape) for shape in _HASHES),
    Rule(
        "url-password",
        ":",
        rf":\\*/\\*/({_USER}*:{_PASS}{{3,}})@",
        _URL_HEAD,
        "userinfo",
    ),
    Rule("url-password", ":", r":\\*/\\*/([A-Za-z0-9_-]{20,})@", _URL_HEAD, "userinfo"),
    Rule(
        "basic-auth",
        "basic",
        rf"(?i:basic{W}{{1,2}}([A-Za-z0-9+/_-]{{8,}}={{0,2}}))",
        rf"basic{W}{{1,2}}[A-Za-z0-9+/_-]{{8}}",
        "basic",
    ),
    Rule(
        "bearer",
        "bearer",
        rf"(?i:bearer{_GAP}([A-Za-z0-9._~+/-]{{16,}}=*))",
        rf"bearer{_GAP}[A-Za-z0-9._~+/-]{{8}}",
        "spoken",
    ),
    Rule(
        "bearer",
        "authorization",
        rf"(?i:authorization{Q}?{W}?[:=]{W}?{Q}?"
        rf"(?:(?:token|apikey|key|bot|basic|[a-z][a-z0-9-]{{2,24}}){W}{{1,2}}|key=)"
        r"([A-Za-z0-9._~+/=-]{8,}(?::[A-Za-z0-9_-]{20,})?))",
        _NAMED_HEAD,
        "spoken",
    ),
    Rule(
        "basic-auth",
        "-u --user",
        rf"(?:-u|--user)(?:{W}|=){Q}?({_USER}+:{V}{{3,}})",
        rf"-(?:u|-user)(?:{W}|=){Q}?{_USER}+:",
        "curl",
    ),
    Rule(
        "option",
        "mysql",
        rf"mysql[a-z]{{0,6}}{W}(?:[A-Za-z0-9_.=-]+{W}){{0,8}}-p({Q})?({FIRST}{V}{{3}})",
        rf"mysql[a-z]{{0,6}}{W}[A-Za-z0-9_.=-]+",
        "option",
    ),
    Rule(
        "option",
        "sshpass redis-cli",
        rf"(?:sshpass{W}+-p|redis-cli{W}(?:-[hp]{W}[\w.-]+{W})*-a){W}?({Q})?({FIRST}{V}{{3}})",
        r"sshpass|redis-cli",
        "option",
    ),
    Rule(
        "option",
        "login",
        rf"login{W}{_ARGUMENTS}{{0,8}}-p{W}({Q})?({FIRST}{V}{{3}})",
        rf"login{W}{_ARGUMENTS}*-p{W}",
        "option",
    ),
    Rule(
        "option",
        "openssl",
        rf"openssl{W}{_ARGUMENTS}{{0,12}}-[kK]{W}({Q})?({FIRST}{V}{{3}})",
        rf"openssl{W}{_ARGUMENTS}*-k{W}",
        "option",
    ),
    Rule(
        "option",
        "pass:",
        rf"pass:({Q})?({FIRST}{V}{{3}})",
        rf"pass:{V}{{4}}",
        "openssl",
    ),
    *(
        Rule(
            "option",
            names,
            rf"(?:{names.replace(' ', '|')}){W}+{given}({Q})?({FIRST}{V}{{3}})",
            head,
            "option",
        )
        for names, given, head in _GIVEN
    ),
    Rule("option", "::add-mask::", rf"::add-mask::({Q})?({FIRST}{V}{{5}})", "::add-mask::", "option"),
    Rule(
        "option",
        "sudo --password-stdin --pass-stdin --passphrase-fd chpasswd --stdin",
        rf"(?:sudo{W}(?:-[A-Za-z]+{W}){{0,3}}-[A-Za-z]*S\b|--pass(?:word)?-stdin|--passphrase-fd(?:{W}|=)0|chpasswd|"
        r"--stdin)\b",
        rf"(?:sudo{W}(?:-[a-z]+{W})*-[a-z]*s|--pass(?:word)?-stdin|--passphrase-fd|chpasswd|--stdin)",
        "piped",
    ),
    Rule("option", "htpasswd", rf"{_HTPASSWD}({Q})?({FIRST}{V}{{3}})", rf"htpasswd{W}+-", "option"),
    Rule(
        "option",
        "convertto-securestring",
        rf"(?i:convertto-securestring{W}+(?:-string{W}+)?({Q})({FIRST}))",
        "convertto-securestring",
        "option",
    ),
    Rule("option", "set", rf"(?i:{_SETTERS}\(({Q})({FIRST}))", rf"{_SETTERS}\({Q}", "option"),
    Rule(
        "option",
        "storepassword keypassword",
        rf"(?i:(?:store|key)password[ ]+({Q})({FIRST}))",
        rf"(?:store|key)password[ ]+{Q}",
        "option",
    ),
    Rule(
        "url-password",
        "jdbc:oracle: sqlplus expdp impdp sqlldr",
        rf"(?i:{_ORACLE})({_PASS}{{3,}})",
        "jdbc:oracle:|sqlplus|expdp|impdp|sqlldr",
        "oracle",
    ),
    Rule("wifi-password", "wifi:", r"WIFI:(?:[A-Z]:[^;\"\\]*;)*P:([^;\"\\\s]{4,});", "wifi:[a-z]:", "oracle"),
    Rule(
        "private-key",
        "wif privkey",
        rf"(?i:wif|privkey)\)?{Q}?(?:{W}{{0,2}}[:=]{W}{{0,2}}|{W}){Q}?([1-9A-HJ-NP-Za-km-z]{{51,52}})\b",
        rf"(?:wif|privkey)\)?{Q}?(?:{W}*[:=]|{W}{Q}?[5klc9])",
        "spoken",
    ),
    Rule(
        "wallet-key",
        "accounts private",
        rf"(?i:accounts{Q}?{W}{{0,2}}[:=]{W}{{0,2}}\[|private[ ]keys?(?:{W}|[=:-]){{0,40}}\(?0\)?:?{W})",
        rf"(?:accounts{Q}?{W}*[:=]{W}*\[|private[ ]keys?(?:{W}|[=:-])*\(?0)",
        "key_list",
    ),
    Rule(
        "wallet-key",
        "[",
        rf"\[{W}*(?:[0-9]{{1,3}},{W}*)+[0-9]{{1,3}}{W}*\]",
        rf"\[{W}*(?:[0-9]+,{W}*){{6}}",
        "key_bytes",
    ),
    Rule(
        "password-hash",
        ":",
        r":[A-Za-z][A-Za-z0-9 ._-]{0,60}:([0-9a-f]{32})\b",
        r":[a-z][a-z0-9 ._-]*:[0-9a-f]{8}",
        "digest",
    ),
    Rule("assigned", "random_password", "random_password", "random_password", "state"),
    Rule(
        "signature",
        "x-amz-signature x-goog-signature",
        r"(?i:x-(?:amz|goog)-signature(?:=|%3d)([0-9a-f]{64,}))",
        "x-(?:amz|goog)-signature",
        "spoken",
    ),
    Rule(
        "kubernetes-secret",
        "kind",
        rf"kind{Q}?[ ]?:[ ]{{0,2}}{Q}?Secret\b",
        rf"kind{Q}?[ ]?:[ ]*{Q}?secret",
        "kubernetes",
    ),
    Rule("option", "-", rf"(?i:{_OPTION}({Q})?({FIRST}{V}{{5}}))", rf"{_OPTION}{Q}?{FIRST}", "option"),
    Rule(
        "assigned",
        "set",
        rf"(?i:{_SET}([A-Za-z0-9_./:@-]*(?:{NAMES}){SUFFIX}){W}{{1,4}}({Q})?({FIRST}{V}{{5}}))",
        rf"set(?:x|env)?{W}(?:[-/][a-z-]+{W})*(?:(?-i:[A-Z][A-Z0-9_]{{3}})|aws_s|//)",
        "command",
    ),
    Rule(
        "assigned",
        "variable",
        rf"(?i:variable{W}{{1,2}}{Q}([A-Za-z0-9_-]*(?:{NAMES}){SUFFIX}){Q}{W}{{0,4}}\{{[^{{}}]{{0,400}}?"
        rf"{W}default{W}{{0,12}}={W}{{0,4}}({Q})({FIRST}))",
        rf"variable{W}{{1,2}}{Q}",
        "command",
    ),
    Rule(
        "assigned",
        "pass",
        rf"(?i:(pass)({Q}?{W}{{0,4}}(?:=>|[:=]){W}{{0,4}})(?:({Q}){FIRST}|{V}{{20}}))",
        rf"pass{Q}?{W}*(?:=>|[:=]){W}*(?:{Q}{FIRST}|{V}{{8}})",
        "pass",
    ),
    Rule("cookie", "cookie", f"(?i:{_COOKIE})", _COOKIE.replace("{1,64}", "+"), "cookie"),
    Rule("pgpass", ":5 :6432 :1 :2 :*", rf"{_PGPASS}({V}{{3,}})", _PGPASS, "pgpass"),
    Rule("seed-phrase", "mnemonic phrase seed", f"(?i:{_SEED})", _SEED, "seed"),
    Rule(
        "netrc",
        "login",
        rf"login{W}+[A-Za-z0-9][A-Za-z0-9_.@+-]*{W}+password{W}+({V}{{3,}})",
        rf"login{W}+[A-Za-z0-9][A-Za-z0-9_.@+-]*{W}+passw",
        "netrc",
    ),
    Rule(
        "assigned",
        "password> passwd> passphrase> passcode> pwd> pgpass> psk> _pass> .pass> -pass> _pw> -pw> secret> "
        "token> key>",
        rf"(?i:(?:{PASSWORDS}|secret|token|key)>({V}{{6,}})<\\*/)",
        _NAMED_HEAD,
        "element",
    ),
    Rule(
        "assigned",
        _NAMED,
        rf"(?i:({NAMES}){SUFFIX}({VALUE_OF}|{JOINED})(?:(?-i:[bBrRuUL@]{{0,2}})({Q}){FIRST}|{V}{{6}}))",
        _NAMED_HEAD,
        "assigned",
    ),
)
PLACEHOLDER = (
    r"(?i)^[$%*#@~!]*$|^\$|\$[{(]|\{\{|^%\w?$|^%\(|^%\w+%$|<[\w -]*>|\.\.\.|…|\*\*\*|x{4,}|[•●]{3}|"
    r"\[redacted|redacted|^\[|your[_-]|\byour|example|placeholder|change[_-]?(?:me|this|it|in)|dummy|"
    r"replace[_-]?(?:me|with|this)|\bfake|fake[_-]|\bmock|mock[_-]|\bsample|insert[_-]|\btodo\b|lorem|"
    r"foo[_-]?bar|^(?:none|null|true|false|undefined|nil)$|0{8}|12345678|abcdef|deadbeef|qwerty|"
    r"[_-]here\b|not[_-]?a[_-]?(?:real|secret)|^(?:my|the)[_-]|do[_-]?not[_-]?use|"
    r"^(?:u?int|float|big[u]?int)\d+(?:array)?$"
)
"""Values that mark where a secret belongs."""
CLEAR_STAND_IN = r"(?i)x{6,}|\*{3}|\.{3}|example|your[_-]|placeholder|redacted|0{12}"
STAND_IN = CLEAR_STAND_IN + "|1234567890abcdef1234|abcdefghijklmnopqrstuvwxyz"
"""The same for secrets of a known shape, where fewer placeholders need to be recognised; the fewest where
the shape alone is enough."""
MEMBER = r"^[A-Za-z_$@&!*][\w$]*(?:(?:\.|\?\.|::|->|!\.)[A-Za-z_$][\w$]*)+$"
"""An attribute or a path of names: code, if its parts are words."""
ADDRESS = (
    r"^(?:arn:.*|sha\d{1,3}[-:~].*|data:.*|[\w.+-]+://.*|\d{4}-\d\d-\d\d.*|v?\d+(?:\.\d+)+|[-+]\d+|"
    r"[~.]{0,2}/[\w.@~-]+(?:/.*)?|[A-Za-z]:[\\/].*|[\w@.-]+(?:/[\w@.-]+)+\.[a-z][a-z0-9]{0,4}|"
    r"#(?:[0-9A-Fa-f]{3,4}){1,2}|[A-Z]+(?:_[A-Z]+)+|"
    r"[\w/.-]+\.(?:py|js|ts|tsx|jsx|go|rs|json|ya?ml|toml|md|txt|sh|env|pem|html|css|sql|java|rb)(?::\d+(?::.*)?)*)$"
)
"""Paths, addresses, versions, dates, numbers, colours, names of variables and prefixed hashes."""
NO_SECRETS = frozenset(
    "page continuation cursor sync cancel cancellation abort stop eos bos pad unk mask sep cls special "
    "next prev max min num total count input output prompt completion cache cached reasoning thinking "
    "budget text design syntax primary foreign public pub publishable partition sort row hot query object "
    "dict map idempotency dedup translation locale group lookup index registry storage parent child issue "
    "project host key result backward forward starting change".split()
)
"""Words before `key` or `token` that give it another meaning, as in `primary_key`."""
SHORT_WORDS = frozenset(
    "a an as at by db do go id if in io ip is it js me my no of ok on or os pr py so to ts ui up us".split()
)
STAND_INS = (
    r"(?i)(?:(?:my|your|the|some|any|no|not|app|api|db|database|user(?:name)?|users?|admin|root|guest|test(?:ing)?|"
    r"new|old|wrong|bad|good|same|next|current|correct|valid|invalid|secret|token|key|pass(?:w(?:or)?d)?|pwd|pw|"
    r"credentials?|name|login|auth|demo|default|value|field|input|form|param|arg|prop|string|str|text|hash(?:ed)?|"
    r"plain|encrypted|hidden|none|null|nil|empty|unset|here|there|changeme|changeit|letmein|enabled?|disabled?|"
    r"required|optional|always|never|prompt|ask|from|env|file|stdin|vault|postgres|mysql|maria|redis|mongo|rabbit|"
    r"minio|elastic|django|rails|argon|bcrypt|scrypt|pbkdf|python|step|case|option|number|size|length|column|line|"
    r"object|type|local|dev|prod|staging)[-_.]?)+\d{0,4}"
)
"""Words used in place of a password or to speak of one, alone or joined, also with a number."""
