"""The pages' words in Russian; English is what the templates are written in."""

from litestar.datastructures import Headers

from rookery.web.words import alerts, devices, factors, insights, mesh, shell

LANGUAGES = ("en", "ru")
PARTS = (shell, devices, factors, mesh, insights, alerts)
_RUSSIAN: dict[str, str] = {text: word for part in PARTS for text, word in part.WORDS.items()}


class PageTranslation:
    """Words in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._words = _RUSSIAN if language == "ru" else {}

    def __call__(self, text: str) -> str:
        return self._words.get(text, text)


def preferred_language(headers: Headers) -> str:
    """What the browser prefers, of the two there are."""
    weighed = []
    for part in headers.get("accept-language", "")[:256].split(","):
        tag, _, parameters = part.strip().partition(";")
        language = tag.strip().lower().partition("-")[0]
        if language in LANGUAGES:
            weighed.append((_quality(parameters), language))
    return max(weighed, key=lambda each: each[0], default=(1.0, "en"))[1]


def _quality(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
