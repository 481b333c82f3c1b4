"""What delta-rs draws becomes a line."""

from rookery.lake.engine.delta import delta_error_text


def test_a_tree_of_causes_is_one_line() -> None:
    drawn = (
        "Generic error\n   \x1b[31m↳\x1b[0m Unable to copy\n    \x1b[31m↳\x1b[0m No space left\n\n"
    )
    assert delta_error_text(ValueError(drawn)) == "Generic error: Unable to copy: No space left"


def test_a_plain_error_stays_as_it_is() -> None:
    assert delta_error_text(ValueError("no room")) == "no room"
