"""Certificates for tests of TLS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple


def certificate(folder: Path) -> Path:
    """A certificate for localhost that nobody has signed but itself, with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(made.public_bytes(pem) + key.private_bytes(pem, form, serialization.NoEncryption()))
    return path


class Authority(NamedTuple):
    """Whoever signs certificates."""

    name: Any
    key: Any


def signing(folder: Path, name: str) -> Authority:
    """An authority of its own; its certificate is ``name.pem``."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    made = Authority(_common_name(name), ec.generate_private_key(ec.SECP256R1()))
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    _write(folder, name, made.name, made.key, made, constraints)
    return made


def signed(folder: Path, name: str, authority: Authority, subject: str) -> None:
    """A certificate for a host or a role, as ``name.pem``, with its key in ``name.key``."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    extension = x509.SubjectAlternativeName([x509.DNSName(subject)])
    _write(folder, name, _common_name(subject), ec.generate_private_key(ec.SECP256R1()), authority, extension)


def _common_name(name: str) -> Any:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _write(folder: Path, name: str, subject: Any, key: Any, authority: Authority, extension: Any) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(extension, critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / f"{name}.pem").write_bytes(made.public_bytes(pem))
    (folder / f"{name}.key").write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
