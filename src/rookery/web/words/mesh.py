"""Words of the map and the matrix."""

WORDS: dict[str, str] = {
    "What the map shows": "Что показывает карта",
    "Colour links by": "Цвет каналов по",
    "Latency": "Задержка",
    "Age": "Возраст",
    "Path from": "Путь от",
    "Path to": "Путь до",
    "to": "до",
    "from": "от",
    "choose…": "выберите…",
    "Clear": "Сбросить",
    "View": "Вид",
    "Zoom in": "Приблизить",
    "Zoom out": "Отдалить",
    "Show all": "Показать всё",
    "Tidy up": "Расставить заново",
    "Legend": "Условные обозначения",
    "Details": "Подробности",
    "Choose a member or a link on the map, or two members above to see the path between them.": (
        "Выберите участника или канал на карте либо двух участников выше, чтобы увидеть путь."
    ),
    "Time shown": "Показанное время",
    "Steps in time": "Шаги по времени",
    "One step back": "На шаг назад",
    "One step on": "На шаг вперёд",
    "Play": "Проиграть",
    "At, in UTC": "Момент (UTC)",
    "The lake goes back to": "Озеро помнит с",
    "The lake holds no links yet; they come by: rookery lake run": (
        "В озере ещё нет каналов; они появятся после: rookery lake run"
    ),
    "To look back, give this hub a lake: rookery hub --lake FOLDER": (
        "Чтобы смотреть в прошлое, дайте хабу озеро: rookery hub --lake FOLDER"
    ),
    "Members": "Участники",
    "may relay": "может ретранслировать",
    "not reached": "недоступен",
    "up": "работает",
    "down": "не работает",
    "one way only": "только в одну сторону",
    "not known": "неизвестно",
    "alternate": "запасной",
    "cost": "стоимость",
    "There is no route between them.": "Пути между ними нет.",
    "cheapest": "самый дешёвый",
    "by what links cost then, not by what members chose": (
        "по стоимости каналов в тот момент, а не по выбору участников"
    ),
    "Site": "Площадка",
    "Roles": "Роли",
    "Links reported": "Каналы сообщены",
    "Path from here": "Путь отсюда",
    "Path to here": "Путь сюда",
    "With": "С кем",
    "Between": "Между",
    "and": "и",
    "No members yet": "Участников пока нет",
    "A mesh has members once somebody joins it.": (
        "Участники появятся, когда кто-нибудь присоединится к сети."
    ),
    "The map needs JavaScript; the same is shown by:": (
        "Карте нужен JavaScript; то же самое показывает:"
    ),
    "No map yet": "Карты пока нет",
    "This hub has neither a mesh node nor a lake. Name one:": (
        "У этого хаба нет ни узла сети, ни озера. Укажите их:"
    ),
    "What the matrix shows": "Что показывает матрица",
    "Figures": "Показатели",
    "part of a name": "часть имени",
    (
        "Point at a figure, or go there by arrow keys, to see the route; Enter opens it on the map."
    ): (
        "Наведите на число или перейдите к нему стрелками, чтобы увидеть путь; Enter "
        "откроет его на карте."
    ),
    "From the member of a row to the member of a column": (
        "От участника строки до участника столбца"
    ),
    "direct link": "напрямую",
    "over": "через",
    "older figures fade": "старые числа бледнее",
    "no route": "нет пути",
    "all": "все",
    "The worst": "Худшие",
    "members are not shown; the filter finds them": "участников не показано; их найдёт фильтр",
    "The matrix needs JavaScript; its figures are in:": (
        "Матрице нужен JavaScript; её числа здесь:"
    ),
    "No matrix yet": "Матрицы пока нет",
    "This hub has no mesh node. Name one:": "У этого хаба нет узла сети. Укажите его:",
}
