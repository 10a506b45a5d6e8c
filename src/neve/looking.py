"""The half of the façade that only looks: tables, health, policies, this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from neve.app import App
from neve.catalog.overlaps import column_overlaps
from neve.machine import Check, SparkPackage, check_machine, write_spark_package
from neve.model.diagnosis import Diagnosis
from neve.model.errors import NeveError
from neve.model.facts import TableFacts
from neve.model.found import Found
from neve.model.health import Advice, Health
from neve.model.job import TRINO
from neve.model.policies import EffectivePolicy, PolicyRule, Timing
from neve.model.table import TableRef
from neve.planning.advice import advise
from neve.planning.gain import live_records
from neve.planning.schedule import due
from neve.policy.effective import shown_settings
from neve.policy.importing import ImportedPolicies, import_policies, read_document
from neve.policy.resolve import match_rule
from neve.reporting import reported
from neve.service.maintenance import Maintenance

#: A table by its name, or by reference.
Table = str | TableRef
Overrides = Mapping[str, object] | None


class Looking:
    """What can be asked of a configured Neve. Nothing in here changes a table."""

    _app: App
    _services: Maintenance

    def table(self, name: Table) -> TableRef:
        """The table that a name means; it need not exist."""
        return self._app.parse(str(name))

    def find(self, *patterns: str) -> Found:
        """Tables that any of the patterns is for, each once, and catalogs that did not answer.

        Names that begin with an underscore are for machinery: they are found by their name only.
        """
        tables: dict[TableRef, None] = {}
        problems: dict[str, NeveError] = {}
        is_named = False
        for pattern in patterns or ("*",):
            found = self._app.catalogs.find(pattern)
            if found.problems and found.asked == 1:
                raise next(iter(found.problems.values()))
            by_name = len(found.tables) == 1 or pattern.rpartition(".")[2].startswith("_")
            tables |= dict.fromkeys(
                table for table in found.tables if by_name or not table.name.startswith("_")
            )
            problems |= found.problems
            is_named = found.is_named
        return Found(list(tables), problems, is_named=is_named and len(patterns) == 1)

    def tables(self, pattern: str = "*") -> list[TableRef]:
        """Tables that a pattern is for; a catalog that does not answer is an error."""
        found = self.find(pattern)
        for problem in found.problems.values():
            raise problem
        return found.tables

    def survey(self, table: Table, *, snapshot_id: int | None = None) -> TableFacts:
        """What the table's metadata says, files included; of now, or of another snapshot."""
        return self._services.surveyor.survey(self.table(table), snapshot_id=snapshot_id)

    def report(self, table: Table) -> str:
        """A page of HTML with pictures of the table and its history, which needs no network."""
        return reported(self._services, self.table(table))

    def outline(self, table: Table) -> TableFacts:
        """What the table's metadata says, without its files."""
        return self._services.surveyor.outline(self.table(table))

    def health(self, table: Table, *, with_set_policies: bool = True) -> Health:
        """How well the table is, and why; by the file's policies alone where that is asked for."""
        return self._services.health(self.table(table), with_set_policies=with_set_policies)

    @staticmethod
    def live_records(facts: TableFacts) -> int | None:
        """Rows that a reader sees; None where only reading delete files would tell."""
        return live_records(facts)

    def advice(self, table: Table) -> list[Advice]:
        """What to change about partitions, write properties and metadata, with evidence."""
        ref = self.table(table)
        facts = self._services.surveyor.survey(ref)
        policy = self._services.policies.effective(facts).compaction
        return list(advise(facts, policy, column_overlaps(self._app.catalogs, facts)))

    def diagnose(
        self,
        table: Table,
        *,
        deep: bool = False,
        sample: int | None = None,
        metadata_folder: str | None = None,
    ) -> Diagnosis:
        """What is wrong with the table's metadata and files, and the way back; only reads."""
        return self._app.diagnose(self.table(table), deep, sample, metadata_folder)

    def policy(self, table: Table, overrides: Overrides = None) -> EffectivePolicy:
        """What all layers say about the table; overrides are the strongest one.

        Trino tells no properties of tables, so that its tables have policies by name.
        """
        if self._app.settings.engine == TRINO and not overrides:
            return self._services.policies.by_name(self.table(table))
        return self._services.effective(self.table(table), overrides)

    def timing(self, policy: EffectivePolicy) -> Timing:
        """When the table was maintained last, and when it will be."""
        state = self._services.store.schedule_state(policy.table)
        return due(policy, state.last_run if state else None, self._services.clock())

    @staticmethod
    def shown_settings(policy: EffectivePolicy) -> list[tuple[str, str, str]]:
        """Key, value and source of what somebody set, and of the defaults of what will be run."""
        return shown_settings(policy)

    def policies(self) -> list[tuple[PolicyRule, Callable[[TableFacts], bool]]]:
        """All policies, those that were set while Neve runs last; each with whether it is for
        a table."""
        book = self._services.policies.current

        def is_for(rule: PolicyRule) -> Callable[[TableFacts], bool]:
            return lambda facts: (
                match_rule(rule, facts.table, facts.properties, book.default_catalog).matches
            )

        return [(rule, is_for(rule)) for rule in book.rules]

    def check_filters(self, policy: EffectivePolicy) -> None:
        """Raise for a filter of the policy that cannot be read."""
        filters = (policy.rewrite_data_files.where, policy.rewrite_position_delete_files.where)
        for where in filter(None, filters):
            self._check_filter(where)

    def _check_filter(self, where: str) -> None:
        # sqlglot takes a third of a second to import, and most policies have no filter.
        from neve.planning.filters import parse_filter

        parse_filter(where, today=self.now().date())

    @staticmethod
    def import_policies(
        file: str | Path, *, tables: tuple[str, ...] = (), kind: str | None = None
    ) -> ImportedPolicies:
        """Policies of Apache Polaris or Amoro, as a section of a configuration file."""
        return import_policies(read_document(Path(file)), tables=tables, kind=kind)

    @staticmethod
    def check_machine(config: str | None = None) -> list[Check]:
        """What this machine has and lacks: Java, jars, configuration, catalogs, state."""
        return check_machine(config)

    @staticmethod
    def write_spark_package(path: str | Path) -> SparkPackage:
        """Write the archive that executors of a cluster run tasks from; sessions send one by
        themselves, so that it is for those who want to lay it somewhere."""
        return write_spark_package(Path(path))

    def now(self) -> datetime:
        """The time by the clock that jobs go by."""
        return self._services.clock()
