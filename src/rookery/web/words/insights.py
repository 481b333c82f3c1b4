"""Words of overview, servers and insights."""

WORDS: dict[str, str] = {
    # Overview
    "Devices online": "Устройства на связи",
    "No device has reported yet. Start one:": "Ни одно устройство ещё не отчиталось. Запустите:",
    "Open incidents": "Открытые инциденты",
    "All is quiet.": "Всё спокойно.",
    "Server load": "Нагрузка серверов",
    "seats": "мест",
    "servers": "серверов",
    "draining": "выводится",
    "Up to": "До",
    "around": "около",
    "by": "кем:",
    "No forecast": "Прогноза нет",
    "No server reports. Start one:": "Нет ни одного сервера. Запустите:",
    "Mesh links up": "Связи сети",
    "members reached": "участников достижимы",
    "This hub has no mesh node. Start with:": "У этого хаба нет узла сети. Запустите:",
    "Backlog": "Очередь",
    "The spool is full.": "Накопитель полон.",
    "in the spool; no lake reads it:": "в накопителе; его не читает ни одно озеро:",
    "not in the lake yet": "ещё не в озере",
    "requests queued": "запросов в очереди",
    "Lake freshness": "Свежесть озера",
    "insights up to": "выводы по",
    "tables behind": "таблиц отстают",
    "landed": "получено",
    "The lake has no insights yet. Run:": "В озере ещё нет выводов. Запустите:",
    "No lake. Start with:": "Озера нет. Запустите:",
    "Worst links now": "Худшие связи сейчас",
    "Link": "Связь",
    "Every link is up, loses less than 2 % and answers within 150 ms.": (
        "Все связи работают, теряют меньше 2 % и отвечают быстрее 150 мс."
    ),
    "Links are shown here once this hub has a mesh node.": (
        "Связи появятся здесь, когда у этого хаба будет узел сети."
    ),
    "Recent events": "Недавние события",
    "Nothing has happened yet.": "Пока ничего не произошло.",
    "Device enrolled": "Устройство зарегистрировано",
    "Server enrolled": "Сервер зарегистрирован",
    "Server certificate issued": "Серверу выдан сертификат",
    "Server certificate refused": "Серверу отказано в сертификате",
    "Server drained": "Сервер выводится",
    "Server forgotten": "Сервер забыт",
    "Server serves again": "Сервер снова работает",
    "Device claimed": "Устройство присвоено",
    "Device renamed": "Устройство переименовано",
    "Device released": "Устройство отпущено",
    "Device forgotten": "Устройство забыто",
    "Connected to a device": "Подключение к устройству",
    "Request taken back": "Запрос отозван",
    "Code made": "Код создан",
    "Code withdrawn": "Код отозван",
    "Alert acknowledged": "Тревога принята",
    "Alert muted": "Тревога заглушена",
    "Two devices with one identity": "Два устройства с одним именем",
    "Another key for a known device": "Чужой ключ у известного устройства",
    "Device refused": "Устройству отказано",
    # Servers
    (
        "Devices and clients connect through servers. Each session takes a seat; the "
        "least loaded server gets the next one."
    ): (
        "Устройства и клиенты соединяются через серверы. Каждый сеанс занимает место; "
        "следующий достаётся наименее загруженному серверу."
    ),
    "No server reports yet": "Серверов пока нет",
    "A server takes sessions once it enrols with a code of this hub.": (
        "Сервер принимает сеансы, как только зарегистрируется по коду этого хаба."
    ),
    "Servers that will fill within the hour look fuller already, by a fifth of their"
    " seats at most.": (
        "Серверы, которые заполнятся в течение часа, уже считаются полнее — не более чем на пятую"
        " часть мест."
    ),
    "Signed by": "Подписал",
    "good until": "действует до",
    "Servers are chosen by what they report, without looking ahead. To follow"
    " forecasts of the lake:": (
        "Серверы выбираются по их отчётам, без взгляда вперёд. Чтобы следовать прогнозам озера:"
    ),
    "There is no file to follow. Servers are chosen by what they report until the"
    " lake exports one:": (
        "Файла с прогнозом нет. Пока озеро его не выгрузит, серверы выбираются по отчётам:"
    ),
    "It has expired, so it is not followed. Does the lake still run and export?": (
        "Срок прогноза истёк, ему не следуют. Работает ли озеро, выгружает ли прогноз?"
    ),
    "It is not signed by anybody trusted, or it is damaged, so it is not followed.": (
        "Прогноз повреждён или подписан не тем, кому доверяют; ему не следуют."
    ),
    "What was, and what is expected": "Что было и что ожидается",
    "will be": "будет",
    "nine of ten times below": "в девяти случаях из десяти ниже",
    "The lake knows nothing of this server yet.": "Озеро ещё ничего не знает об этом сервере.",
    "confidence": "уверенность",
    "by the forecast that this hub follows": "по прогнозу, которому следует хаб",
    "No forecast to show": "Прогноза пока нет",
    "The lake learns from the reports of servers; after some days it knows how full"
    " they will be.": (
        "Озеро учится по отчётам серверов и через несколько дней знает, насколько они заполнятся."
    ),
    "Draining": "Вывод из работы",
    "Forgetting": "Забыть сервер",
    (
        "For a server that is gone for good or no longer trusted: it gets no new "
        "sessions, those there end, and it needs a new code to come back."
    ): (
        "Для сервера, которого больше нет или которому больше нельзя доверять: новых "
        "сеансов он не получит, начатые завершатся, а чтобы вернуться, ему нужен новый "
        "код."
    ),
    (
        "A drained server gets no new sessions. Those there go on until they end by "
        "themselves; then it can be stopped."
    ): (
        "Выводимый сервер не получает новых сеансов. Начатые идут до конца, затем его "
        "можно остановить."
    ),
    "Seats": "Места",
    "CPU": "Процессор",
    "Forecast": "Прогноз",
    "Reported": "Отчёт",
    "reserved": "обещано",
    "Serve again": "Вернуть в работу",
    "Drain": "Вывести",
    "Action": "Действие",
    "followed": "учитывается",
    "stale": "устарел",
    "refused": "отвергнут",
    "missing": "отсутствует",
    # Insights
    "What the lake found out of all that was reported, with where each figure comes from.": (
        "Что озеро вывело из всего сообщённого и откуда взялась каждая цифра."
    ),
    "The lake cannot be read": "Озеро недоступно",
    "No insights yet": "Выводов пока нет",
    "The pipeline makes them of what has landed; it takes minutes.": (
        "Конвейер делает их из полученного; это занимает минуты."
    ),
    "The pipeline makes it of what has landed; it takes minutes.": (
        "Конвейер делает его из полученного; это занимает минуты."
    ),
    "No lake yet": "Озера пока нет",
    "Insights are what the lake's pipeline makes of all reports. Tell this hub where its lake"
    " is:": ("Выводы делает из отчётов конвейер озера. Укажите этому хабу, где его озеро:"),
    "Runs that made these rows": "Прогоны, сделавшие эти строки",
    "All insights": "Все выводы",
    "Rows": "Строки",
    "rows": "строк",
    "Days": "Дни",
    "Computed": "Сделано",
    "Run": "Прогон",
    "Not made yet": "Ещё не сделано",
    "Device, node or server": "Устройство, узел или сервер",
    "CSV": "Файл CSV",
    "There is nothing to draw yet.": "Рисовать пока нечего.",
    "Nothing of the kind in the days that are known.": "В известные дни ничего такого не было.",
    "No link was measured yet.": "Ни одна связь ещё не измерена.",
    "What disconnects whom": "Что кого отрезает",
    "Pages of rows": "Страницы строк",
    "Before": "Назад",
    "No rows.": "Строк нет.",
    "Lineage": "Происхождение",
    "not there yet": "ещё нет",
    "taken in": "учтена",
    "Made by run": "Сделано прогоном",
    "By rookery": "Версия rookery",
    "replaced as a whole": "заменяется целиком",
    "Size": "Размер",
    "Behind": "Отстаёт",
    "Definition": "Определение",
    "No two rows have these in common:": "Нет двух строк, у которых совпадает:",
    "Column": "Столбец",
    "Unit": "Единица",
    "devices met their objective in the last week:": (
        "устройств выполнили норму на последней неделе:"
    ),
    "Last days": "Последние дни",
    "Availability": "Доступность",
    "Longest": "Дольше всего",
    "Reboots": "Перезагрузки",
    "less": "меньше",
    "more are in the rows below.": "ещё — в строках ниже.",
    "Measure": "Мера",
    "Round trip, 95 %": "Время ответа, 95 %",
    "Share of time up": "Доля времени в работе",
    "Hours of the week, UTC": "Часы недели, UTC",
    "Day": "День",
    "Mon": "Пн",
    "Tue": "Вт",
    "Wed": "Ср",
    "Thu": "Чт",
    "Fri": "Пт",
    "Sat": "Сб",
    "Sun": "Вс",
    "samples": "измерений",
    "Without this …": "Без этого …",
    "are cut off": "отрезаны",
    "namely": "а именно",
    "Hours": "Часы",
    "Kind": "Вид",
    "articulation point": "точка сочленения",
    "bridge": "мост",
    "Nothing: whatever single node or link fails, the others still reach each other.": (
        "Ничто: какой бы узел или связь ни отказали, остальные достигают друг друга."
    ),
    "Places": "Места",
    "Outages": "Перебои",
    "Availability by day": "Доступность по дням",
    "Availability by week": "Доступность по неделям",
    "Traffic by minute": "Трафик по минутам",
    "Traffic by hour": "Трафик по часам",
    "Traffic by day": "Трафик по дням",
    "Link quality": "Качество связей",
    "Links by day": "Связи по дням",
    "Flapping links": "Нестабильные связи",
    "Topology health": "Здоровье топологии",
    "Critical elements": "Критичные элементы",
    "Anomalies": "Аномалии",
    "Incidents found": "Найденные инциденты",
    "Server load forecast": "Прогноз нагрузки",
    "Link cost advice": "Советы по связям",
    "nodes": "узлы",
    "edges": "связи",
    "articulation points": "точки сочленения",
    "bridges": "мосты",
    "fresh": "свежее",
    "behind": "отстаёт",
    "late": "опаздывает",
    "absent": "нет",
    "reboot": "перезагрузка",
    "silence": "молчание",
    "traffic": "трафик",
    "loss": "потери",
    "rtt": "время ответа",
    "degradation": "ухудшение",
    "overload": "перегрузка",
    "heat": "перегрев",
    "device load": "нагрузка устройства",
    "advice": "совет",
    "more often": "чаще обычного",
    "as usual": "как обычно",
    "no history": "не с чем сравнить",
}
