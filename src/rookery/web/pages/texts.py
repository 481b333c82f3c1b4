"""The pages' words in Russian; English is what the templates are written in."""

# ruff: noqa: RUF001 - Cyrillic letters are what this is about

from litestar.datastructures import Headers

_RUSSIAN = {
    "rookery hub": "узел rookery",
    "Sign in": "Войти",
    "Sign out": "Выйти",
    "Register": "Зарегистрироваться",
    "Registration": "Регистрация",
    "Login": "Логин",
    "Password": "Пароль",
    "at least 10 characters": "не менее 10 символов",
    "My devices": "Мои устройства",
    "Device": "Устройство",
    "Name": "Имя",
    "State": "Состояние",
    "Last seen": "Последняя связь",
    "online": "на связи",
    "silent": "молчит",
    "never": "не выходило на связь",
    "Connect": "Подключиться",
    "Rename": "Переименовать",
    "Release": "Отказаться от устройства",
    "You have no devices yet. Add one, or claim one that already reports.": (
        "Устройств пока нет. Добавьте новое или закрепите за собой то, что уже на связи."
    ),
    "Add a device": "Добавить устройство",
    "Make a code": "Создать код",
    "Run this on the device; the code works once, for a day:": (
        "Выполните это на устройстве; код действует один раз, в течение суток:"
    ),
    "Claim a device": "Закрепить устройство за собой",
    "Claim": "Закрепить",
    "MAC address": "MAC-адрес",
    "Code that the device shows": "Код, который показывает устройство",
    "Your routers report here. Sign in to see yours and to control them.": (
        "Сюда выходят на связь ваши маршрутизаторы. Войдите, чтобы видеть их и управлять ими."
    ),
    "Steps": "Ход подключения",
    "Connected": "Подключено",
    "Not connected": "Подключиться не удалось",
    "Console": "Консоль",
    "Method": "Метод",
    "Parameters (JSON)": "Параметры (JSON)",
    "Call": "Вызвать",
    "Server": "Сервер",
    "Seat": "Место",
    "Ticket": "Билет",
    "This does not work": "Не получилось",
    "Back to the first page": "На главную",
    "Without JavaScript the page waits and shows the result at the end.": (
        "Без JavaScript страница подождёт и покажет результат в конце."
    ),
    "From the command line:": "Из командной строки:",
}


class Texts:
    """Words in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._words = _RUSSIAN if language == "ru" else {}

    def __call__(self, text: str) -> str:
        return self._words.get(text, text)


def texts_for(headers: Headers) -> Texts:
    """In the language that the browser prefers, of the two there are."""
    weighed = []
    for part in headers.get("accept-language", "")[:256].split(","):
        tag, _, parameters = part.strip().partition(";")
        language = tag.strip().lower().partition("-")[0]
        if language in ("en", "ru"):
            weighed.append((_quality(parameters), language))
    best = max(weighed, key=lambda each: each[0], default=(1.0, "en"))
    return Texts(best[1])


def _quality(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
