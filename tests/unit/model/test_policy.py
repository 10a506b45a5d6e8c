from __future__ import annotations

import pytest

from neve.model.errors import ConfigError, InputError, NeveError, PlanStale
from neve.model.policy import CompactionPolicy, ScoreWeights


@pytest.mark.parametrize(
    "values",
    [
        {"target_file_size_bytes": 0},
        {"target_file_size_bytes": -5},
        {"min_file_size_ratio": 0},
        {"min_file_size_ratio": 1.5},
        {"fragment_size_ratio": -0.1},
        {"min_input_files": 1},
    ],
)
def test_impossible_policies_are_refused(values):
    with pytest.raises(InputError):
        CompactionPolicy(**values)


def test_weights_must_count_something():
    with pytest.raises(InputError):
        ScoreWeights(0, 0, 0)


def test_thresholds_follow_the_target():
    policy = CompactionPolicy(target_file_size_bytes=1000)

    assert (policy.small_file_bytes, policy.fragment_bytes) == (750, 125)


def test_an_error_without_words_speaks_by_its_class():
    assert PlanStale().message == "The table has changed since the plan was made."
    assert issubclass(ConfigError, NeveError)
