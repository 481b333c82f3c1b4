"""Words of the cabinet."""

WORDS: dict[str, str] = {
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
