"""Key stores and trust stores: the server's key and chain, and the trusted certificates.

Three types, as in Kafka: PEM, from a file or in the configuration itself; PKCS12; JKS. As in Java
the types JKS and PKCS12 read each other's files: the content decides. A PKCS12 file is read by
``cryptography``, a true JKS file by the optional package ``pyjks``.

Source: Kafka's ``DefaultSslEngineFactory`` (4.3.1); Java's ``KeyStore``.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final, NoReturn

from msgspec import Struct

from doorkeeper.base.distinguished_name import name_of
from doorkeeper.base.key import Key
from doorkeeper.base.tls import pem
from doorkeeper.base.tls.keys import (
    SSL_KEY_PASSWORD,
    SSL_KEYSTORE_CERTIFICATE_CHAIN,
    SSL_KEYSTORE_KEY,
    SSL_KEYSTORE_LOCATION,
    SSL_KEYSTORE_PASSWORD,
    SSL_KEYSTORE_TYPE,
    SSL_TRUSTSTORE_CERTIFICATES,
    SSL_TRUSTSTORE_LOCATION,
    SSL_TRUSTSTORE_PASSWORD,
    SSL_TRUSTSTORE_TYPE,
)
from doorkeeper.base.tls.sources import memory_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import jks
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
    from cryptography.x509 import Certificate

    from doorkeeper.base.tls.settings import TlsSettings

_PASSWORD_OF: Final[Mapping[Key[object], Key[object]]] = {
    SSL_KEYSTORE_LOCATION: SSL_KEYSTORE_PASSWORD,
    SSL_TRUSTSTORE_LOCATION: SSL_TRUSTSTORE_PASSWORD,
}
TYPES: Final = ("JKS", "PKCS12", "PEM")
_JKS: Final = b"\xfe\xed\xfe\xed"
_JCEKS: Final = b"\xce\xce\xce\xce"
_CONVERT: Final = (
    "keytool -importkeystore -srckeystore old.jks -destkeystore new.p12 -deststoretype pkcs12"
)


class ServerIdentity(Struct, frozen=True):
    """The server's key, its certificate, and those of the issuers between it and a root."""

    key: PrivateKeyTypes
    chain: tuple[Certificate, ...]

    def __repr__(self) -> str:
        # It must not show the key.
        return f"ServerIdentity({len(self.chain)} certificates)"

    def load_into(self, context: ssl.SSLContext) -> None:
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain = b"".join(certificate.public_bytes(Encoding.PEM) for certificate in self.chain)
        with memory_file(chain) as chain_name, memory_file(key) as key_name:
            context.load_cert_chain(chain_name, key_name)


def trust(context: ssl.SSLContext, certificates: Iterable[Certificate]) -> None:
    """Trust certificates, and every one that they have issued."""
    from cryptography.hazmat.primitives.serialization import Encoding

    der = b"".join(certificate.public_bytes(Encoding.DER) for certificate in certificates)
    context.load_verify_locations(cadata=der)
    # Java trusts every certificate of the trust store; OpenSSL by default only roots.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def identity_of(settings: TlsSettings, files: Mapping[Key[object], bytes]) -> ServerIdentity:
    """Return the server's key and certificate chain."""
    in_pem = _type(settings, SSL_KEYSTORE_TYPE) == "PEM"
    inline_key, inline_chain = settings[SSL_KEYSTORE_KEY], settings[SSL_KEYSTORE_CERTIFICATE_CHAIN]
    password = settings[SSL_KEYSTORE_PASSWORD]
    if (inline_key is not None or inline_chain is not None) and not in_pem:
        key = SSL_KEYSTORE_KEY if inline_key is not None else SSL_KEYSTORE_CERTIFICATE_CHAIN
        raise settings.problem(key, "allowed with ssl.keystore.type=PEM only")
    if inline_key is not None and inline_chain is None:
        raise settings.problem(
            SSL_KEYSTORE_CERTIFICATE_CHAIN, "missing; a private key requires its certificate chain"
        )
    if inline_chain is not None and inline_key is None:
        raise settings.problem(
            SSL_KEYSTORE_KEY, "missing; a certificate chain requires its private key"
        )
    if inline_key is not None and SSL_KEYSTORE_LOCATION in files:
        raise settings.problem(SSL_KEYSTORE_LOCATION, "not allowed together with ssl.keystore.key")
    if in_pem and password is not None:
        raise settings.problem(
            SSL_KEYSTORE_PASSWORD,
            "not allowed with a PEM store; the password of the private key is ssl.key.password",
        )
    if inline_key is None and SSL_KEYSTORE_LOCATION not in files:
        raise settings.problem(
            SSL_KEYSTORE_LOCATION,
            f"missing; listener {settings.listener_name} uses {settings.security_protocol}, which"
            " requires a key store with a certificate and its private key",
        )
    if in_pem:
        identity = _identity_in_pem(settings, files, inline_key, inline_chain)
    elif password is None:
        raise settings.problem(SSL_KEYSTORE_PASSWORD, "missing; the key store requires it")
    else:
        identity = _identity_in_store(settings, files[SSL_KEYSTORE_LOCATION], password)
    return _check_key(settings, identity)


