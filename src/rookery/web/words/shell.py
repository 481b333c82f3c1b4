"""Words of what is on every page, and of the account."""

WORDS: dict[str, str] = {
    "Skip to the content": "К содержанию",
    "Menu": "Меню",
    "Pages": "Страницы",
    "Personal": "Личное",
    "Fleet": "Парк",
    "Account": "Учётная запись",
    "Account menu": "Меню учётной записи",
    "Entrance": "Вход",
    "Overview": "Обзор",
    "All devices": "Все устройства",
    "Map": "Карта",
    "Matrix": "Матрица",
    "Servers": "Серверы",
    "Incidents": "Инциденты",
    "Insights": "Аналитика",
    "Topics": "Темы",
    "Accounts": "Учётные записи",
    "Audit": "Аудит",
    "System": "Система",
    "Search": "Поиск",
    "Found": "Найдено",
    "Nothing found": "Ничего не найдено",
    "Live": "В эфире",
    "Reconnecting": "Восстановление связи",
    "Stale": "Устарело",
    "Signed out": "Сеанс завершён",
    "Language": "Язык",
    "Theme": "Тема",
    "Language and theme": "Язык и тема",
    "Light": "Светлая",
    "Dark": "Тёмная",
    "first page": "главная страница",
    "Copy as CLI": "Скопировать команду",
    "Copy the command": "Скопировать команду",
    "Copied": "Скопировано",
    "Time": "Время",
    "API": "API",
    "{} ago": "{} назад",
    "s": "с",
    "min": "мин",
    "h": "ч",
    "d": "д",
    "user": "пользователь",
    "operator": "оператор",
    "admin": "администратор",
    "Every device within reach, wherever it is": "Любое устройство под рукой, где бы оно ни было",
    "Behind any NAT": "За любым NAT",
    "A device needs one command and no open port; it finds the hub, and you find it here.": (
        "Устройству нужна одна команда и ни одного открытого порта: оно само находит узел, "
        "а вы находите его здесь."
    ),
    "Reached step by step": "Связь шаг за шагом",
    "See each step of a connection as it happens, then call the device's methods from the page "
    "or a terminal.": (
        "Смотрите, как устанавливается связь, шаг за шагом, и вызывайте методы устройства "
        "со страницы или из терминала."
    ),
    "A mesh that explains itself": "Сеть, которая себя объясняет",
    (
        "Which route packets take, why, what it was like at four in the morning, and "
        "what will break next."
    ): ("Каким путём идут пакеты и почему, что было в четыре часа утра и что сломается следующим."),
    "No account yet?": "Ещё нет учётной записи?",
    "You have an account?": "Уже есть учётная запись?",
    "At least 10 characters; a sentence is easier to remember.": (
        "Не менее 10 символов; фразу запомнить проще."
    ),
    "Current password": "Текущий пароль",
    "New password": "Новый пароль",
    "Change password": "Сменить пароль",
    "At least 10 characters. Every other session ends.": (
        "Не менее 10 символов. Все остальные сеансы завершатся."
    ),
    "The password is changed; every other session has ended.": (
        "Пароль изменён; все остальные сеансы завершены."
    ),
    "Kept with your account, in every browser you sign in with.": (
        "Хранится в учётной записи, действует в любом браузере, где вы вошли."
    ),
    "Sessions": "Сеансы",
    "Sign out all others": "Завершить все остальные",
    "Browser": "Браузер",
    "Address": "Адрес",
    "Signed in": "Вход",
    "Last used": "Использован",
    "Actions": "Действия",
    "unknown browser": "неизвестный браузер",
    "this one": "этот",
    "API tokens": "Токены API",
    "For programs and the command line. A token acts as you, within its scopes, and makes no other "
    "tokens.": (
        "Для программ и командной строки. Токен действует от вашего имени в пределах своих прав "
        "и не создаёт других токенов."
    ),
    "Copy the token now: it is shown only this once.": (
        "Скопируйте токен сейчас: он показывается только один раз."
    ),
    "Copy": "Скопировать",
    "Scopes": "Права",
    "Made": "Создан",
    "Expires": "Истекает",
    "until revoked": "до отзыва",
    "30 days": "30 дней",
    "a year": "год",
    "what it is for": "для чего он",
    "Make a token": "Создать токен",
    "Revoke": "Отозвать",
    "read": "чтение",
    "connect": "подключение",
    "write": "изменение",
    "Who may sign in to this hub, and with which role.": (
        "Кто может входить на этот узел и с какой ролью."
    ),
    "Find by login": "Найти по логину",
    "Find": "Найти",
    "All accounts": "Все учётные записи",
    "Role": "Роль",
    "on": "включён",
    "Last sign-in": "Последний вход",
    "no open session": "нет открытых сеансов",
    "Created": "Создана",
    "you": "вы",
    "No account has this login": "Учётной записи с таким логином нет",
    "A login is matched as a whole.": "Логин ищется целиком.",
    "Add an account": "Добавить учётную запись",
    "Hand the password over in person; they can change it on their account page.": (
        "Передайте пароль лично: владелец сможет сменить его на странице своей учётной записи."
    ),
    "The account is removed.": "Учётная запись удалена.",
    "The account is added.": "Учётная запись добавлена.",
    "The role is changed.": "Роль изменена.",
    "The password is reset; all sessions and tokens of the account have ended.": (
        "Пароль сброшен; все сеансы завершены, токены отозваны."
    ),
    "Changing accounts takes a fresh proof that it is you.": (
        "Чтобы менять учётные записи, подтвердите, что это вы."
    ),
    (
        "Only another administrator can change your role or remove your account. "
        "Change your password on"
    ): (
        "Изменить вашу роль или удалить вашу учётную запись может только другой администратор. "
        "Свой пароль меняйте на"
    ),
    "your account page": "странице учётной записи",
    (
        "A user has devices; an operator also sees all devices and servers; "
        "an administrator also manages accounts and reads the audit."
    ): (
        "Пользователь управляет своими устройствами, оператор видит ещё и все устройства "
        "и серверы, администратор также управляет учётными записями и читает аудит."
    ),
    "Changes of this account": "Изменения этой учётной записи",
    "Change role": "Изменить роль",
    "Reset the password": "Сбросить пароль",
    "Ends every session and token of the account. Second factors stay.": (
        "Все сеансы завершатся, токены будут отозваны. Второй фактор останется."
    ),
    "Reset password": "Сбросить",
    "Remove this account": "Удаление учётной записи",
    "Its sessions and tokens end, and its devices belong to nobody.": (
        "Её сеансы завершатся, токены будут отозваны, а устройства останутся без владельца."
    ),
    "Remove…": "Удалить…",
    "Auto": "Авто",
    "not yet": "ещё нет",
    "page": "страница",
    "device": "устройство",
    "server": "сервер",
    "member": "участник",
}
