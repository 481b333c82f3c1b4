"""How full servers will be, in plain Python."""

from collections.abc import Mapping

from tests.lake.oracle import seasonal


def forecast(
    hours: Mapping[str, Mapping[int, tuple[int, int]]],
) -> set[tuple[str, int, float, float, int, bool, float]]:
    """As in insights/server_load_forecast, hours by number, from share in ppm and reports."""
    now = max(number for known in hours.values() for number in known)
    rows = set()
    for server, known in hours.items():
        for target in range(now, now + 48):
            found = seasonal.expected(known, now, target)
            if found is None:
                continue
            apart = sorted(abs(each - found.value) for each in found.values)
            doubt = max(0, 1_000_000 - 2 * apart[(len(apart) - 1) // 2])
            sure = seasonal.confidence_ppm(found, len(found.values)) * doubt // 1_000_000
            shares = (found.value / 1_000_000, found.high / 1_000_000)
            evidence = (len(found.values), found.is_weekly, sure / 1_000_000)
            rows.add((server, target, *shares, *evidence))
    return rows
