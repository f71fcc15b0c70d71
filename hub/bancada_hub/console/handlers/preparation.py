"""GET api/preparation: how far the site's preparation is, for anybody, also before signing in."""

import asyncio

from bancada_hub.console.access import Who
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.preparation import describe
from bancada_hub.console.projects import read_preparation
from bancada_hub.console.routes import Route, Rule


class PreparationState(Handler):
    """Says nothing that a stranger may not know: no error, no path, no address."""

    json_only = True

    async def get(self) -> None:
        """Answer {state, step, steps, title, left_s, done_ratio, text}."""
        found = await asyncio.to_thread(read_preparation, self.context.launch.store)
        current, words = found.current, self.look.words
        self.send_json(
            {
                "state": found.progress.value,
                "step": current.position if current else None,
                "steps": len(found.steps),
                "title": words.gettext(current.title) if current else "",
                "left_s": None if found.left_s is None else round(found.left_s),
                "done_ratio": found.done_ratio,
                "text": describe(found, words),
            }
        )


ROUTES = [
    Route(
        "api/preparation",
        PreparationState,
        {"GET": Rule(Who.ANYBODY, "How far the site's preparation is.", answer="Preparation")},
    )
]
