"""When links will be worse, in plain Python."""

from collections.abc import Mapping
from statistics import median_low

from tests.lake.oracle import seasonal

Link = tuple[str, str, str]
Hour = tuple[int, int | None, int]  # loss in ppm, round trip in µs, samples


def advice(
    links: Mapping[Link, Mapping[int, Hour]],
) -> set[tuple[str, str, str, int, int, float, float, int, int]]:
    """As in insights/link_cost_advice, hours by number, of links in both directions."""
    now = max(number for known in links.values() for number in known)
    rows = set()
    for link, known in links.items():
        bad = {}
        factors = _factors(known)
        for target in range(now, now + 48):
            found = seasonal.expected(factors, now, target)
            if found is not None and found.value >= 1_100_000:
                agreeing = sum(each >= 1_100_000 for each in found.values)
                bad[target] = (found, seasonal.confidence_ppm(found, agreeing))
        while bad:
            first = last = min(bad)
            window = [bad.pop(first)]
            while last + 1 in bad:
                last += 1
                window.append(bad.pop(last))
            rows.add(
                (
                    *link,
                    first,
                    last + 1,
                    max(found.value for found, _ in window) / 1_000_000,
                    min(sure for _, sure in window) / 1_000_000,
                    min(len(found.values) for found, _ in window),
                    sum(found.samples for found, _ in window),
                )
            )
    return rows


def _factors(known: Mapping[int, Hour]) -> dict[int, tuple[int, int]]:
    usual_loss = median_low(loss for loss, _, _ in known.values())
    trips = [rtt for _, rtt, _ in known.values() if rtt is not None]
    usual_rtt = median_low(trips) if trips else 1
    factors = {}
    for number, (loss, rtt, samples) in known.items():
        slow = 0 if rtt is None else max(rtt - usual_rtt, 0) * 1_000_000 // max(usual_rtt, 1)
        worse = 10 * max(loss - usual_loss, 0) + slow
        factors[number] = (min(1_000_000 + worse, 2_000_000), samples)
    return factors
