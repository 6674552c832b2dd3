"""Certificates for tests of TLS, made when a test needs them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tfnb.distributed_runtime.grpc_channel import TlsFiles

if TYPE_CHECKING:
    from pathlib import Path

_BEGIN, _END = datetime(2020, 1, 1), datetime(2120, 1, 1)
_PEM = serialization.Encoding.PEM


class Authority:
    """Signs certificates.

    Attributes:
      certificate: its own, PEM.
    """

    def __init__(self, name: str = "Tests of tfnb") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name_of(name)
        limits = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = self._signed(self._name, self._key.public_key(), limits)

    def _signed(self, subject: x509.Name, public_key: Any, extension: x509.ExtensionType) -> bytes:
        builder = x509.CertificateBuilder(self._name, subject, public_key)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(_BEGIN).not_valid_after(_END)
        builder = builder.add_extension(extension, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM)

    def issue(self, host: str = "localhost", *, checks_clients: bool = True) -> TlsFiles:
        """Return files of a task, or of a client.

        Args:
          host: the task's.
          checks_clients: whether clients of the task need a certificate of this authority.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        hosts = x509.SubjectAlternativeName([x509.DNSName(host)])
        certificate = self._signed(_name_of(host), key.public_key(), hosts)
        private = key.private_bytes(
            _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return TlsFiles(certificate, private, self.certificate if checks_clients else None)


def _name_of(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def write_files(folder: Path, files: TlsFiles) -> dict[str, str]:
    """Write the files of a task or client; return their paths by the names of tfnb serve."""
    contents = {"cert": files.certificate, "key": files.key, "client-ca": files.client_ca}
    paths: dict[str, str] = {}
    for name, content in contents.items():
        if content is not None:
            path = folder / f"{name}.pem"
            path.write_bytes(content)
            paths[name] = str(path)
    return paths
