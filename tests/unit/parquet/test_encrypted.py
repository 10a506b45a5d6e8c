"""Encrypted files by pyarrow: never spliced, always named."""

from __future__ import annotations

import base64
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from neve.model.errors import ParquetUnsupported
from neve.parquet.indexes import load_source
from neve.parquet.splice import plan_splice
from neve.storage.readers import MemoryReader


class OpenKeys(pe.KmsClient):
    """A key service that hides nothing, which is enough to write an encrypted file."""

    def __init__(self, _config: pe.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, _master_key: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, _master_key: str) -> bytes:
        return base64.b64decode(wrapped_key)


def encrypted(plaintext_footer: bool) -> bytes:
    config = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"key": ["a"]}, plaintext_footer=plaintext_footer
    )
    properties = pe.CryptoFactory(OpenKeys).file_encryption_properties(
        pe.KmsConnectionConfig(), config
    )
    sink = io.BytesIO()
    table = pa.table({"a": [1], "b": [2]})
    with pq.ParquetWriter(sink, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("plaintext_footer", "message"),
    [(False, "footer is encrypted"), (True, "encrypted columns|encrypted or has a signed")],
)
def test_encrypted_files_are_refused(plaintext_footer: bool, message: str) -> None:
    data = encrypted(plaintext_footer)

    with pytest.raises(ParquetUnsupported, match=message):
        plan_splice([load_source(MemoryReader(data))])
