"""Which code this is tells its files, and nothing that Python makes of them."""

from __future__ import annotations

import pytest

from neve.spark import own_code
from neve.spark.own_code import own_digest, own_files


@pytest.fixture
def other(tmp_path, monkeypatch):
    """Another Neve of one file."""
    folder = tmp_path / "neve"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.setattr(own_code, "FOLDER", folder)
    own_digest.cache_clear()
    yield folder
    own_digest.cache_clear()


def digest() -> str:
    own_digest.cache_clear()
    return own_digest()


@pytest.mark.parametrize(
    ("name", "text", "is_other"),
    [
        ("__init__.py", "x = 1", True),
        ("more.py", "", True),
        ("below/more.py", "", True),
        ("__pycache__/more.py", "", False),
        ("words.txt", "no code", False),
    ],
)
def test_what_makes_other_code(other, name, text, is_other):
    before = digest()
    (other / name).parent.mkdir(exist_ok=True)
    (other / name).write_text(text)

    assert (digest() != before) is is_other


def test_this_code_is_known_by_its_files():
    assert {"own_code.py", "log4j2.properties"} <= {path.name for path in own_files()}
