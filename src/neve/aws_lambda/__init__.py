"""The database operations as a function: `neve.aws_lambda.handler`. There is no Spark in it."""

from __future__ import annotations

from neve.aws_lambda.function import handler

__all__ = ["handler"]
