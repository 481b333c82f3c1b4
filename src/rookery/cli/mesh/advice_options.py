"""Options of `rookery node` about advice: whose, from where, and for whom."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.errors import UsageError
from rookery.identity.hashname import is_hashname

if TYPE_CHECKING:
    from rookery.runtime.node.advice import AdviceSettings


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AdviceOptions:
    """Whose word it takes on how links will be; nobody's unless named."""

    advisors: Annotated[
        tuple[str, ...],
        Parameter(
            name="--advisor",
            negative="",
            show_default=False,
            help="HASHNAME of whose advice about links is believed; repeat for more.",
        ),
    ] = ()
    file: Annotated[
        Path | None,
        Parameter(
            name="--advice",
            help="File that a lake exports, with what it expects of the links; looked at all the "
            "time. Without it members are asked.",
        ),
    ] = None
    members: Annotated[
        tuple[str, ...],
        Parameter(
            name="--advice-from",
            negative="",
            show_default=False,
            help="HASHNAME of a member to ask for advice, if not the advisors themselves; repeat "
            "for more.",
        ),
    ] = ()
    serve: Annotated[
        bool,
        Parameter(
            name="--serve-advice",
            negative="",
            show_default=False,
            help="Give other members the advice that is followed here.",
        ),
    ] = False
    no_advice: Annotated[
        bool,
        Parameter(
            name="--no-advice",
            negative="",
            show_default=False,
            help="Follow no advice, whatever else is said.",
        ),
    ] = False

    def settings(self, realm: Path) -> "AdviceSettings | None":
        """None: there is none to follow; UsageError for what cannot be meant."""
        for option, names in (("--advisor", self.advisors), ("--advice-from", self.members)):
            for name in names:
                if not is_hashname(name):
                    raise UsageError(f"{option} {name}: give the hashname of 52 characters")
        if self.no_advice:
            return None
        if not self.advisors:
            if self.file or self.members or self.serve:
                raise UsageError("name an --advisor HASHNAME, whose signature is believed")
            return None
        from rookery.runtime.node.advice import SWITCH, AdviceSettings  # few nodes need it

        return AdviceSettings(
            switch=realm / SWITCH,
            advisors=frozenset(self.advisors),
            file=self.file,
            members=self.members,
            is_served=self.serve,
        )


ADVICE_OPTIONS = AdviceOptions()
