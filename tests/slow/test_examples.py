"""Examples that need no engine run as they stand."""

from __future__ import annotations

import runpy

import pytest
from tests.lock_file import ROOT


def test_the_example_of_a_function(capsys):
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "examples/lambda/invoke.py"), run_name="__main__")

    assert ended.value.code == 0
    assert '"people": 5' in capsys.readouterr().out.splitlines()[-1]
