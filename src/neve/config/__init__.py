"""What a configuration file may say in other words than Neve's own, and variables in it."""

from __future__ import annotations
