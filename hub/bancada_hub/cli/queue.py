"""`bancada queue list|why|ask|cancel`: the GPU queue, as the machine's administrator sees it."""

import argparse
import time
from datetime import datetime

from bancada_hub.cli.gpu import machine_cards
from bancada_hub.cli.table import add_verb, rows, say
from bancada_hub.cli.where import opened
from bancada_hub.errors import NotFound, told
from bancada_hub.gpus.asking import Asker, ask, cancel
from bancada_hub.gpus.board import Board, Holds, Owner, Waits, read_board
from bancada_hub.gpus.board_model import board_json, waits_json
from bancada_hub.gpus.lab import read_lab
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.gpus.scheduling.values import OnGrant
from bancada_hub.gpus.terms import machine_zone
from bancada_hub.roles import Actor
from bancada_hub.store.requests import RequestState, find_request
from bancada_hub.ui.language import words

ENGLISH = words("en")


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("queue", help="the GPU queue: who holds cards, who waits and why; ask, cancel")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    add_verb(verbs, "list", "who holds cards and who waits, the next first", _list)
    why = add_verb(verbs, "why", "why a request waits, and what would change that", _why)
    asking = add_verb(verbs, "ask", "ask for cards for somebody's work in a project", _ask)
    ending = add_verb(verbs, "cancel", "take a request out of the queue, or give a grant back", _cancel)
    for verb in (why, ending):
        verb.add_argument("request", type=int, help="its number, as `list` shows it")
    asking.add_argument("person", help="whose work: the account name")
    asking.add_argument("project", help="in which project: its short name")
    asking.add_argument("--cards", type=int, default=1, metavar="N", help="how many (1)")
    asking.add_argument("--gib", type=float, default=0.0, metavar="GIB", help="least memory of each")
    asking.add_argument("--mig", default="", metavar="SIZE", help="a part of a card of this size, such as 1g.10gb")
    asking.add_argument("--purpose", choices=[each.value for each in Purpose], default=Purpose.INTERACTIVE.value)
    asking.add_argument("--hours", type=float, metavar="H", help="for how long; as long as the purpose allows")
    asking.add_argument("--hold", action="store_true", help="keep the cards for a quarter of an hour; start nothing")


def _list(arguments: argparse.Namespace) -> int:
    board = _board(arguments)
    held = [
        (_who(each.owner), each.owner.project, len(each.cards), _clock(each.until_s), _state(each))
        for each in board.holds
    ]
    waiting = [
        (each.request_id, each.place, _who(each.owner), each.owner.project, _wanted(each), _range(each))
        for each in board.waits
    ]
    said = [f"{board.free} of {board.total} cards are free."]
    if held:
        said.append(rows(("held by", "project", "cards", "until at most", "state"), held))
    if waiting:
        said.append(rows(("request", "place", "waits", "project", "for", "may wait"), waiting))
        said.append("Why: ./bancada queue why REQUEST")
    if board.more:
        said.append(f"{board.more} more wait.")
    if not waiting:
        said.append("Nobody is waiting.")
    return say(arguments, board_json(board, str), "\n".join(said))


def _why(arguments: argparse.Namespace) -> int:
    board = _board(arguments)
    found = next((each for each in board.waits if each.request_id == arguments.request), None)
    if found is None:
        raise _not_waiting(arguments)
    waiting = len(board.waits) + board.more
    lines = [
        f"{_who(found.owner)} in {found.owner.project}, {_wanted(found)}: place {found.place} of {waiting}.",
        str(found.reason),
        str(found.change),
        f"May wait {_range(found)}." if found.wait else "Nobody can say how long it may wait.",
    ]
    return say(arguments, waits_json(found, str), "\n".join(filter(None, lines)))


def _ask(arguments: argparse.Namespace) -> int:
    store, cards = opened(arguments)[1], machine_cards(arguments)
    with store.read() as session:
        lab = read_lab(session, cards)
    asked = {
        "cards": arguments.cards,
        "memory_gib": arguments.gib,
        "purpose": arguments.purpose,
        "on_grant": (OnGrant.HOLD if arguments.hold else OnGrant.START).value,
        **({"hours": arguments.hours} if arguments.hours is not None else {}),
        **({"profile": arguments.mig} if arguments.mig else {}),
    }
    asker = Asker(arguments.person, arguments.project)
    made = ask(store, Actor.command_line(), asker, asked, lab, time.time())
    granted = made.state is RequestState.GRANTED
    said = (
        f"Request {made.id} is granted." if granted else f"Request {made.id} waits. Why: ./bancada queue why {made.id}"
    )
    return say(arguments, {"request": made.id, "granted": granted}, said)


def _cancel(arguments: argparse.Namespace) -> int:
    store = opened(arguments)[1]
    cancel(store, Actor.command_line(), arguments.request, time.time())
    return say(
        arguments, {"request": arguments.request, "cancelled": True}, f"Request {arguments.request} is cancelled."
    )


def _board(arguments: argparse.Namespace) -> Board:
    store, cards = opened(arguments)[1], machine_cards(arguments)
    with store.read() as session:
        return read_board(session, read_lab(session, cards), None, time.time())


def _not_waiting(arguments: argparse.Namespace) -> NotFound:
    with opened(arguments)[1].read() as session:
        known = find_request(session, arguments.request)
    if known is None:
        what = told("There is no request %(n)s.", n=arguments.request)
    else:
        what = told("Request %(n)s does not wait: it is %(state)s.", n=known.id, state=known.state.value)
    return NotFound(what, fix=told("See which there are: ./bancada queue list"))


def _who(owner: Owner) -> str:
    return owner.person or "somebody"


def _state(holds: Holds) -> str:
    return "in use" if holds.claim_by_s is None else f"waits for its start until {_clock(holds.claim_by_s)}"


def _wanted(waits: Waits) -> str:
    what = waits.profile or f"{waits.cards} card{'s' * (waits.cards != 1)}"
    memory = f" of {waits.memory_bytes / 2**30:g} GiB or more" if waits.memory_bytes else ""
    return f"{what}{memory}, {waits.purpose}"


def _range(waits: Waits) -> str:
    if waits.wait is None:
        return "-"
    low, high = ENGLISH.duration(waits.wait.low_s), ENGLISH.duration(waits.wait.high_s)
    return low if low == high else f"{low} to {high}"


def _clock(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, machine_zone()):%Y-%m-%d %H:%M}"
