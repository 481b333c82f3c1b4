"""The soak of the lake finds what grows, and nothing else."""

from bench.lake_resident import Use, grown

FLAT = Use(20, 1.0, 200.0, 180.0, 75.0, 27_000, 659, 400, 1900.0, 210.0)


def test_what_stays_the_same_is_no_growth() -> None:
    warm = FLAT._replace(run=160, metaspace=195.0, code_cache=130.0)
    assert grown([FLAT, warm, warm._replace(run=300, heap=215.0, code_cache=140.0)]) == []


def test_what_grows_is_named_with_the_run_that_it_is_compared_with() -> None:
    warm = FLAT._replace(run=160, code_cache=130.0)
    leaking = warm._replace(run=300, heap=300.0, metaspace=360.0, code_cache=180.0)
    assert grown([FLAT, warm, leaking]) == [
        "heap: 300 MB, 1.50 of what it was at run 20",
        "metaspace: 360 MB, 2.00 of what it was at run 20",
        "code cache: 180 MB, 1.38 of what it was at run 160",
    ]
