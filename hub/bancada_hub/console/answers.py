"""What the REST answers, as JSON schemas by name: a route names its answer, and the OpenAPI document has the shape.

Programs must let keys pass that they do not know: a later release may add some, and takes none away.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from bancada_hub.console.preparation import Progress
from bancada_hub.console.servers import Phase
from bancada_hub.gpus.inventory import Cause as Broken
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.launch.ending import Cause
from bancada_hub.launch.sizes import SIZES
from bancada_hub.roles import Role
from bancada_hub.store.projects import EGRESSES
from bancada_hub.store.trace import DONE, REFUSED

Schema: TypeAlias = Mapping[str, Any]


def _of(kind: str, about: str = "", **more: Any) -> Schema:  # noqa: ANN401 - keys of a JSON schema
    return {"type": kind, **({"description": about} if about else {}), **more}


def _text(about: str = "", *choices: str) -> Schema:
    return _of("string", about, **({"enum": list(choices)} if choices else {}))


def _moment(about: str = "") -> Schema:
    return _of("string", about, format="date-time")


def _whole(about: str = "") -> Schema:
    return _of("integer", about, minimum=0)


def _number(about: str = "") -> Schema:
    return _of("number", about, minimum=0)


def _yes(about: str = "") -> Schema:
    return _of("boolean", about)


def _many(each: Schema) -> Schema:
    return {"type": "array", "items": each}


def _or_null(schema: Schema) -> Schema:
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _table(**fields: Schema) -> Schema:
    return {"type": "object", "required": list(fields), "properties": fields}


def reference(name: str) -> Schema:
    """Return a reference to a schema of this module."""
    return {"$ref": f"#/components/schemas/{name}"}


_MESSAGE = _text("What was done, in the language asked for")
_PASSWORD = _text("The new password; it is kept nowhere")
_VERSION = _whole("Rises with each change; what is sent back with the next one")
_LIMITS = {
    "max_memory_bytes": _or_null(
        _whole("The most memory that its servers may hold together; null: no limit of its own")
    ),
    "max_cpus": _or_null(_number("The most CPU cores that they may hold together; null: no limit of its own")),
    "max_gpus": _or_null(_whole("The most GPUs at once; null: no limit of its own")),
    "gpu_weight": _number("Its share of what may be borrowed, against others"),
}
_SHARE = {
    "max_person_gpus": _or_null(_whole("The most GPUs at once for each person; null: no limit")),
    "gpu_guarantee": _whole("GPUs that it gets whenever it asks"),
    "gpu_within_s": _number("How soon it gets them, in seconds"),
    "gpu_memory_bytes": _whole("Least memory of the guaranteed GPUs; 0: any"),
}
_DIVIDED = {
    "message": _MESSAGE,
    "version": _VERSION,
    "rule": _whole("The number of a new rule"),
    "gains": _many(_text("Of a try: a project that would be served more or sooner")),
    "waits": _many(_text("Of a try: a project that would be served less or later")),
    "remarks": _many(_text("Of a try: what else there is to know")),
    "problems": _many(_text("Of a try: why it cannot be set")),
}
_SERVER = {
    "state": _text("", *(phase.value for phase in Phase)),
    "text": _text("The state in words"),
    "progress": _text("The last words of a start under way"),
    "seconds": _whole("For how long it has run, or been starting"),
    "safe_mode": _yes("Whether it runs without the person's changes to the environment"),
    "url": _text("Where it is opened; empty unless it runs"),
    "failure": _text("Why its last start failed; empty when it did not"),
    "activity": _or_null(reference("Activity")),
    "ended": _or_null(reference("Ended")),
}

SCHEMAS: dict[str, Schema] = {
    "Refusal": _table(
        status=_of("integer"),
        message=_text("What happened and why, in the language asked for"),
        fix=_text("What to do; may be empty"),
    ),
    "Said": _table(message=_MESSAGE),
    "Made": _table(message=_MESSAGE, slug=_text("Its short name")),
    "Changed": _table(message=_MESSAGE, version=_VERSION),
    "Divided": {"type": "object", "required": ["message"], "properties": _DIVIDED},
    "NewPerson": _table(message=_MESSAGE, password=_PASSWORD, name=_text("The account name")),
    "NewPassword": _table(message=_MESSAGE, password=_PASSWORD),
    "Look": _table(message=_MESSAGE, language=_text("", "", "en", "pt-BR"), theme=_text("", "", "light", "dark")),
    "Examined": _table(message=_MESSAGE, checks=_many(reference("Check"))),
    "Check": _table(name=_text(), ok=_yes(), detail=_text("What was found"), fix=_text("What to do; may be empty")),
    "Seen": _table(seen=_whole("How many notices, or ends of a server, are told no more")),
    "Profile": _table(
        name=_text("The account name"),
        display_name=_text("What pages call one; may be empty"),
        role=_text("", *(role.value for role in Role)),
        language=_text("Empty: the browser's", "", "en", "pt-BR"),
        theme=_text("Empty: as the system", "", "light", "dark"),
        must_change_password=_yes("Whether somebody else chose the password"),
    ),
    "Notices": _table(notices=_many(reference("Notice"))),
    "Notice": _table(
        id=_whole("Rises with each notice"),
        at=_moment(),
        level=_text("", "info", "warning", "error"),
        text=_text("One or two sentences, in the language asked for"),
        action_label=_text("The words of its one button; may be empty"),
        action_url=_text("Where that leads: a path of this site"),
    ),
    "Projects": _table(
        projects=_many(reference("Project")),
        engine_silent_since=_or_null(_moment("Since when the container engine does not answer; null while it does")),
    ),
    "Project": _table(
        slug=_text("Its short name"),
        title=_text(),
        personal=_yes("Whether it is one's own alone"),
        image=_or_null(reference("Image")),
        server=reference("Server"),
        sizes=_many(reference("Size")),
        usual_size=_text("What a start without a size has; empty in an archived project", "", *SIZES),
    ),
    "Image": _table(title=_text(), revision=_text("The digest of what was built"), python=_text("Its version")),
    "Size": _table(
        size=_text("", *SIZES),
        memory_bytes=_whole(),
        cpus=_number("CPU cores"),
        fits=_yes("Whether it can be started now"),
        message=_text("Why not; empty when it can"),
        fix=_text("What to do; empty when it can"),
    ),
    "Server": _table(**_SERVER),
    "Ended": _table(
        at=_moment("When the last server stopped that the person did not stop"),
        cause=_text("", *Cause),
        message=_text("When and why, in the language asked for"),
        fix=_text("What to do"),
    ),
    "Activity": _table(
        reported_at=_moment("When the server reported this"),
        stale=_yes("Whether that is so long ago that it no longer speaks for the server"),
        kernels=_whole(),
        busy_kernels=_whole("How many of them compute"),
        terminals=_whole(),
        last_activity=_or_null(_moment("When a kernel or terminal last did anything")),
    ),
    "UnderWay": _table(
        project=_text("The slug"),
        state=_text("“waiting”: for a GPU", Phase.STARTING.value, Phase.STOPPING.value, "waiting"),
    ),
    "EnvironmentReset": _table(project=_text("The slug"), reset=_yes("Whether there was anything to throw away")),
    "Queue": _table(
        total=_whole("Cards in service"),
        free=_whole("Those that nobody has"),
        holds=_many(reference("Holds")),
        waits=_many(reference("Waits")),
        more=_whole("How many more wait"),
    ),
    "Cards": _table(
        source=_text("Where this was read; “simulated” for cards that are none", "nvml", "simulated"),
        reason=_text("Why no card could be read; empty when some could"),
        cards=_many(reference("Card")),
    ),
    "Card": _table(
        uuid=_text(),
        parent=_text("The UUID of the card that this is a part of (MIG); empty for a whole card"),
        model=_text("May be empty"),
        memory_bytes=_whole("0 where it is not known"),
        answers=_yes("Whether it can be read now"),
        out=_yes("Whether it is out of service: nobody new gets it"),
        tenants=_whole("How many may hold it at once; more than 1: without memory protection from each other"),
        reserved=_yes("Whether it is kept for a project or a lab"),
        reserved_for=_text("“project:” or “lab:” and a short name; empty for everybody, or where one may not know"),
        reason=_text("Why an administrator marked it; may be empty"),
        troubles=_many(_text("What has failed, in the language asked for")),
    ),
    "Marked": _table(message=_MESSAGE, uuid=_text("The card"), held=_whole("How many leases hold it, and go on")),
    "Incidents": _table(
        incidents=_many(reference("Incident")),
        attention=_many(reference("Attention")),
    ),
    "Incident": _table(
        incident=_whole("Its number"),
        card=_text("A UUID; empty for all cards of the machine"),
        cause=_text("", *(cause.value for cause in Broken)),
        message=_text("What happened, in the language asked for"),
        fix=_text("What to do; empty once it is over"),
        **{"from": _moment()},
        until=_or_null(_moment("null while it lasts")),
        closed_by=_text("Who said that it is over; empty when it was found to be"),
        held=_many(_table(person=_text("What pages call them"), project=_text("The project's title"))),
    ),
    "Attention": _table(
        request=_whole("The lease's number"),
        person=_text("The account name"),
        project=_text("The project's title"),
        cards=_many(_text("A card's UUID")),
        seen=_many(_text("What is on each card, in the language asked for")),
    ),
    "Holds": _table(
        request=_whole(),
        person=_text("The account name; empty for somebody in a project that one is not in"),
        project=_text("The slug; empty with the person"),
        cards=_many(_text("A card's UUID")),
        since=_moment(),
        until=_moment("Until when at most"),
        claim_by=_or_null(_moment("Until when they wait for their owner to start; null once a server has them")),
        trouble=_text("What happened to its cards, and what its owner does; empty while they are well"),
        silent_since=_or_null(_moment("When its server was heard of last, if that is long ago")),
    ),
    "Waits": _table(
        request=_whole(),
        person=_text("The account name; empty for somebody in a project that one is not in"),
        project=_text("The slug; empty with the person"),
        cards=_whole(),
        memory_bytes=_whole("Least memory of each card"),
        profile=_text("A MIG size instead of whole cards; empty for whole ones"),
        purpose=_text("", *(purpose.value for purpose in Purpose)),
        asked=_moment(),
        place=_whole("1 is next"),
        reason=_text("What stands against it now"),
        change=_text("What would change that"),
        wait_low_s=_or_null(_whole("One wait in ten is shorter; null where nobody can say")),
        wait_high_s=_or_null(_whole("One wait in ten is longer")),
    ),
    "Asked": _table(
        message=_MESSAGE, request=_whole("Its number"), granted=_yes("Whether the cards are there already")
    ),
    "Labs": _table(labs=_many(_table(slug=_text("Its short name"), title=_text()))),
    "Lab": _table(
        slug=_text("Its short name"),
        title=_text(),
        archived=_yes(),
        version=_VERSION,
        **_LIMITS,
        use=reference("Use"),
        leads=_many(_text("An account name")),
        projects=_many(reference("LabProject")),
    ),
    "LabProject": _table(
        slug=_text("Its short name"),
        title=_text(),
        version=_VERSION,
        archived=_yes(),
        **_LIMITS,
        **_SHARE,
        egress=_text("Where its servers may reach", *EGRESSES),
        use=reference("Use"),
        members=_many(_table(name=_text("The account name"), lead=_yes())),
    ),
    "Use": _table(
        servers=_whole(), memory_bytes=_whole("Held by them together"), cpus=_number("Held by them together")
    ),
    "Ledger": _table(
        entries=_many(reference("LedgerEntry")),
        more=_or_null(_whole("The number to send as `before` for the next page; null: this is the last")),
    ),
    "LedgerEntry": _table(
        id=_whole("Rises with each entry"),
        at=_moment(),
        kind=_text("Such as membership.granted"),
        project=_text("The slug"),
        person=_text("To or by whom; empty: from the machine"),
        detail=_of("object"),
    ),
    "People": _table(people=_many(reference("Person"))),
    "Person": _table(
        name=_text("The account name"),
        display_name=_text(),
        role=_text("", *(role.value for role in Role)),
        disabled=_yes(),
        locked=_yes("Whether too many wrong passwords keep it closed for a while"),
        projects=_many(_text("The slug of a shared project")),
    ),
    "Audit": _table(entries=_many(reference("AuditEntry"))),
    "AuditEntry": _table(
        id=_whole("Rises with each entry; the last one's is sent as `before` for the next page"),
        at=_moment(),
        actor=_text("The account name"),
        action=_text("Such as project.create"),
        subject=_text("Such as project:wheat"),
        origin=_text("A network address, or “command line”"),
        result=_text("", DONE, REFUSED),
        detail=_of("object"),
        previous_hash=_text(),
        hash=_text(),
    ),
    "Preparation": _table(
        state=_text("", *(progress.value for progress in Progress)),
        step=_or_null(_whole("The step that runs, failed or comes next")),
        steps=_whole("How many there are"),
        title=_text("What that step does; may be empty"),
        left_s=_or_null(_whole("A rough guess; null when there is none")),
        done_ratio=_of("number", minimum=0, maximum=1),
        text=_text("All of it in one sentence"),
    ),
    "OpenApi": _of("object"),
}
