"""Secrets are masked, and what only looks like one stays."""

from __future__ import annotations

import pytest

from segue.effects.redact import redact


@pytest.mark.parametrize(
    ("secret", "rule"),
    [
        ("AKIA" + "ABCDEFGHIJKLMNOP", "aws-key"),
        ("ghp_" + "a1" * 18, "github-token"),
        ("github_pat_" + "a1" * 15, "github-token"),
        ("glpat-" + "a1" * 10, "gitlab-token"),
        ("sk-ant-" + "api03-" + "a1" * 15, "anthropic-key"),
        ("sk-proj-" + "a1" * 15, "openai-key"),
        ("AIza" + "a" * 35, "google-key"),
        ("xoxb-" + "1234567890-abc", "slack-token"),
        ("sk_live_" + "a1" * 10, "stripe-key"),
        ("npm_" + "a" * 36, "npm-token"),
        ("hf_" + "a" * 32, "huggingface-token"),
        ("eyJ" + "a" * 12 + ".eyJ" + "b" * 12 + "." + "c" * 20, "jwt"),
    ],
)
def test_a_key_of_a_known_shape_is_masked_and_its_surroundings_stay(secret: str, rule: str) -> None:
    assert redact(f"use {secret} here") == f"use [redacted:{rule}] here"
    assert redact(f"{secret}\n{secret}").count(secret) == 0


def test_a_private_key_is_masked_even_without_its_end() -> None:
    begin, end = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
    assert redact(f"a\n{begin}\nMIIE\n{end}\nb") == "a\n[redacted:private-key]\nb"
    assert "MIIE" not in redact(f"{begin}\nMIIE")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://me:hunter22@db/x", "hunter22"),
        ("Authorization: Bearer abcdefghijklmnopqrstuv", "abcdefghijklmnopqrstuv"),
        ('password = "hunter2hunter2"', "hunter2hunter2"),
        ("API_KEY=abc123abc123", "abc123abc123"),
        ("DB_PASSWORD: s3cr3t-s3cr3t", "s3cr3t-s3cr3t"),
    ],
)
def test_credentials_are_masked_where_they_stand(text: str, masked: str) -> None:
    assert masked in text and masked not in redact(text) and "[redacted:" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "the password is asked for at the prompt",
        "risk-averse, ask-me-anything",
        "https://example.org/a/b?c=d",
        "api_key is read from the environment",
        "",
    ],
)
def test_plain_text_hashes_and_ids_stay(text: str) -> None:
    assert redact(text) == text


def test_masking_twice_changes_nothing_more() -> None:
    once = redact("password=hunter2hunter2 and ghp_" + "a1" * 18)
    assert redact(once) == once
