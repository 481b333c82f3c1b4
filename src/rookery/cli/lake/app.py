"""`rookery lake`: land observations, run the pipeline, query its tables.

Its verbs are imported when they are called.
"""

from rookery.cli.verb import CliVerb, group

VERBS = (
    CliVerb(
        "run",
        "lake.run:run",
        "Land spools and take what is new through all stages, once or again and again.",
        "rookery lake run --spool rookery-hub --every 5m",
    ),
    CliVerb(
        "land",
        "lake.land:land",
        "Only bring what spools hold into the landing tables; needs no Java.",
        "rookery lake land --spool rookery-hub",
    ),
    CliVerb(
        "status",
        "lake.status:status",
        "List the tables that there are: rows, files, age, and what each has not taken in.",
        "rookery lake status",
    ),
    CliVerb(
        "tables",
        "lake.tables:tables",
        "List all tables with what they are about, or the columns of one.",
        "rookery lake tables insights/availability",
    ),
    CliVerb(
        "query",
        "lake.query:query",
        "Ask by SQL, about now or about the past.",
        'rookery lake query "SELECT device, share FROM insights.availability ORDER BY share"',
    ),
    CliVerb(
        "check",
        "lake.check:check",
        "Count whether the stages add up; exit code 1 when they do not.",
        "rookery lake check",
    ),
    CliVerb(
        "backfill",
        "lake.run:backfill",
        "Compute all tables of some days anew.",
        "rookery lake backfill 2026-03-02 2026-03-04",
    ),
    CliVerb(
        "compact",
        "lake.maintenance:compact",
        "Make few files of many; the rows stay what they are.",
        "rookery lake compact",
    ),
    CliVerb(
        "vacuum",
        "lake.maintenance:vacuum",
        "Remove files that no version needs any more; forget days that are old enough.",
        "rookery lake vacuum --keep 7d",
    ),
    CliVerb(
        "export",
        "lake.export:export",
        "Write the forecast for hubs and the advice for nodes, signed.",
        "rookery lake export --id analyst --out advice",
    ),
    CliVerb(
        "demo",
        "lake.demo:demo",
        "Generate days of a fleet with known faults, and see what the lake makes of them.",
        "rookery lake demo --days 3 --routers 24",
    ),
)

app = group("lake", VERBS)
