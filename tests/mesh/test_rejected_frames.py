"""Who is named for what, however hard somebody tries to be forgotten."""

from rookery.mesh.rejected_frames import (
    MORE,
    OUTSIDERS_MAX,
    REASONS_MAX,
    REFUSED_MAX,
    STRANGERS,
    RejectedFrames,
)

MALLORY = "mallory" + "y" * 45
HER_NAME = MALLORY[:8]


def test_a_culprit_is_named_with_every_reason() -> None:
    refused = RejectedFrames()
    for _ in range(3):
        refused.note(MALLORY, "forged", is_member=True)
    refused.note(MALLORY, "too long", is_member=True)
    assert refused.most_common() == [((HER_NAME, "forged"), 3), ((HER_NAME, "too long"), 1)]


def test_one_culprit_has_a_few_reasons_and_no_more() -> None:
    refused = RejectedFrames()
    for number in range(1000):
        refused.note(MALLORY, f"{number} bytes", is_member=True)
    assert len(refused) == REASONS_MAX
    assert refused[HER_NAME, MORE] == 1000 - REASONS_MAX + 1
    assert refused.total() == 1000


def test_outsiders_share_a_name_once_there_are_many() -> None:
    refused = RejectedFrames()
    for number in range(1000):
        refused.note(f"{number:08}…", "no member", is_member=False)
    assert refused[STRANGERS, "no member"] == 1000 - OUTSIDERS_MAX
    assert len(refused) == OUTSIDERS_MAX + 1
    refused.note("00000000…", "no member", is_member=False)
    assert refused["00000000", "no member"] == 2


def test_whoever_was_named_as_a_member_keeps_the_name() -> None:
    refused = RejectedFrames()
    for number in range(OUTSIDERS_MAX):
        refused.note(f"{number:08}…", "no member", is_member=False)
    refused.note(MALLORY, "no member any more", is_member=True)
    refused.note(MALLORY, "a revoked certificate", is_member=False)
    assert refused[HER_NAME, "a revoked certificate"] == 1


def test_a_full_table_forgets_the_rarest() -> None:
    refused = RejectedFrames()
    for _ in range(2):
        refused.note(MALLORY, "forged", is_member=True)
    for number in range(2 * REFUSED_MAX):
        refused.note(f"{number:08}…", "once", is_member=True)
    assert len(refused) == REFUSED_MAX
    assert refused[HER_NAME, "forged"] == 2
    assert ("00000000", "once") not in refused


def test_an_outsider_that_was_forgotten_makes_room_for_another() -> None:
    refused = RejectedFrames()
    for number in range(OUTSIDERS_MAX):
        refused.note(f"{number:08}…", "once", is_member=False)
    for number in range(1000, 1000 + REFUSED_MAX - OUTSIDERS_MAX + 1):
        refused.note(f"{number:08}…", "once", is_member=True)
    assert ("00000000", "once") not in refused
    refused.note("another…", "once", is_member=False)
    assert refused["another…", "once"] == 1


def test_a_culprit_may_lose_one_reason_and_keep_another() -> None:
    refused = RejectedFrames()
    refused.note(MALLORY, "once", is_member=True)
    for _ in range(2):
        refused.note(MALLORY, "twice", is_member=True)
    for number in range(REFUSED_MAX - 1):
        refused.note(f"{number:08}…", "once", is_member=True)
    assert (HER_NAME, "once") not in refused
    assert refused[HER_NAME, "twice"] == 2
