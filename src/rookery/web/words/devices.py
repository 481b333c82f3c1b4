"""Words of the pages of devices."""

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
    "Your devices report here. Sign in to see and control them.": (
        "Сюда выходят на связь ваши устройства. Войдите, чтобы видеть их и управлять ими."
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
    "Filter devices": "Отбор устройств",
    "Name or MAC": "Имя или MAC",
    "All": "Все",
    "Devices were added or released.": "Список устройств изменился.",
    "Show": "Показать",
    "Reached": "Связь",
    "Traffic": "Трафик",
    "Queue": "Очередь",
    "Pages of the list": "Страницы списка",
    "Previous": "Назад",
    "Page": "Страница",
    "Next": "Дальше",
    "No device fits": "Ничего не подошло",
    "Change the filter, or look at all of your devices.": (
        "Измените условия отбора или посмотрите все свои устройства."
    ),
    "Add your first device": "Добавьте первое устройство",
    (
        "A code and one command bring a router, a gateway or this very machine here. It "
        "opens no port, whatever NAT it is behind."
    ): (
        "Код и одна команда приведут сюда маршрутизатор, шлюз или эту самую машину. Порты "
        "открывать не нужно, за каким бы NAT она ни была."
    ),
    "direct": "напрямую",
    "relayed": "через других",
    "unreachable": "недоступно",
    "It can be connected to once it reports.": (
        "Подключиться можно будет, когда устройство выйдет на связь."
    ),
    "Owner": "Владелец",
    "No owner": "Без владельца",
    "Parts of this page": "Разделы страницы",
    "Telemetry": "Телеметрия",
    "Routes": "Маршруты",
    "Events": "События",
    "Keys and access": "Ключи и доступ",
    "Uptime": "Время работы",
    "Load": "Нагрузка",
    "Memory": "Память",
    "Disk": "Диск",
    "Temperature": "Температура",
    "Wi-Fi signal": "Сигнал Wi-Fi",
    "Waiting requests": "Запросов в очереди",
    "last reports": "последние отчёты",
    "received": "принято",
    "sent": "отправлено",
    "load": "нагрузка",
    "Agent": "Агент",
    "Reports from": "Отчёты приходят с",
    "First seen": "Впервые на связи",
    "Claimed": "Закреплено",
    "Reports given up": "Потеряно отчётов",
    "From the command line": "Из командной строки",
    "Interfaces": "Интерфейсы",
    "Received": "Принято",
    "Sent": "Отправлено",
    "Packets in": "Пакетов принято",
    "Packets out": "Пакетов отправлено",
    "Errors": "Ошибки",
    "Drops": "Отброшено",
    "It reports none.": "О них устройство не сообщает.",
    "No report yet": "Отчётов пока нет",
    "Its facts are here as soon as its agent reports. Start the agent on the device:": (
        "Сведения появятся, как только агент выйдет на связь. Запустите агент на устройстве:"
    ),
    "Why this route": "Почему такой путь",
    "a relay of another owner": "ретранслятор другого владельца",
    "Candidate routes": "Рассмотренные пути",
    "Route": "Маршрут",
    "Cost": "Цена",
    "Why": "Почему",
    "in use": "используется",
    "There is none.": "Путей нет.",
    "This hub has no mesh node": "У этого узла нет узла сети",
    (
        "Routes are those of a mesh node beside the hub. Start the hub with the control "
        "folder of one:"
    ): ("Маршруты показывает участник сети рядом с узлом. Запустите узел, указав его папку:"),
    "This device is not in the mesh": "Устройство не входит в сеть",
    (
        "It reports to the hub by itself. It has routes once a node with the same keys as "
        "its agent is a member of the realm:"
    ): (
        "Оно само выходит на связь с узлом. Маршруты появятся, когда участником сети станет "
        "программа с теми же ключами, что у агента:"
    ),
    "Links of the node on this device": "Соединения участника сети на этом устройстве",
    "Links": "Каналы",
    "Peer": "Сосед",
    "Path": "Способ",
    "Round trip": "Туда и обратно",
    "Loss": "Потери",
    "Rate": "Скорость",
    "It reports no links": "О соединениях устройство не сообщает",
    ("Links are those of a mesh node that runs on the device. Tell its agent where that is:"): (
        "Это соединения участника сети, работающего на устройстве. Укажите агенту, где он:"
    ),
    "Requests that wait for it": "Запросы, ожидающие устройство",
    "Request": "Запрос",
    "Bytes": "Байт",
    "Expires in": "Истекает через",
    "too late to cancel": "отменить уже нельзя",
    "Cancel": "Отменить",
    (
        "Queues are those of a mesh node beside the hub. Start the hub with the control "
        "folder of one:"
    ): ("Очереди хранит участник сети рядом с узлом. Запустите узел, указав его папку:"),
    "Requests wait for members of the mesh; this device reports to the hub by itself.": (
        "Запросы ждут участников сети, а это устройство само выходит на связь с узлом."
    ),
    "Nothing waits for it": "Очередь пуста",
    (
        "Requests that cannot be delivered at once wait here, and may be cancelled until "
        "they are on their way. Put one in:"
    ): (
        "Здесь ждут запросы, которые нельзя доставить сразу; пока они не в пути, их можно "
        "отменить. Поставить запрос в очередь:"
    ),
    "Time range": "Промежуток времени",
    "Last reports": "Последние отчёты",
    "1h": "1 ч",
    "24h": "24 ч",
    "7d": "7 дн",
    "14d": "14 дн",
    "This needs a lake.": "Для этого нужно озеро данных.",
    "Reports as they came, from this hub's memory.": (
        "Отчёты по мере поступления, из памяти этого узла."
    ),
    "From the lake, one value for every": "Из озера данных, одно значение на каждые",
    "Nothing is known of this time.": "Об этом времени ничего не известно.",
    "It has no sensor.": "Датчика нет.",
    "It is in no Wi-Fi network.": "Устройство не подключено к Wi-Fi.",
    "Loading…": "Загрузка…",
    "Memory and disk": "Память и диск",
    "memory": "память",
    "disk": "диск",
    "temperature": "температура",
    "signal": "сигнал",
    "Further back": "Более ранние данные",
    (
        "This hub remembers the last reports only. With a lake beside it, days and weeks are "
        "here too:"
    ): ("Узел помнит только последние отчёты. С озером данных рядом здесь будут дни и недели:"),
    "Charts need JavaScript; the same data is behind JSON above.": (
        "Графикам нужен JavaScript; те же данные доступны по ссылке JSON вверху."
    ),
    "The lake does not answer now; these are the audit's events alone.": (
        "Озеро данных сейчас не отвечает; показаны только события журнала."
    ),
    "What happened": "Что произошло",
    "Nothing happened yet": "Пока ничего не произошло",
    "Connections, calls, renamings and alarms are listed here.": (
        "Здесь будут подключения, вызовы, переименования и тревоги."
    ),
    "With a lake beside the hub, outages, sessions and anomalies are here, too.": (
        "С озером данных рядом с узлом здесь будут и перебои, сеансы и отклонения."
    ),
    "Keys": "Ключи",
    "Hashname": "Хешнейм",
    "Secret of": "Секрет от",
    "renewed by itself": "обновляется сам",
    "Started": "Запущен",
    "report": "отчёт",
    "of its present start": "с последнего запуска",
    "by nobody": "никем",
    "Who connected lately": "Кто недавно подключался",
    "Nobody yet.": "Пока никто.",
    "Release this device": "Отказ от устройства",
    (
        "It keeps reporting and belongs to nobody then. Whoever reads the code off its "
        "console may claim it, you as well."
    ): (
        "Оно продолжит выходить на связь, но станет ничьим. Закрепить его сможет тот, кто "
        "прочтёт код на его консоли, в том числе вы."
    ),
    "Release…": "Отказаться…",
    "Forget this device": "Забыть это устройство",
    (
        "For one that was lost, sold or taken over: it belongs to nobody, sessions with it end, "
        "and its keys count no more. It needs a new code to come back."
    ): (
        "Для утерянного, проданного или захваченного устройства: оно станет ничьим, сеансы с ним "
        "завершатся, а его ключи перестанут действовать. Чтобы вернуться, ему нужен новый код."
    ),
    "Forget…": "Забыть…",
    "Not connected; press Connect.": "Нет подключения; нажмите «Подключиться».",
    "The connection has ended; connect again.": "Соединение завершено; подключитесь снова.",
    "calling": "вызов…",
    "Repeat": "Повторить",
    "required": "обязательно",
    "optional": "необязательно",
    "left to the device": "на усмотрение устройства",
    "yes": "да",
    "no": "нет",
    "This is no JSON:": "Это не JSON:",
    "A JSON array is wanted here.": "Здесь нужен массив JSON.",
    "A JSON object is wanted here.": "Здесь нужен объект JSON.",
    "It takes no parameters.": "Параметров нет.",
    "The device does not list this method; it is called as it is.": (
        "Устройство не называет такого метода; он будет вызван как есть."
    ),
    "No method fits.": "Подходящих методов нет.",
    "result": "результат",
    "error": "ошибка",
    (
        "The device does not allow this command. Add it as a line of its own to the file "
        "that its agent was given by --allow-exec, and start the agent again:"
    ): (
        "Устройство не разрешает эту команду. Добавьте её отдельной строкой в файл, "
        "указанный агенту в --allow-exec, и перезапустите агент:"
    ),
    "This device has no method exec, so there is no terminal.": (
        "У этого устройства нет метода exec, поэтому терминал недоступен."
    ),
    (
        "A command with the program's whole path, as /usr/bin/uptime -p. There is no shell: "
        "words are handed to the program as they are. The device runs what its allow list "
        "has (rookery agent --allow-exec FILE). Arrow keys bring earlier commands back, "
        "clear empties the screen."
    ): (
        "Команда с полным путём программы, например /usr/bin/uptime -p. Оболочки нет: слова "
        "передаются программе как есть. Устройство выполняет то, что есть в его списке "
        "(rookery agent --allow-exec FILE). Стрелки возвращают прежние команды, clear "
        "очищает экран."
    ),
    "exit code": "код завершения",
    "it took too long and was ended": "команда шла слишком долго и была прервана",
    "it printed more than is kept": "показано не всё: вывод слишком велик",
    "Why this server": "Почему этот сервер",
    "Asked for": "Запрошено",
    "Called": "Вызвано",
    "Device at the hub": "Устройство у узла",
    "Server chosen": "Сервер выбран",
    "Sent to the server": "Направлено на сервер",
    "Device at the server": "Устройство на сервере",
    (
        "Press Connect: the hub calls the device with its next report, chooses a server for "
        "you both, and what happens is shown here."
    ): (
        "Нажмите «Подключиться»: узел вызовет устройство при следующем отчёте и выберет "
        "сервер для встречи; весь ход виден здесь."
    ),
    "The device is silent now; it can be connected to once it reports.": (
        "Устройство сейчас молчит; подключиться можно будет, когда оно выйдет на связь."
    ),
    "No server reports to this hub, so nobody can meet a device. An operator starts one:": (
        "Ни один сервер не на связи с узлом, встретиться с устройством негде. Оператор "
        "запускает сервер так:"
    ),
    "not connected": "нет подключения",
    "connected": "подключено",
    "Disconnect": "Отключиться",
    "Calls": "Вызовы",
    "Terminal": "Терминал",
    "Methods of the device": "Методы устройства",
    "Raw JSON": "Вручную, JSON",
    "Answers": "Ответы",
    "History": "История",
    "Forget": "Забыть",
    "Output": "Вывод",
    "Command": "Команда",
    "Runs what the device's allow list has, by its method exec; try help.": (
        "Выполняет то, что разрешено списком устройства, методом exec; попробуйте help."
    ),
    "Where it waits for you": "Где устройство вас ждёт",
    "A new device": "Новое устройство",
    "QR code of the command": "QR-код команды",
    "Code": "Код",
    "It is here:": "Устройство на связи:",
    "Waiting for the device to report…": "Ждём, когда устройство выйдет на связь…",
    (
        "Make a code, and run one command on the device. It is yours as soon as it reports, "
        "from behind whatever NAT it is; it opens no port."
    ): (
        "Создайте код и выполните одну команду на устройстве. Оно станет вашим, как только "
        "выйдет на связь, из-за любого NAT и без открытых портов."
    ),
    "Install rookery on it:": "Установите на нём rookery:",
    "Make a code, which works once, for a day.": (
        "Создайте код: он действует один раз, в течение суток."
    ),
    "Run the command that comes with it, and see the device appear here.": (
        "Выполните прилагаемую команду, и устройство появится здесь."
    ),
    "Make another code": "Создать ещё один код",
    "A device that reports already": "Устройство, которое уже на связи",
    (
        "Its agent shows a claim code on its console. Whoever reads it there may claim the "
        "device, as long as it belongs to nobody."
    ): (
        "Агент показывает код на консоли устройства. Прочитавший его может закрепить "
        "устройство за собой, пока оно ничьё."
    ),
    "Name, MAC, address or hashname": "Имя, MAC, адрес или хешнейм",
    "Every state": "Любое состояние",
    "Owner, or - for nobody": "Владелец или «-» для ничьих",
    "Filter": "Фильтр",
    "nobody": "никто",
    "First page": "В начало",
    "Change the filter, or look at all devices.": (
        "Измените условия отбора или посмотрите все устройства."
    ),
    "No device has reported yet": "На связь ещё никто не выходил",
    (
        "Every router that reports to this hub is listed here. Bring one, or a crowd to try "
        "it with:"
    ): (
        "Здесь перечислены все маршрутизаторы, вышедшие на связь с узлом. Приведите свой или "
        "целую толпу для пробы:"
    ),
    "Reports from here": "Отчёты приходят отсюда",
    "Connecting": "Подключение",
    "Renamed": "Переименовано",
    "Released": "Отказ от устройства",
    "Forgotten": "Забыто",
    "Enrolled": "Впервые на связи",
    "Request cancelled": "Запрос отменён",
    "Outage": "Перебой",
    "Session": "Сеанс",
    "Anomaly": "Отклонение",
    "Security events of an hour": "Тревоги за час",
    "Forged report": "Поддельный отчёт",
    "Report with an old secret": "Отчёт со старым секретом",
    "Report sent again": "Повторно присланный отчёт",
    "Two devices with the same keys": "Два устройства с одними ключами",
    "Report with a foreign key": "Отчёт с чужим ключом",
    "Taken over by an owner's code": "Закреплено заново по коду владельца",
    "Enrolment denied": "В регистрации отказано",
    "restart": "перезапуск",
    "not back yet": "ещё не на связи",
    "expected": "ожидалось",
    "was": "было",
}
