"""How many shapes of secrets are found, and how many harmless strings are touched, beside public rule sets.

`make bench-secrets GITLEAKS=FILE`, FILE being `config/gitleaks.toml` of gitleaks' repository. Every shape is
made up three times from different seeds and counts as found if it is found each time. Segue must leave
nothing of it that can be read; for the others it is enough that they report anything in its text. gitleaks'
rules are run here with its keywords, entropies and lists of what is allowed, not by the program itself;
detect-secrets is run by its own library with its default settings.

A second table says for how many rules of the other tools Segue has a counterpart, and names the others
(`bench/secret_rules.py`): gitleaks' from the same file, detect-secrets' from DETECT_SECRETS=FOLDER with its
plugins, TruffleHog's from TRUFFLEHOG=FOLDER with its detectors.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.common import machine, table
from bench.secret_rules import of_detect_secrets, of_gitleaks, of_trufflehog, row
from tests.support import made_up_secrets
from tests.support.made_up_secrets import Made

from segue.effects.redaction.redact import redact
from segue.effects.redaction.scan import places

SEEDS = range(3)
HARMLESS = Path(__file__).parents[1] / "tests" / "unit" / "effects" / "harmless.json"


def entropy(text: str) -> float:
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


class Gitleaks:
    """The rules of a configuration of gitleaks."""

    def __init__(self, file: Path) -> None:
        import re2  # type: ignore[import-untyped]

        config = tomllib.loads(file.read_text())
        options = re2.Options()
        options.log_errors = False
        self._compile = lambda pattern: re2.compile(pattern, options)
        self.rules = [rule for rule in config["rules"] if "regex" in rule]
        for rule in self.rules:
            rule["compiled"] = self._compile(rule["regex"])
            lists = [*rule.get("allowlists", ()), *([rule["allowlist"]] if "allowlist" in rule else ())]
            rule["allowed"] = [self._allowlist(one) for one in lists]
        self.allowed = [self._allowlist(config.get("allowlist", {}))]

    def _allowlist(self, given: dict[str, Any]) -> dict[str, Any]:
        compiled = [self._compile(pattern) for pattern in given.get("regexes", ())]
        return {**given, "regexes": compiled}

    def __call__(self, text: str) -> bool:
        return any(True for _ in self._found(text))

    def _found(self, text: str) -> Iterator[str]:
        low = text.lower()
        for rule in self.rules:
            keywords = rule.get("keywords", ())
            if keywords and not any(word in low for word in keywords):
                continue
            for match in rule["compiled"].finditer(text):
                secret = self._secret(match, rule.get("secretGroup", 0))
                if rule.get("entropy") and entropy(secret) <= rule["entropy"]:
                    continue
                if not any(
                    self._is_allowed(one, text, match, secret) for one in rule["allowed"] + self.allowed
                ):
                    yield secret

    @staticmethod
    def _secret(match: Any, group: int) -> str:
        if group:
            return match.group(group) or ""
        return next((found for found in match.groups() if found), match.group())

    @staticmethod
    def _is_allowed(allowed: dict[str, Any], text: str, match: Any, secret: str) -> bool:
        if allowed.get("condition", "").upper() == "AND" and "paths" in allowed:
            return False  # there is no path here
        line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
        target = {"match": match.group(), "line": line}.get(allowed.get("regexTarget", ""), secret)
        words = any(word.lower() in secret.lower() for word in allowed.get("stopwords", ()))
        return words or any(pattern.search(target) for pattern in allowed["regexes"])


class DetectSecrets:
    """detect-secrets with its default settings, on a file with the text."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "text.txt"

    def __call__(self, text: str) -> bool:
        from detect_secrets.core.scan import scan_file  # type: ignore[import-not-found]

        self.file.write_text(text, encoding="utf-8", newline="")
        return any(True for _ in scan_file(str(self.file)))


def is_masked(made: Made) -> bool:
    masked = redact(made.text)
    return not any(part in masked for secret in made.secrets for part in (secret, secret[:12], secret[-12:]))


def shapes(found: Callable[[Made], bool]) -> dict[str, bool]:
    """By kind of secret, whether it is found for every seed."""
    kinds: dict[str, bool] = {}
    for seed in SEEDS:
        for made in (*made_up_secrets.bare(seed), *made_up_secrets.told(seed)):
            kinds[made.kind] = kinds.get(made.kind, True) and found(made)
    return kinds


def counted(
    name: str, finds: Callable[[Made], bool], touches: Callable[[str], bool], harmless: list[str], *,
    names_missed: bool,
) -> list[str]:  # fmt: skip
    """A row of the table."""
    kinds = shapes(finds)
    touched = [text for text in harmless if touches(text)]
    if names_missed:
        print(f"{name} misses: {', '.join(kind for kind, found in kinds.items() if not found)}\n")
        print(f"{name} touches: {touched}\n")
    return [name, f"{sum(kinds.values())} of {len(kinds)}", f"{len(touched)} of {len(harmless)}"]


def main() -> int:
    wish = argparse.ArgumentParser(description=__doc__)
    wish.add_argument("--gitleaks", type=Path, help="its configuration")
    wish.add_argument("--detect-secrets", type=Path, help="the folder of its plugins")
    wish.add_argument("--trufflehog", type=Path, help="the folder of its detectors")
    wish.add_argument("--missed", action="store_true", help="name what is not found")
    args = wish.parse_args()
    harmless = [text for texts in json.loads(HARMLESS.read_text()).values() for text in texts]
    tools: dict[str, tuple[Callable[[Made], bool], Callable[[str], bool]]] = {
        "segue": (is_masked, lambda text: bool(places(text)))
    }
    if args.gitleaks:
        gitleaks = Gitleaks(args.gitleaks)
        name = f"gitleaks' {len(gitleaks.rules)} rules"
        tools[name] = (lambda made: gitleaks(made.text), gitleaks)
    with ExitStack() as settings:
        if find_spec("detect_secrets"):
            from detect_secrets.settings import default_settings  # type: ignore[import-not-found]

            settings.enter_context(default_settings())
            detect_secrets = DetectSecrets(Path(settings.enter_context(TemporaryDirectory())))
            name = f"detect-secrets {version('detect-secrets')}"
            tools[name] = (lambda made: detect_secrets(made.text), detect_secrets)
        rows = [counted(name, *tool, harmless, names_missed=args.missed) for name, tool in tools.items()]
    print(f"{machine()}\n")
    table("Secrets", ["rules", "shapes found", "harmless strings touched"], rows)
    counterparts(args.gitleaks, args.detect_secrets, args.trufflehog)
    return 0


def counterparts(gitleaks: Path | None, detect_secrets: Path | None, trufflehog: Path | None) -> None:
    """Which rules of the others have none here."""
    tools = {
        "gitleaks": list(of_gitleaks(gitleaks)) if gitleaks else [],
        "detect-secrets": list(of_detect_secrets(detect_secrets)) if detect_secrets else [],
        "TruffleHog": list(of_trufflehog(trufflehog)) if trufflehog else [],
    }
    rows = {tool: row(tool, rules) for tool, rules in tools.items() if rules}
    if rows:
        heads = ["tool", "rules", "masked by shape", "masked after a name", "no counterpart"]
        print()
        table("Counterparts", heads, [cells for cells, _ in rows.values()])
    for tool, (_, names) in rows.items():
        print(f"\nof {tool} without a counterpart: {', '.join(names) or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
