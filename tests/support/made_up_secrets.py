"""Made-up secrets of every kind, and the places where they turn up. Seeded: a failure can be repeated.

Prefixes stand apart from what follows, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
LOWER = string.ascii_lowercase + string.digits
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Made(NamedTuple):
    kind: str
    text: str
    """As it is written somewhere: the secret alone, or with what tells that it is one."""
    secrets: tuple[str, ...]
    """What must not be left."""


def _chars(rng: random.Random, chars: str, n: int) -> str:
    """Random, and like every real one with a digit and both cases where there are any."""
    while True:
        made = "".join(rng.choices(chars, k=n))
        digit = any(c.isdigit() for c in made) or not any(c.isdigit() for c in chars)
        if n < 8 or (digit and made[0] not in "-_+/" and made[-1] not in "-_+/"):
            return made


def _jwt(rng: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head, body = {"alg": "HS256", "typ": "JWT"}, {"sub": str(rng.randrange(10**9)), "iat": 1_700_000_000}
    return f"{part(head)}.{part(body)}.{_chars(rng, URLSAFE, 43)}"


def _uuid(rng: random.Random) -> str:
    return "-".join(_chars(rng, HEX, n) for n in (8, 4, 4, 4, 12))


def _discord_of_today(rng: random.Random) -> str:
    return f"M{_chars(rng, ALNUM, 25)}.{_chars(rng, URLSAFE, 6)}.{_chars(rng, URLSAFE, 38)}"


def _discord(rng: random.Random) -> str:
    user = base64.b64encode(str(rng.randrange(10**17, 10**18)).encode()).decode()
    return f"{user}.{_chars(rng, URLSAFE, 6)}.{_chars(rng, URLSAFE, 38)}"


# Prefix, alphabet, length: the whole of it is the secret.
_PLAIN: dict[str, tuple[str, str, int]] = {
    "aws-key": ("AKIA", UPPER, 16),
    "aws-session-key": ("ASIA", UPPER, 16),
    "github-token": ("ghp_", ALNUM, 36),
    "github-oauth": ("gho_", ALNUM, 36),
    "github-app": ("ghs_", ALNUM, 36),
    "github-fine-grained": ("github_pat_", ALNUM + "_", 82),
    "gitlab-token": ("glpat-", URLSAFE, 20),
    "gitlab-deploy": ("gldt-", URLSAFE, 20),
    "anthropic-key": ("sk-ant-" + "api03-", URLSAFE, 95),
    "openai-key": ("sk-", ALNUM, 48),
    "openai-project-key": ("sk-proj-", URLSAFE, 156),
    "openrouter-key": ("sk-or-" + "v1-", HEX, 64),
    "google-key": ("AIza", URLSAFE, 35),
    "google-client-secret": ("GOCSPX-", URLSAFE, 28),
    "google-access-token": ("ya29.", URLSAFE, 120),
    "slack-bot": ("xoxb-" + "123456789012-", ALNUM, 24),
    "slack-user": ("xoxp-" + "123456789012-123456789012-123456789012-", HEX, 32),
    "stripe-live": ("sk_" + "live_", ALNUM, 24),
    "stripe-restricted": ("rk_" + "live_", ALNUM, 24),
    "stripe-webhook": ("whsec_", ALNUM, 32),
    "twilio-key": ("SK", HEX, 32),
    "npm-token": ("npm_", ALNUM, 36),
    "pypi-token": ("pypi-" + "AgEIcHlwaS5vcmc", URLSAFE, 120),
    "huggingface-token": ("hf_", string.ascii_letters, 34),
    "digitalocean-token": ("dop_" + "v1_", HEX, 64),
    "heroku-token": ("HRKU-AA", URLSAFE, 58),
    "shopify-token": ("shpat_", HEX, 32),
    "databricks-token": ("dapi", HEX, 32),
    "doppler-token": ("dp.pt.", ALNUM, 43),
    "vault-token": ("hvs.", URLSAFE, 90),
    "linear-key": ("lin_" + "api_", ALNUM, 40),
    "notion-token": ("ntn_", ALNUM, 46),
    "newrelic-key": ("NRAK-", UPPER, 27),
    "perplexity-key": ("pplx-", ALNUM, 48),
    "groq-key": ("gsk_", ALNUM, 52),
    "xai-key": ("xai-", ALNUM, 80),
    "replicate-token": ("r8_", ALNUM, 37),
    "planetscale-password": ("pscale_" + "pw_", URLSAFE, 43),
    "pulumi-token": ("pul-", HEX, 40),
    "rubygems-key": ("rubygems_", HEX, 48),
    "sentry-token": ("sntryu_", HEX, 64),
    "square-token": ("sq0atp-", URLSAFE, 22),
    "mailgun-key": ("key-", HEX, 32),
    "age-key": ("AGE-SECRET-" + "KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "atlassian-token": ("ATATT3", URLSAFE, 186),
    "figma-token": ("figd_", URLSAFE, 40),
    "supabase-key": ("sbp_", HEX, 40),
    "docker-token": ("dckr_" + "pat_", URLSAFE, 27),
    "tailscale-key": ("tskey-" + "auth-kABCDE1CNTRL-", ALNUM, 32),
    "grafana-token": ("glc_", ALNUM, 60),
    "alibaba-key": ("LTAI", ALNUM, 20),
    "razorpay-key": ("rzp_" + "live_", ALNUM, 14),
    "neon-key": ("napi_", LOWER, 64),
    "posthog-key": ("phx_", ALNUM, 43),
    "brevo-key": ("xkeysib-", HEX, 64),
    "age-key-of-today": ("AGE-SECRET-" + "KEY-PQ-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "sonar-token": ("sqp_", HEX, 40),
    "together-key": ("tgp_" + "v1_", URLSAFE, 43),
    "jina-key": ("jina_", ALNUM, 60),
    "firecrawl-key": ("fc-", HEX, 32),
    "e2b-key": ("e2b_", HEX, 40),
    "render-key": ("rnd_", ALNUM, 28),
    "flutterwave-key": ("FLWSECK-", HEX, 32),
    "braintree-token": ("access_token$production$a1b2c3d4e5f6g7h8$", HEX, 32),
    "shippo-token": ("shippo_" + "live_", HEX, 40),
    "elevenlabs-key": ("sk_", HEX, 48),
    "cloudflare-token": ("cfut_", ALNUM, 48),
    "vercel-token": ("vcp_", ALNUM, 56),
    "gemini-key": ("AQ." + "Ab8R", URLSAFE, 46),
    "hubspot-token": ("pat-eu1-", "uuid", 0),
    "launchdarkly-key": ("sdk-", "uuid", 0),
    "plaid-token": ("access-sandbox-", "uuid", 0),
    "nuget-key": ("oy2", LOWER, 43),
    "mapbox-token": ("sk." + "eyJ1Ijoic2hvcCIsImEiOiJjbTEyMzQ1Njc4OTAxMjM0In0.", ALNUM, 22),
    "bip32-key": ("xprv" + "9s21ZrQH143K", BASE58, 95),
    "trello-token": ("ATTA", HEX, 64),
}
_SIGNS = {"anthropic-key": (93, "AA"), "openai-key": (20, "T3BlbkFJ"), "openai-project-key": (74, "T3BlbkFJ")}
"""What every key of a kind has at one place after its prefix."""


def _value(rng: random.Random, chars: str, n: int) -> str:
    return _uuid(rng) if chars.startswith("uuid") else _chars(rng, chars, n)


_ENDS = {"brevo-key": "-Zk8hQ2vR1p7LmXwD", "flutterwave-key": "-X", "trello-token": "1A2B3C4D"}
"""What every key of a kind ends in here."""


def _plain(rng: random.Random, kind: str) -> str:
    prefix, chars, n = _PLAIN[kind]
    body = _value(rng, chars, n) + _ENDS.get(kind, "")
    at, sign = _SIGNS.get(kind, (0, ""))
    return prefix + body[:at] + sign + body[at + len(sign) :]


_SPECIAL: dict[str, Callable[[random.Random], str]] = {
    "jwt": _jwt,
    "discord-token": _discord,
    "discord-token-of-today": _discord_of_today,
    "telegram-token": lambda rng: f"{rng.randrange(10**9, 10**10)}:AA{_chars(rng, URLSAFE, 33)}",
    "sendgrid-key": lambda rng: f"SG.{_chars(rng, URLSAFE, 22)}.{_chars(rng, URLSAFE, 43)}",
    "resend-key": lambda rng: f"re_{_chars(rng, ALNUM, 8)}_{_chars(rng, ALNUM, 24)}",
    "blob-token": lambda rng: f"vercel_blob_rw_{_chars(rng, ALNUM, 16)}_{_chars(rng, ALNUM, 30)}",
    "newrelic-license": lambda rng: f"{_chars(rng, HEX, 36)}NRAL",
    "zapier-webhook": lambda rng: (
        f"https://hooks.zapier.com/hooks/catch/{rng.randrange(10**6, 10**7)}/{_chars(rng, LOWER, 7)}/"
    ),
    "google-code": lambda rng: f"4/0A{_chars(rng, URLSAFE, 70)}",
    "messaging-key": lambda rng: f"AAAA{_chars(rng, ALNUM, 7)}:APA91b{_chars(rng, URLSAFE, 134)}",
    "github-app-of-today": lambda rng: f"ghs_{rng.randrange(10**5, 10**6)}_{_jwt(rng)}",
    "mailchimp-key": lambda rng: f"{_chars(rng, HEX, 32)}-us{rng.randrange(1, 22)}",
    "postman-key": lambda rng: f"PMAK-{_chars(rng, HEX, 24)}-{_chars(rng, HEX, 34)}",
    "airtable-token": lambda rng: f"pat{_chars(rng, ALNUM, 14)}.{_chars(rng, HEX, 64)}",
    "terraform-token": lambda rng: f"{_chars(rng, ALNUM, 14)}.atlasv1.{_chars(rng, URLSAFE, 67)}",
    "azure-client-secret": lambda rng: f"{_chars(rng, ALNUM, 3)}8Q~{_chars(rng, ALNUM + '_~.-', 34)}",
    "slack-webhook": lambda rng: (
        f"https://hooks.slack.com/services/T{_chars(rng, UPPER, 8)}/"
        f"B{_chars(rng, UPPER, 8)}/{_chars(rng, ALNUM, 24)}"
    ),
}


# A template and an alphabet with a length: only what is put into the template is the secret.
_TOLD: dict[str, tuple[str, str, int]] = {
    "aws-secret": ("aws_secret_access_key = {}", BASE64, 40),
    "aws-secret-env": ("AWS_SECRET_ACCESS_KEY={}", BASE64, 40),
    "aws-session-token": ("AWS_SESSION_TOKEN={}", BASE64, 300),
    "azure-connection": ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={}==;", BASE64, 86),
    "azure-servicebus": ("Endpoint=sb://x.servicebus.windows.net/;SharedAccessKey={}=", BASE64, 43),
    "json-password": ('"password": "{}"', ALNUM + "!#%+", 14),
    "json-api-key": ('{{"user":"ann","api_key":"{}","n":1}}', ALNUM, 32),
    "python-keyword": ("connect(user='ann', password='{}')", ALNUM, 12),
    "env-password": ("DB_PASSWORD={}", ALNUM + "!#%+", 16),
    "env-export": ("export STRIPE_SECRET='{}'", ALNUM, 24),
    "yaml-password": ("  password: {}", ALNUM, 12),
    "yaml-quoted": ('  client_secret: "{}"', URLSAFE, 40),
    "typed-constant": ('const apiToken: string = "{}";', ALNUM, 32),
    "go-assignment": ('token := "{}"', ALNUM, 40),
    "ruby-hash": (":secret_key => '{}'", HEX, 64),
    "heroku-uuid": ("HEROKU_API_KEY={}", "uuid", 0),
    "option-token": ("deploy --token {} --now", ALNUM, 32),
    "option-password": ("mongodump --password '{}' -d shop", ALNUM + "!#%", 14),
    "option-equals": ("run --api-key={}", ALNUM, 32),
    "argument-list": ('["gh", "--token", "{}"]', ALNUM, 40),
    "mysql-option": ("mysql -h db -u root -p{} shop", ALNUM, 12),
    "sshpass": ("sshpass -p {} ssh root@10.0.0.1", ALNUM, 12),
    "bearer-header": ("Authorization: Bearer {}", URLSAFE, 40),
    "token-header": ("Authorization: token {}", HEX, 40),
    "key-header": ("X-Api-Key: {}", ALNUM, 32),
    "curl-user": ("curl -u ann:{} https://shop.test/", ALNUM, 14),
    "url-password": ("https://ann:{}@git.shop.test/x.git", ALNUM, 20),
    "postgres-url": ("postgresql://ann:{}@db:5432/shop", ALNUM, 16),
    "mysql-url": ("mysql+pymysql://ann:{}@db/shop", ALNUM, 16),
    "mongodb-url": ("mongodb+srv://ann:{}@c0.mongodb.net/shop", ALNUM, 16),
    "redis-url": ("redis://:{}@cache:6379/0", ALNUM, 24),
    "amqp-url": ("amqp://ann:{}@mq:5672/", ALNUM, 16),
    "jdbc-url": ("jdbc:postgresql://db/shop?user=ann&password={}&ssl=true", ALNUM, 16),
    "ado-connection": ("Server=db;User Id=ann;Password={};Encrypt=yes", ALNUM, 16),
    "query-token": ("https://shop.test/feed?access_token={}&page=2", ALNUM, 32),
    "netrc": ("machine git.shop.test login ann password {}", ALNUM, 12),
    "npmrc": ("//registry.npmjs.org/:_authToken={}", "uuid-like", 36),
    "xml-element": ("<server><password>{}</password></server>", ALNUM, 12),
    "name-and-value": ('{{"name":"SHOP_API_TOKEN","value":"{}"}}', ALNUM, 32),
    "kubernetes-env": ("- name: DB_PASSWORD\n  value: {}", ALNUM, 16),
    "environ-item": ('os.environ["SHOP_API_KEY"] = "{}"', ALNUM, 32),
    "environ-default": ('os.getenv("SHOP_API_KEY", "{}")', ALNUM, 32),
    "django-key": ("SECRET_KEY = 'dj-{}'", ALNUM + "!@#%^*-_=+", 50),
    "rails-key-base": ("secret_key_base: {}", HEX, 128),
    "basic-header-of-bytes": ("Authorization: Basic {}", BASE64, 32),
    "scheme-header": ("Authorization: SSWS {}", URLSAFE, 42),
    "bearer-on-the-next-line": ("curl -H 'Authorization: Bearer \\\n  {}' x.test", URLSAFE, 40),
    "bearer-in-two-strings": ("'Authorization: Bearer ' + '{}'", URLSAFE, 40),
    "bearer-in-a-url": ("https://shop.test/?h=Bearer%20{}", URLSAFE, 40),
    "bearer-in-a-form": ("header=Authorization%3A+Bearer+{}", URLSAFE, 40),
    "cookie": ("Cookie: theme=dark; sessionid={}; lang=en", ALNUM, 32),
    "set-cookie": ("Set-Cookie: connect.sid=s%3A{}; Path=/; HttpOnly", ALNUM, 32),
    "json-cookie": ('{{"Cookie": "sid={}; a=b"}}', ALNUM, 26),
    "curl-cookie": ("curl --cookie 'PHPSESSID={}' x.test", ALNUM, 26),
    "kubeconfig-key": ("    client-key-data: {}", BASE64, 600),
    "kubeconfig-token": ("- name: ann\n  user:\n    token: {}", ALNUM, 60),
    "pgpass": ("db.shop.test:5432:shop:ann:{}", ALNUM + "!#%", 14),
    "pgpass-any": ("*:*:*:postgres:{}", ALNUM, 14),
    "htpasswd-bcrypt": ("ann:$2y$10${}", ALNUM + "./", 53),
    "htpasswd-apr1": ("ann:$apr1$9Qf3xK2a${}", ALNUM + "./", 22),
    "htpasswd-sha": ("ann:{{SHA}}{}=", BASE64, 27),
    "shadow": ("ann:$6$Zk8hQ2vR${}:19000:0:99999:7:::", ALNUM + "./", 86),
    "argon2": ("$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQxMg${}", BASE64, 43),
    "django-hash": ("pbkdf2_sha256$600000$Zk8hQ2vRp1Lm${}=", BASE64, 43),
    "fish": ("set -x OPENAI_API_KEY {}", ALNUM, 40),
    "fish-universal": ("set -Ux DB_PASSWORD {}", ALNUM, 14),
    "setx": ("setx STRIPE_SECRET {}", ALNUM, 32),
    "setx-machine": ('setx /M GITHUB_TOKEN "{}"', ALNUM, 40),
    "csh": ("setenv DB_PASSWORD {}", ALNUM, 14),
    "aws-configure": ("aws configure set aws_secret_access_key {}", BASE64, 40),
    "npm-config": ("npm config set //npm.shop.test/:_authToken {}", ALNUM, 36),
    "terraform-variable": (
        'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}',
        ALNUM,
        16,
    ),
    "full-width-equals": ("password＝{}", ALNUM, 14),
    "full-width-colon": ("token：{}", ALNUM, 32),
    "encoded-equals": ("q=1%26password%3D{}", ALNUM, 16),
    "amazon-signature": ("https://b.s3.test/k?X-Amz-Expires=300&X-Amz-Signature={}", HEX, 64),
    "oracle-url": ("jdbc:oracle:thin:scott/{}@//db:1521/x", ALNUM, 14),
    "sqlplus": ("sqlplus -s system/{}@orcl", ALNUM, 14),
    "docker-login": ("docker login -u me -p {} registry.shop.test", ALNUM, 20),
    "openssl-key": ("openssl enc -aes-256-cbc -k {} -in x", ALNUM, 20),
    "openssl-passin": ("openssl rsa -in k.pem -passin pass:{}", ALNUM, 16),
    "htpasswd-option": ("htpasswd -bc users.txt ann {}", ALNUM, 16),
    "htpasswd-printed": ("htpasswd -nbB ann {}", ALNUM, 16),
    "kubernetes-secret": (
        "apiVersion: v1\nkind: Secret\ndata:\n  db: {}\n  url: {}\ntype: Opaque",
        BASE64,
        32,
    ),
    "kubernetes-secret-sorted": ("apiVersion: v1\ndata:\n  db: {}\nkind: Secret", BASE64, 32),
    "kubernetes-secret-json": (
        '{{\n  "data": {{\n    "db": "{}",\n    "url": "{}"\n  }},\n  "kind": "Secret"\n}}',
        BASE64,
        32,
    ),
    "gradle-store": ('storePassword "{}"', ALNUM, 16),
    "php-constant": ("define( 'DB_PASSWORD', '{}' );", ALNUM, 14),
    "shell-line-continued": ("TOKEN=ghp_Zk3JQ0m9xw1r6TtUu5\\\n{}", ALNUM, 18),
    "putty-key": (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 2\n{0}\n{0}\nPrivate-MAC: 7f",
        BASE64,
        64,
    ),
    "putty-mac": ("Private-MAC: {}", HEX, 64),
    "jwk-private": ('{{"kty":"RSA","n":"abc","e":"AQAB","d":"{}"}}', URLSAFE, 86),
    "jwk-type-last": (
        '{{"crv":"P-256", "d": "{}", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV7", "kty": "EC"}}',
        URLSAFE,
        43,
    ),
    "jwk-symmetric": ('{{"kty":"oct","k":"{}"}}', URLSAFE, 43),
    "wifi-code": ("WIFI:T:WPA;S:net;P:{};;", ALNUM, 14),
    "wpa-supplicant": ('psk="{}"', ALNUM, 14),
    "bitcoin-key": ("wif: 5{}", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 50),
    "yaml-block": ("password: |\n  {}\n", ALNUM, 21),
    "yaml-folded": ("  api_key: >-\n    {}\n", ALNUM, 40),
    "toml-lines": ('token = """\n{}"""', ALNUM, 40),
    "powershell-secure-string": ('ConvertTo-SecureString "{}" -AsPlainText -Force', ALNUM, 18),
    "python-bytes": ("{{'user': b'ann', 'password': b'{}'}}", ALNUM, 15),
    "vault-header": ("X-Vault-Token: s.{}", ALNUM, 24),
    "vault-variable": ("VAULT_TOKEN=s.{}", ALNUM, 24),
    "datadog-header": ("DD-APPLICATION-KEY: {}", HEX, 40),
    "datadog-variable": ("DD_APPLICATION_KEY={}", HEX, 40),
    "codecov-token": ("CODECOV_TOKEN={}", "uuid", 0),
    "snyk-token": ('export SNYK_TOKEN="{}"', "uuid", 0),
    "postmark-header": ("X-Postmark-Server-Token: {}", "uuid", 0),
    "personal-access-token": ("export AZURE_DEVOPS_EXT_PAT={}", LOWER, 52),
    "key-of-authorization": ("Authorization: key={}", ALNUM, 40),
    "key-in-a-url": ("https://api.shop.test/v1?key={}&page=2", ALNUM, 32),
    "code-in-a-url": ("GET /callback?code={}&state=x1", ALNUM, 32),
    "rclone": ("[remote]\ntype = sftp\npass = {}\n", URLSAFE, 30),
    "mailer": ("auth: {{ user: 'ann', pass: '{}' }}", ALNUM, 14),
    "ldapsearch": ("ldapsearch -x -D 'cn=admin,dc=shop' -w {} -b dc=shop", ALNUM, 12),
    "smbclient": ("smbclient //files/share -U ann%{}", ALNUM, 12),
    "echoed-to-sudo": ("echo {} | sudo -S apt-get update", ALNUM, 12),
    "echoed-to-docker": ('echo "{}" | docker login -u ann --password-stdin shop.test', ALNUM, 14),
    "handed-to-docker": ("docker login -u ann --password-stdin <<< '{}'", ALNUM, 14),
    "echoed-to-chpasswd": ("echo 'root:{}' | chpasswd", ALNUM, 12),
    "nmcli": ('nmcli device wifi connect "Our Net" password {}', ALNUM, 12),
    "cmdkey": ("cmdkey /add:files /user:ann /pass:{}", ALNUM, 12),
    "mask-of-actions": ('echo "::add-mask::{}"', ALNUM, 14),
    "importprivkey": ("bitcoin-cli importprivkey 5J{}", BASE58, 49),
    "hardhat-accounts": ('accounts: [\n  "0x{}",\n  "0x{}",\n]', HEX, 64),
    "anvil-keys": ("Private Keys\n==================\n\n(0) 0x{}\n(1) 0x{}\n", HEX, 64),
    "ntlm-dump": ("Administrator:500:aad3b435b51404eeaad3b435b51404ee:{}:::", HEX, 32),
    "htdigest": ("ann:Private Area:{}", HEX, 32),
    "terraform-state": (
        '{{"type": "random_password", "instances": [{{"attributes": {{"length": 16, "result": "{}"}}}}]}}',
        ALNUM,
        16,
    ),
    "java-setter": ('config.setPassword("{}");', ALNUM, 15),
}


def _key_block(rng: random.Random, what: str) -> Made:
    lines = [_chars(rng, BASE64, 64) for _ in range(8)] + [_chars(rng, BASE64, 30) + "=="]
    fence = ("-----BEGIN " + what + "-----", "-----END " + what + "-----")
    return Made(what, "\n".join((fence[0], *lines, fence[1])), tuple(lines))


def _service_account(rng: random.Random) -> Made:
    block = _key_block(rng, "PRIVATE KEY")
    key_id = _chars(rng, HEX, 40)
    value = {"type": "service_account", "private_key_id": key_id, "private_key": block.text + "\n"}
    return Made("gcp-service-account", json.dumps(value), (*block.secrets, key_id))


def _encoded_pem(rng: random.Random) -> Made:
    coded = base64.b64encode(_key_block(rng, "RSA PRIVATE KEY").text.encode()).decode()
    return Made("base64-of-a-pem", f"key: {coded}", (coded[60:],))


def _wrapped_pem(rng: random.Random) -> Made:
    coded = base64.encodebytes(_key_block(rng, "RSA PRIVATE KEY").text.encode()).decode().strip()
    return Made("base64-of-a-pem-in-lines", coded, tuple(coded.split("\n")))


def _encoded_keys(rng: random.Random) -> Iterator[Made]:
    pair = f"AKIA{_chars(rng, UPPER, 16)}:{_chars(rng, BASE64, 40)}"
    for kind, key in {"aws-pair": pair, "github": "ghp_" + _chars(rng, ALNUM, 36)}.items():
        coded = base64.b64encode(key.encode()).decode()
        yield Made(f"base64-of-{kind}", f"data: {coded}", (coded,))
        twice = base64.b64encode(coded.encode()).decode()
        yield Made(f"base64-twice-of-{kind}", f"echo {twice} | base64 -d", (twice,))
        yield Made(f"hex-of-{kind}", f"xxd: {key.encode().hex()}", (key.encode().hex(),))


def _pem_without_begin(rng: random.Random) -> Made:
    lines = _key_block(rng, "RSA PRIVATE KEY").text.split("\n")[1:]
    return Made("pem-without-begin", "\n".join(lines), tuple(lines[:-1]))


def _pem_without_fences(rng: random.Random) -> Made:
    lines = [_chars(rng, BASE64, 64) for _ in range(8)]
    lines[0] = "MIIEowIBAAKCAQEA" + lines[0][16:]
    return Made("pem-without-fences", "\n".join(lines), (lines[0][16:], *lines[1:]))


def _seed_phrases(rng: random.Random) -> Iterator[Made]:
    words = (
        "legal winner thank year wave sausage worth useful dragon pistol ocean filter hazard vivid".split()
    )
    for count, template in ((12, "mnemonic: {}"), (12, 'SEED_PHRASE="{}"'), (24, "my recovery phrase is {}")):
        phrase = " ".join(rng.choices(words, k=count))
        yield Made(f"seed-phrase-{template[:8]}", template.format(phrase), (phrase,))
    phrase = "\n".join(f"{n}. {rng.choice(words)}" for n in range(1, 13))
    yield Made("seed-phrase-numbered", f"seed words:\n{phrase}", (phrase[:20], phrase[-20:]))


def _broken(rng: random.Random) -> Iterator[Made]:
    """Tokens with something in the middle of them."""
    for name, sign in {
        "zero-width": "\u200b", "joiner": "\u200d", "bidi": "\u202e", "hyphen": "\u00ad", "mark": "\ufeff",
        "nul": "\x00", "variant": "\ufe0f", "tag": "\U000e0041", "filler": "\u3164", "colour": "\x1b[1;31m",
        "line end": "\n", "indented line": "\n    ",
    }.items():  # fmt: skip
        for prefix, chars, n in (_PLAIN["github-token"], _PLAIN["aws-key"], _PLAIN["anthropic-key"]):
            token = prefix + _chars(rng, chars, n)
            at = rng.randrange(len(prefix) + 10, len(token) - 5)
            head, tail = token[:at], token[at:]
            if n == 95 and "line" in name:
                head, tail = token[:70], token[70:]
            text = f"export T={head}{sign}{tail}"
            yield Made(f"{prefix} broken by {name}", text, (head[len(prefix) :], tail))
        if "line" not in name:
            secret = _chars(rng, ALNUM, 16)
            yield Made(
                f"password broken by {name}", f"password={secret[:9]}{sign}{secret[9:]}", (secret[:9],)
            )


_COLOURED: dict[str, str] = {
    "colour of a value": "API_KEY=\x1b[32m{}\x1b[0m",
    "colour of a name": "\x1b[36mpassword:\x1b[0m {}",
    "colour of a yaml value": "password: \x1b[33m{}\x1b[39m",
    "colour of a password in a url": "https://ann:\x1b[31m{}\x1b[0m@git.shop.test/x",
    "colours of jq": '\x1b[34;1m"password"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"{}"\x1b[0m',
    "colours of a search": ".env:3:\x1b[0m\x1b[1m\x1b[31mTOKEN\x1b[0m={}",
    "a link": "\x1b]8;;file://x\x1b\\TOKEN\x1b]8;;\x1b\\={}",
    "a link that a bell ends": "\x1b]8;;https://x.test/a?b=c\x07TOKEN\x1b]8;;\x07={}",
    "colour that tput resets": "TOKEN\x1b(B\x1b[m=\x1b[32m{}\x1b(B\x1b[m",
    "colour in a program": "echo -e 'API_KEY=\\033[32m{}\\033[0m'",
    "colour in eight bits": "API_KEY=\x9b32m{}\x9b0m",
}


def _coloured(rng: random.Random) -> Iterator[Made]:
    """Secrets among what colours a text in a terminal."""
    for kind, template in _COLOURED.items():
        secret = _chars(rng, ALNUM, 24)
        yield Made(kind, template.format(secret), (secret,))
    token = _chars(rng, ALNUM, 36)
    yield Made("colour of a prefix", f"\x1b[1m\x1b[31mghp_\x1b[0m{token}", (token,))
    spread = "\x00".join("ghp_" + token)
    yield Made("sixteen bits a letter", spread, (spread[10:],))


def _solana_key(rng: random.Random) -> Made:
    numbers = ",".join(str(rng.randrange(256)) for _ in range(64))
    return Made("solana-key", f"[{numbers}]", (numbers,))


def _basic_header(rng: random.Random) -> Made:
    coded = base64.b64encode(f"ann:{_chars(rng, ALNUM, 14)}".encode()).decode()
    return Made("basic-header", f"Authorization: Basic {coded}", (coded,))


def bare(seed: int) -> Iterator[Made]:
    """Secrets that are known by their shape alone."""
    rng = random.Random(seed)
    for kind, (prefix, _, _) in _PLAIN.items():
        secret = _plain(rng, kind)
        yield Made(kind, secret, (secret[len(prefix) :],))
    for kind, make in _SPECIAL.items():
        secret = make(rng)
        yield Made(kind, secret, (secret,))


def told(seed: int) -> Iterator[Made]:
    """Secrets that are known by what stands around them."""
    rng = random.Random(seed)
    for kind, (template, chars, n) in _TOLD.items():
        secret = _value(rng, chars, n)
        yield Made(kind, template.format(*[secret] * template.count("{}") or [secret]), (secret,))
    for what in ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):
        yield _key_block(rng, what)
    yield _service_account(rng)
    yield _basic_header(rng)
    yield _solana_key(rng)
    yield _encoded_pem(rng)
    yield _wrapped_pem(rng)
    yield from _encoded_keys(rng)
    yield _pem_without_begin(rng)
    yield _pem_without_fences(rng)
    yield from _seed_phrases(rng)
    yield from _broken(rng)
    yield from _coloured(rng)


PLACES: dict[str, str] = {
    "alone": "{}",
    "line start": "first\n{}\nlast",
    "sentence": "Use {} for now.",
    "indented": "steps:\n\t{}\n",
    "fence": "```sh\n{}\n```",
    "after a number": "   12→{}\n   13→end",
    "patch": "@@ -1 +1 @@\n-old\n+{}\n",
    "windows lines": "a\r\n{}\r\nb",
    "coloured": "\x1b[32m{}\x1b[0m",
    "not ascii": "é{} 日本 ✓",
}
BARE_PLACES: dict[str, str] = {
    "shell": "curl -H 'X-Thing: {}' https://shop.test/",
    "double quotes": 'send("{}")',
    "yaml": "settings:\n  thing: {}\n",
    "env": "THING={}\n",
    "json": '{{"thing": "{}", "n": 1}}',
    "list": '["a", "{}"]',
    "markdown": "the thing is `{}`, see below",
    "angle": "<thing>{}</thing>",
}


def everywhere(seed: int) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(label, text, what must be gone): every secret at every place."""
    for made in bare(seed):
        for place, template in {**PLACES, **BARE_PLACES}.items():
            yield f"{made.kind}, {place}", template.format(made.text), made.secrets
    for made in told(seed):
        for place, template in PLACES.items():
            yield f"{made.kind}, {place}", template.format(made.text), made.secrets
