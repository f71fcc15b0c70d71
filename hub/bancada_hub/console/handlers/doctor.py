"""The tab Doctor of Site: the checks of `bancada doctor`, run from the page."""

from dataclasses import asdict
from datetime import UTC, datetime

from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.routes import PREFIX, Route, Rule
from bancada_hub.errors import told
from bancada_hub.roles import Action

PAGE = PREFIX + "site/doctor"


class DoctorPage(Acting):
    """GET site/doctor."""

    def get(self) -> None:
        """Show the last run, with its age."""
        last = self.context.examination.last
        age_s = (datetime.now(UTC) - last.at).total_seconds() if last else 0.0
        self.finish(self.page("doctor.html", tab="site", part="doctor", last=last, age_s=age_s))


class Examine(Acting):
    """POST api/site/doctor."""

    async def post(self) -> None:
        """Run all checks: some seconds, and on the docker engine two containers for a moment."""
        async with self.recorded("site"):
            outcome = await self.context.examination.ask()
        said = (
            told("%(wrong)d of %(all)d checks found something.", wrong=outcome.wrong, all=len(outcome.checks))
            if outcome.wrong
            else told("All %(all)d checks are good.", all=len(outcome.checks))
        )
        self.say(PAGE, said, checks=[asdict(check) for check in outcome.checks])


ROUTES = [
    Route("site/doctor", DoctorPage, {"GET": Rule(Action.SEE_SITE, "The last run of the checks.")}),
    Route(
        "api/site/doctor",
        Examine,
        {"POST": Rule(Action.SEE_SITE, "Run the doctor's checks.", answer="Examined", audit="site.examine")},
    ),
]
