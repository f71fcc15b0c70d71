"""The tab Audit of Site: who did what, the newest first."""

from dataclasses import asdict

from bancada_hub.console.handlers.acting import BEFORE, Acting
from bancada_hub.console.routes import Field, Route, Rule
from bancada_hub.roles import Action
from bancada_hub.store.database import Store
from bancada_hub.store.trace import AuditEntry, Filter, audit_entries

ROWS_A_PAGE = 100
LONGEST_TEXT = 120


class AuditPage(Acting):
    """GET site/audit; `actor`, `action` and `before` in the query choose rows."""

    async def get(self) -> None:
        """Show a page of the audit."""
        wanted = self.wanted()
        rows = await self.do(_rows, self.store, wanted)
        more = rows[-1].id if len(rows) == ROWS_A_PAGE else None
        self.finish(self.page("audit.html", tab="site", part="audit", rows=rows, wanted=wanted, more=more))

    def wanted(self) -> Filter:
        """Return which rows the query asks for."""
        return Filter(
            actor=self.get_query_argument("actor", "")[:LONGEST_TEXT],
            action=self.get_query_argument("action", "")[:LONGEST_TEXT],
            before_id=self.row_number("before"),
            limit=ROWS_A_PAGE,
        )


class Audit(AuditPage):
    """GET api/audit, with the same query."""

    json_only = True

    async def get(self) -> None:
        """Answer a page of the audit."""
        rows = await self.do(_rows, self.store, self.wanted())
        self.send_json({"entries": [asdict(row) | {"at": row.at.isoformat()} for row in rows]})


def _rows(store: Store, wanted: Filter) -> list[AuditEntry]:
    with store.read() as session:
        return audit_entries(session, wanted)


CHOSEN = (
    Field("actor", "only what this account did"),
    Field("action", "only actions that begin so, such as project."),
    BEFORE,
)

ROUTES = [
    Route("site/audit", AuditPage, {"GET": Rule(Action.SEE_SITE, "Who did what, the newest first.")}),
    Route(
        "api/audit",
        Audit,
        {"GET": Rule(Action.SEE_SITE, "Who did what, the newest first.", query=CHOSEN, answer="Audit")},
    ),
]
