"""One's own profile: language, theme, password."""

from typing import Any

from bancada_hub.console.access import Who
from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.routes import PREFIX, Field, Route, Rule
from bancada_hub.errors import told
from bancada_hub.people.accounts import set_preferences
from bancada_hub.people.passwords import SHORTEST_PASSWORD
from bancada_hub.people.sign_in import change_password
from bancada_hub.ui import language
from bancada_hub.ui.skin import THEME_COOKIE

PAGE = PREFIX + "profile"
AS_NOW = "as-now"
"""What a body says of a choice that stays, as one does that leaves the key out."""


class ProfilePage(Handler):
    """The page Profile. People whose password somebody else chose are led here until they choose their own."""

    def get(self) -> None:
        """Show what was chosen."""
        page = self.page("profile.html", tab="profile", asker=self.asker, shortest=SHORTEST_PASSWORD)
        self.finish(page)


class Profile(Acting):
    """GET and POST api/profile."""

    def get(self) -> None:
        """Answer one's own account and what it may do."""
        person, standing = self.asker.person, self.asker.standing
        self.send_json(
            {
                "name": person.name,
                "display_name": person.display_name,
                "role": standing.role.value,
                "language": person.language,
                "theme": person.theme,
                "must_change_password": person.must_change_password,
            }
        )

    async def post(self) -> None:
        """Keep a choice of language and theme; what is left out stays."""
        person = self.asker.person
        chosen: dict[str, Any] = {
            name: getattr(person, name) if value == AS_NOW else value for name, value in self.body.items()
        }
        await self.do(set_preferences, self.store, self.actor, chosen["language"], chosen["theme"])
        for name, value in ((language.COOKIE, chosen["language"].replace("-", "_")), (THEME_COOKIE, chosen["theme"])):
            if value:
                self.set_cookie(name, value, path="/", samesite="Lax", expires_days=365)
            else:
                self.clear_cookie(name, path="/")
        self.say(PAGE, told("Your choice is kept."), **chosen)


class Password(Acting):
    """POST api/profile/password."""

    async def post(self) -> None:
        """Change one's own password."""
        first = self.asker.person.must_change_password
        await self.do(change_password, self.store, self.actor, self.body["old"], self.body["new"])
        if first:
            self.say(PREFIX, told("Your password is changed. It holds from the next time you sign in."))
        else:
            self.say(PREFIX, told("Your password is changed, and you are signed out everywhere. Sign in with it."))


LANGUAGE = Field("language", "of all pages; empty: the browser's", default=AS_NOW, choices=("", "en", "pt-BR", AS_NOW))
THEME = Field("theme", "of all pages; empty: as the system", default=AS_NOW, choices=("", "light", "dark", AS_NOW))

ROUTES = [
    Route(
        "profile",
        ProfilePage,
        {"GET": Rule(Who.PERSON, "The page Profile.", with_first_password=True)},
    ),
    Route(
        "api/profile",
        Profile,
        {
            "GET": Rule(Who.PERSON, "One's own account.", answer="Profile", with_first_password=True),
            "POST": Rule(
                Who.PERSON,
                "Keep a choice of language and theme.",
                answer="Look",
                audit="person.preferences",
                body=(LANGUAGE, THEME),
                with_first_password=True,
            ),
        },
    ),
    Route(
        "api/profile/password",
        Password,
        {
            "POST": Rule(
                Who.PERSON,
                "Change one's own password.",
                answer="Said",
                audit="person.change-password",
                body=(Field("old", "the present password"), Field("new", "the new one")),
                with_first_password=True,
            )
        },
    ),
]
