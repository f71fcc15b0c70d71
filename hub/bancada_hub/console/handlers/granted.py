"""What was granted in a lab's projects, for those who lead them."""

from bancada_hub.console.granted import describe, grant_model, read_granted, read_grants
from bancada_hub.console.handlers.acting import BEFORE, Acting
from bancada_hub.console.routes import Route, Rule
from bancada_hub.roles import Action
from bancada_hub.store.granted import PAGE


class GrantedPage(Acting):
    """GET lab/<slug>/granted; `project` and `before` in the query choose rows."""

    async def get(self, slug: str) -> None:
        """Show a page of the ledger."""
        project = self.get_query_argument("project", "")
        before_id = self.row_number("before")
        view = await self.do(read_granted, self.store, self.asker.standing, slug, project, before_id)
        words = self.look.words
        rows = [(row, describe(row, words)) for row in view.rows]
        self.finish(self.page("granted.html", tab="lab", view=view, rows=rows))


class ProjectLedger(Acting):
    """GET api/projects/<slug>/ledger; `before` in the query is the next page."""

    async def get(self, _slug: str) -> None:
        """Answer a page of a project's ledger."""
        before_id = self.row_number("before")
        rows = await self.do(read_grants, self.store, self.asker.subject.project_id, before_id)
        more = rows[-1].id if len(rows) == PAGE else None
        self.send_json({"entries": [grant_model(row) for row in rows], "more": more})


ROUTES = [
    Route("lab/{lab}/granted", GrantedPage, {"GET": Rule(Action.SEE_LAB, "What was granted in a lab's projects.")}),
    Route(
        "api/projects/{project}/ledger",
        ProjectLedger,
        {
            "GET": Rule(
                Action.MANAGE_MEMBERS,
                "What was granted in a project, the newest first.",
                query=(BEFORE,),
                answer="Ledger",
            )
        },
    ),
]
