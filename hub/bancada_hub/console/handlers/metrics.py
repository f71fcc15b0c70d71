"""GET metrics: figures of the site for Prometheus."""

import time

from bancada_hub.console import metrics
from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.routes import Route, Rule
from bancada_hub.gpus.lab import read_lab
from bancada_hub.roles import Action

RECENT_S = 30.0
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class MetricsText(Acting):
    """GET metrics."""

    async def get(self) -> None:
        """Answer the figures; the driver is not asked anew for them."""
        inventory = await self.context.cards.recent(RECENT_S)

        def count() -> metrics.Figures:
            with self.store.read() as session:
                return metrics.count(session, read_lab(session, inventory), time.time())

        self.set_header("Content-Type", TEXT)
        self.finish(self.context.queue.metrics.text(await self.do(count)))


ROUTES = [Route("metrics", MetricsText, {"GET": Rule(Action.SEE_SITE, "Figures of the site for Prometheus.")})]