def trust_store_of(
    settings: TlsSettings, files: Mapping[Key[object], bytes]
) -> tuple[Certificate, ...] | None:
    """Return the trusted certificates; None without a trust store."""
    in_pem = _type(settings, SSL_TRUSTSTORE_TYPE) == "PEM"
    inline = settings[SSL_TRUSTSTORE_CERTIFICATES]
    password = settings[SSL_TRUSTSTORE_PASSWORD]
    if inline is not None and not in_pem:
        raise settings.problem(
            SSL_TRUSTSTORE_CERTIFICATES, "allowed with ssl.truststore.type=PEM only"
        )
    if inline is not None and SSL_TRUSTSTORE_LOCATION in files:
        raise settings.problem(
            SSL_TRUSTSTORE_LOCATION, "not allowed together with ssl.truststore.certificates"
        )
    if in_pem and password is not None:
        raise settings.problem(SSL_TRUSTSTORE_PASSWORD, "not allowed with a PEM store")
    if inline is None and SSL_TRUSTSTORE_LOCATION not in files:
        if password is not None:
            raise settings.problem(SSL_TRUSTSTORE_LOCATION, "missing, although its password is set")
        return None
    if in_pem:
        key = SSL_TRUSTSTORE_LOCATION if inline is None else SSL_TRUSTSTORE_CERTIFICATES
        try:
            data = files[SSL_TRUSTSTORE_LOCATION] if inline is None else inline.encode()
            return tuple(pem.certificates_of(data))
        except pem.PemError as error:
            raise _problem(settings, key, str(error)) from None
    trusted = _trusted_in_store(settings, files[SSL_TRUSTSTORE_LOCATION], password)
    if not trusted:
        raise _problem(settings, SSL_TRUSTSTORE_LOCATION, "found no trusted certificate")
    return tuple(trusted)


def _type(settings: TlsSettings, key: Key[str]) -> str:
    store_type = settings[key].upper()
    if store_type not in TYPES:
        raise settings.problem(key, f"found {settings[key]!r}; allowed: {', '.join(TYPES)}")
    return store_type


def _problem(settings: TlsSettings, key: Key[object], text: str) -> ValueError:
    """Return an error about a key's value, with the name of the file if it names one."""
    named = key.name.endswith((".location", ".file"))
    return settings.problem(key, f"{settings[key]}: {text}" if named else text)


def _identity_in_pem(
    settings: TlsSettings, files: Mapping[Key[object], bytes], key: str | None, chain: str | None
) -> ServerIdentity:
    whole = files.get(SSL_KEYSTORE_LOCATION, b"")
    named = SSL_KEYSTORE_LOCATION if key is None else SSL_KEYSTORE_KEY
    try:
        private = pem.private_key_of(
            whole if key is None else key.encode(), settings[SSL_KEY_PASSWORD]
        )
        if chain is not None:
            named = SSL_KEYSTORE_CERTIFICATE_CHAIN
        return ServerIdentity(
            private, tuple(pem.certificates_of(whole if chain is None else chain.encode()))
        )
    except pem.PemError as error:
        raise _problem(settings, named, str(error)) from None


def _identity_in_store(settings: TlsSettings, data: bytes, password: str) -> ServerIdentity:
    if data.startswith(_JKS):
        return _identity_in_jks(settings, data, password)
    # By the first bytes, not by ``ssl.keystore.type``: Java too reads both types as either one.
    store = _pkcs12(settings, SSL_KEYSTORE_LOCATION, data, password)
    if store.key is None or store.cert is None:
        raise _problem(settings, SSL_KEYSTORE_LOCATION, "found no private key with a certificate")
    # PKCS12 does not order certificates: ``_chain`` does, from the key's own one to its issuers.
    others = [certificate.certificate for certificate in store.additional_certs]
    return ServerIdentity(store.key, tuple(_chain(store.cert.certificate, others)))


def _trusted_in_store(
    settings: TlsSettings, data: bytes, password: str | None
) -> Sequence[Certificate]:
    """Return the trusted certificates of a store; of a key entry, its own certificate."""
    if data.startswith(_JKS):
        return _trusted_in_jks(settings, data, password)
    store = _pkcs12(settings, SSL_TRUSTSTORE_LOCATION, data, password)
    if store.cert is None:
        return [certificate.certificate for certificate in store.additional_certs]
    # With a key come the issuers of its certificate, which Java does not trust for that alone;
    # in PKCS12 they are named by subject, trusted entries by alias.
    own = [
        certificate.certificate
        for certificate in store.additional_certs
        if certificate.friendly_name is not None
        and certificate.friendly_name.decode(errors="replace").lower()
        != name_of(certificate.certificate.subject.public_bytes()).lower()
    ]
    return [store.cert.certificate, *own]


