"""Many silent at once are one alert, which names what they share (F14)."""

from rookery.fleet.alerts.alert import AlertCondition
from rookery.fleet.alerts.silence import SeenDevice, device_key, silences

SITE = "site 192.0.2.0/24"
OTHER = "site 198.51.100.0/24"
NODE = "node abcd"


def device(
    number: int, *shares: str, is_silent: bool = True, name: str = "", last_seen: float = 100
) -> SeenDevice:
    mac = f"02:fc:00:00:00:{number:02x}"
    return SeenDevice(mac=mac, name=name, is_silent=is_silent, last_seen=last_seen, shares=shares)


def keys(conditions: list[AlertCondition]) -> list[str]:
    return [each.key for each in conditions]


def test_nobody_is_silent() -> None:
    assert silences([device(1, SITE, is_silent=False)], ()) == []


def test_one_is_told_by_its_name_and_from_its_last_report() -> None:
    (told,) = silences([device(1, SITE, name="attic"), device(2, SITE, is_silent=False)], ())
    assert told.key == device_key("02:fc:00:00:00:01")
    assert (told.title, told.began_at) == ("attic is silent", 100)
    assert told.entities == ("router 02:fc:00:00:00:01",)


def test_two_are_two() -> None:
    found = silences([device(1, SITE), device(2, SITE)], ())
    assert keys(found) == [device_key(f"02:fc:00:00:00:0{each}") for each in (1, 2)]


def test_three_of_a_site_are_one_which_names_it() -> None:
    three = [device(each, SITE, last_seen=100 + each) for each in (1, 2, 3)]
    elsewhere = [device(each, OTHER, is_silent=False) for each in (4, 5)]
    (told,) = silences([*three, *elsewhere], ())
    assert (told.kind, told.severity, told.cause) == ("devices_silent", "critical", SITE)
    assert (told.title, told.note) == (f"3 devices are silent: {SITE}", "3 of 3")
    assert told.began_at == 101
    assert set(told.absorbs) == {device_key(each.mac) for each in three}


def test_few_of_a_large_site_are_not_the_sites_fault() -> None:
    few = [device(each, SITE) for each in range(3)]
    most = [device(each, SITE, is_silent=False) for each in range(10, 20)]
    assert len(silences([*few, *most], ())) == 3


def test_what_explains_most_comes_first_and_the_rest_stays_alone() -> None:
    """Four behind a node at two sites: the node it is, not the sites."""
    devices = [
        *(device(each, SITE, NODE) for each in (1, 2)),
        *(device(each, OTHER, NODE) for each in (3, 4)),
        device(5, OTHER),
    ]
    assert keys(silences(devices, ())) == [
        f"devices silent {NODE}",
        device_key("02:fc:00:00:00:05"),
    ]


def test_of_two_that_explain_as_much_the_rarer_is_named() -> None:
    silent = [device(each, SITE, NODE) for each in (1, 2, 3)]
    present = [device(each, SITE, is_silent=False) for each in (4, 5)]
    assert keys(silences([*silent, *present], ())) == [f"devices silent {NODE}"]


def test_a_group_stays_one_until_its_last_device_is_back() -> None:
    key = f"devices silent {SITE}"
    devices = [device(1, SITE), *(device(each, SITE, is_silent=False) for each in range(2, 9))]
    (told,) = silences(devices, (key,))
    assert (told.key, told.title) == (key, f"1 device is silent: {SITE}")


def test_a_group_that_is_open_is_not_exchanged_for_a_larger_one() -> None:
    devices = [device(each, SITE, NODE) for each in (1, 2, 3)]
    devices += [device(each, OTHER, NODE) for each in (4, 5)]
    assert keys(silences(devices, (f"devices silent {SITE}",)))[0] == f"devices silent {SITE}"


def test_many_with_nothing_in_common_are_one_as_well() -> None:
    (told,) = silences([device(each, f"site {each}") for each in range(12)], ())
    assert (told.title, told.cause) == ("12 devices are silent at once", "")
    (still,) = silences([device(1)], (told.key,))
    assert still.key == told.key
