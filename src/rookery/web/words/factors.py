"""Words of second factors."""

WORDS: dict[str, str] = {
    "Second factors": "Второй фактор",
    "Set up": "Настроить",
    "Manage": "Управлять",
    "Beside the password: a code of an app, or a passkey instead of both.": (
        "В дополнение к паролю — код из приложения; вместо пароля и кода — ключ доступа."
    ),
    "None is set up: the password alone signs in.": (
        "Не настроен: для входа достаточно одного пароля."
    ),
    "A second factor is set up: the password alone does not sign in.": (
        "Настроен: одного пароля для входа недостаточно."
    ),
    "This hub asks for a second factor. Set one up; until then nothing else is open to you.": (
        "Этот узел требует второй фактор. Настройте его — до этого остальное вам недоступно."
    ),
    "Authenticator app": "Приложение-аутентификатор",
    "An app on your phone shows a new six-digit code every half minute.": (
        "Приложение на телефоне каждые полминуты показывает новый шестизначный код."
    ),
    "Set up an app": "Настроить приложение",
    "Scan this with the app, then type the code that it shows.": (
        "Отсканируйте код приложением и введите цифры, которые оно покажет."
    ),
    "QR code of the secret": "QR-код с секретом",
    "Secret, to type by hand": "Секрет для ввода вручную",
    "Code that the app shows": "Код из приложения",
    "Confirm": "Подтвердить",
    "An app is set up.": "Приложение настроено.",
    "Remove the app": "Отключить приложение",
    "Passkeys": "Ключи доступа",
    "A passkey is kept by your device or a security key, and signs in without a password.": (
        "Ключ доступа хранится на устройстве или в аппаратном ключе и позволяет входить без пароля."
    ),
    "Name of the passkey": "Название ключа",
    "as in: work laptop": "например: рабочий ноутбук",
    "Add a passkey": "Добавить ключ доступа",
    "Added": "Добавлен",
    "Remove": "Удалить",
    "This browser offers no passkeys here: they need https and a host name.": (
        "Здесь браузер не поддерживает ключи доступа: нужны https и имя узла вместо адреса."
    ),
    "Recovery codes": "Коды восстановления",
    "Each replaces the second factor once, should you lose it. Left:": (
        "Каждый один раз заменяет второй фактор, если вы его потеряете. Осталось:"
    ),
    "Make ten new ones": "Выпустить десять новых",
    "Keep these recovery codes in a safe place: they are shown only this once.": (
        "Сохраните эти коды восстановления в надёжном месте: больше они показаны не будут."
    ),
    "It is done. See all factors": "Готово. Показать все факторы",
    "Changing anything here takes a fresh proof that it is you.": (
        "Чтобы что-то изменить, подтвердите, что это вы."
    ),
    "Making a token takes a fresh proof that it is you.": (
        "Чтобы создать токен, подтвердите, что это вы."
    ),
    "Prove that it is you": "Подтвердите, что это вы",
    "It is good for a quarter of an hour.": "Подтверждение действует четверть часа.",
    "Code of the second factor": "Код второго фактора",
    "Only if you set one up: of your app, or a recovery code.": (
        "Только если он настроен: из приложения или код восстановления."
    ),
    "Of your app, or a recovery code.": "Из приложения или код восстановления.",
    "Sign in with a passkey": "Войти с ключом доступа",
    "Use a passkey": "Использовать ключ доступа",
    "The browser gave no passkey; try again.": (
        "Браузер не предоставил ключ доступа; попробуйте ещё раз."
    ),
    "This device has a passkey of yours already.": "На этом устройстве уже есть ваш ключ доступа.",
}
