"""What a step has to ingest, by the Delta logs of its target and its sources."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import NamedTuple

from rookery.lake.engine.delta import CommitClaim, Lake, TableChanges
from rookery.lake.engine.step import CleanStep, TransformStep
from rookery.lake.schema.table import Table


class Increment(NamedTuple):
    """Days of a table to recompute, and the versions of the sources to read."""

    claims: tuple[CommitClaim, ...]
    versions: Mapping[str, int]  # by path; sources that do not exist yet are left out
    dates: frozenset[date]  # empty, where a table is replaced as a whole

    @property
    def inputs(self) -> str:
        """For lineage: `clean/calls@12,facts/call_hours@3`."""
        return ",".join(f"{path}@{version}" for path, version in sorted(self.versions.items()))


class LandingIncrement(NamedTuple):
    """Files of a landing table that a clean one has not ingested yet."""

    claim: CommitClaim
    files: tuple[str, ...]
    quarantine_claim: CommitClaim
    quarantine_files: tuple[str, ...]  # those of them whose bad rows are not in quarantine yet


def increment(lake: Lake, step: TransformStep, forced: frozenset[date]) -> Increment | None:
    """None when nothing is new; `forced` days are recomputed in any case."""
    claims = []
    touched: frozenset[date] | None = forced
    affecting_day_before = forced
    is_due = bool(forced)
    for source in step.sources:
        since = lake.ingested_version(step.target, source)
        changes = lake.changes(source, since)
        if changes is None:
            continue
        claims.append(CommitClaim(source.path, since, changes.version))
        days: frozenset[date] | None = frozenset()
        if source.path not in step.references:
            days = _touched(lake, source, since, changes)
        is_due = is_due or days is None or bool(days)
        affecting_day_before |= _affecting_day_before(days, changes)
        touched = None if touched is None or days is None else touched | days
    if not claims or not is_due:
        return None
    versions = {claim.source: claim.until for claim in claims}
    if not step.target.is_dated:
        return Increment(tuple(claims), versions, frozenset())
    if touched is None:
        touched = affecting_day_before = lake.dates(step.target) | _days(lake, step, versions)
    return Increment(tuple(claims), versions, step.recomputed(touched, affecting_day_before))


def source_dates(lake: Lake, step: TransformStep, due: Increment) -> frozenset[date] | None:
    """Days of its sources that a step reads; None: all."""
    if step.target.is_dated:
        return step.read(due.dates)
    days = _days(lake, step, due.versions)
    if step.weeks is None or not days:
        return None
    first = max(days) - timedelta(weeks=step.weeks)
    return frozenset(day for day in days if day > first)


def landing_increment(lake: Lake, step: CleanStep) -> LandingIncrement | None:
    """None when nothing landed.

    Bad rows go to quarantine in a commit of its own, before the good ones are ingested: so nothing
    is ingested with its bad rows lost, and a crash between the two puts none there twice.
    """
    since = lake.ingested_version(step.target, step.source)
    changes = lake.changes(step.source, since)
    if changes is None or not changes.files:
        return None
    claim = CommitClaim(step.source.path, since, changes.version)
    quarantine_since = lake.ingested_version(step.quarantine_table, step.source)
    quarantine_claim = CommitClaim(step.source.path, quarantine_since, changes.version)
    if quarantine_since is None or (since is not None and since >= quarantine_since):
        return LandingIncrement(claim, changes.files, quarantine_claim, changes.files)
    rest = lake.changes(step.source, quarantine_since)
    known = frozenset(changes.files)
    files = () if rest is None else tuple(uri for uri in rest.files if uri in known)
    return LandingIncrement(claim, changes.files, quarantine_claim, files)


def _touched(
    lake: Lake, source: Table, since: int | None, changes: TableChanges
) -> frozenset[date] | None:
    """Days of a source that changed; None: any of them may have."""
    if not source.is_dated:
        return None if changes.files or changes.dates is None else frozenset()
    if since is None:
        return lake.dates(source, changes.version)
    return changes.dates


def _affecting_day_before(days: frozenset[date] | None, changes: TableChanges) -> frozenset[date]:
    if days is None:
        return frozenset()
    return days if changes.affecting_day_before is None else days & changes.affecting_day_before


def _days(lake: Lake, step: TransformStep, versions: Mapping[str, int]) -> frozenset[date]:
    dated = (each for each in step.sources if each.is_dated and each.path in versions)
    return frozenset().union(*(lake.dates(each, versions[each.path]) for each in dated))