def _pkcs12(
    settings: TlsSettings, key: Key[object], data: bytes, password: str | None
) -> PKCS12KeyAndCertificates:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import pkcs12

    if not data.startswith(b"\x30"):
        _fail_unknown(settings, key, data)
    try:
        return pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except UnsupportedAlgorithm:
        raise _problem(settings, key, "the encryption of the store is not supported") from None
    except Exception:  # ValueError, or what a certificate within raises
        password_key = settings.full_name(_PASSWORD_OF[key])
        what = "the password is missing" if password is None else "the password is wrong"
        raise _problem(settings, key, f"{what} ({password_key}), or the store is damaged") from None


def _fail_unknown(settings: TlsSettings, key: Key[object], data: bytes) -> NoReturn:
    type_key = SSL_KEYSTORE_TYPE if key is SSL_KEYSTORE_LOCATION else SSL_TRUSTSTORE_TYPE
    if data.startswith(_JCEKS):
        kind = "a JCEKS store"
    elif b"-----BEGIN" in data:
        kind = f"PEM; give {type_key}=PEM"
    else:
        kind = "something else"
    raise _problem(settings, key, f"found {kind}; allowed: a JKS or PKCS12 store")


def _jks(
    settings: TlsSettings, key: Key[object], data: bytes, password: str | None
) -> jks.KeyStore:
    try:
        import jks
    except ImportError:
        raise _problem(
            settings,
            key,
            f"found a JKS store: install doorkeeper[jks], or convert it to PKCS12: {_CONVERT}",
        ) from None
    try:
        return jks.KeyStore.loads(data, password, try_decrypt_keys=False)
    except jks.util.KeystoreSignatureException:
        password_key = settings.full_name(_PASSWORD_OF[key])
        raise _problem(
            settings, key, f"the password is wrong ({password_key}), or the store is damaged"
        ) from None
    except Exception:  # pyjks raises what it happens to meet
        raise _problem(settings, key, "the store is damaged") from None


def _identity_in_jks(settings: TlsSettings, data: bytes, password: str) -> ServerIdentity:
    from cryptography.hazmat.primitives.serialization import load_der_private_key
    from cryptography.x509 import load_der_x509_certificate

    store = _jks(settings, SSL_KEYSTORE_LOCATION, data, password)
    if not store.private_keys:
        raise _problem(settings, SSL_KEYSTORE_LOCATION, "found no private key with a certificate")
    # A store with several keys: Java picks by algorithm; the first alias is at least stable.
    alias = min(store.private_keys)
    entry = store.private_keys[alias]
    try:
        entry.decrypt(settings[SSL_KEY_PASSWORD] or password)
    except Exception:  # pyjks raises what it happens to meet
        raise _problem(
            settings,
            SSL_KEYSTORE_LOCATION,
            f"the password of the key {alias!r} is wrong ({settings.full_name(SSL_KEY_PASSWORD)})",
        ) from None
    try:
        key = load_der_private_key(entry.pkey_pkcs8, None)
        chain = tuple(load_der_x509_certificate(der) for _, der in entry.cert_chain)
    except Exception:  # as in pem
        raise _problem(
            settings, SSL_KEYSTORE_LOCATION, f"the key {alias!r} cannot be read"
        ) from None
    return ServerIdentity(key, chain)


def _trusted_in_jks(
    settings: TlsSettings, data: bytes, password: str | None
) -> Sequence[Certificate]:
    from cryptography.x509 import load_der_x509_certificate

    store = _jks(settings, SSL_TRUSTSTORE_LOCATION, data, password)
    encoded = [entry.cert for entry in store.certs.values()]
    encoded += [entry.cert_chain[0][1] for entry in store.private_keys.values() if entry.cert_chain]
    try:
        return [load_der_x509_certificate(der) for der in encoded]
    except Exception:  # as in pem
        raise _problem(
            settings, SSL_TRUSTSTORE_LOCATION, "a certificate in the store is malformed"
        ) from None


def _chain(own: Certificate, others: Sequence[Certificate]) -> list[Certificate]:
    """Return a certificate, followed by its chain of issuers as far as present."""
    chain = [own]
    left = list(others)
    while chain[-1].issuer != chain[-1].subject:
        issuer = next((other for other in left if other.subject == chain[-1].issuer), None)
        if issuer is None:
            break
        left.remove(issuer)
        chain.append(issuer)
    return chain


def _check_key(settings: TlsSettings, identity: ServerIdentity) -> ServerIdentity:
    """Return an identity after checking that the key matches its first certificate."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
    )

    def encode(key: PublicKeyTypes) -> bytes:
        return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    key = SSL_KEYSTORE_LOCATION
    if settings[SSL_KEYSTORE_LOCATION] is None:
        key = SSL_KEYSTORE_CERTIFICATE_CHAIN
    if not identity.chain:
        raise _problem(settings, key, "found a private key without a certificate")
    try:
        fits = encode(identity.key.public_key()) == encode(identity.chain[0].public_key())
    except Exception:  # kinds of keys that are not known raise several things
        raise _problem(settings, key, "the key type of the certificate is not supported") from None
    if not fits:
        raise _problem(settings, key, "the first certificate does not belong to the private key")
    return identity
