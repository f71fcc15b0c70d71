"""Refusals of a start in the language of whoever asked."""

from dataclasses import replace
from typing import Any

import pytest
from jupyterhub.spawner import SpawnException

from bancada.contract import StartFailure
from bancada_hub.errors import EngineError, LaunchRefused
from bancada_hub.launch import refusal
from bancada_hub.launch.choices import Choices, parse_choices
from bancada_hub.launch.plan import plan
from bancada_hub.launch.refusal import refused_inside, spawn_exception
from tests.hub.launch.examples import ANA, MAIN, facts


def refused(**changes: Any) -> LaunchRefused:
    with pytest.raises(LaunchRefused) as caught:
        plan(facts(**changes), Choices())
    return caught.value


def message(error: Exception, language: object) -> str:
    made = spawn_exception(error, language)  # type: ignore[arg-type]
    assert isinstance(made, SpawnException)
    assert made.jupyterhub_message == made.message
    return str(made.message)


@pytest.mark.parametrize(
    ("changes", "english", "portuguese"),
    [
        ({"who": None}, "This account is not known", "Esta conta não é mais conhecida"),
        ({"who": replace(ANA, disabled=True)}, "is disabled. Ask", "está desativada. Fale com quem administra"),
        ({"where": None}, "has no project “main”", "não tem o projeto “main”"),
        ({"where": replace(MAIN, archived=True)}, "is archived", "está arquivado"),
        ({"server_name": ""}, "always in a project", "sempre em um projeto"),
        ({"what": None}, "no image yet", "ainda não tem imagem"),
    ],
)
def test_a_refusal_is_in_the_readers_language(changes: dict[str, Any], english: str, portuguese: str) -> None:
    error = refused(**changes)
    assert english in message(error, "en")
    assert portuguese in message(error, "pt-BR")


@pytest.mark.parametrize("language", ["", "xx", None, 7, ["pt-BR"]])
def test_a_language_that_nobody_knows_is_english(language: object) -> None:
    assert "This account is not known" in message(refused(who=None), language)


def test_options_are_refused_in_portuguese_too() -> None:
    with pytest.raises(LaunchRefused) as caught:
        parse_choices({"image": "evil/x", "kind": "work"})
    assert message(caught.value, "pt-BR") == "Não existe a opção “image”. Inicie pela página Trabalho."


@pytest.mark.parametrize("reason", ["home", "runtime", "project", "environment", "mounts", "walls", "cards"])
def test_a_check_that_failed_inside_is_told_in_its_own_words_or_in_portuguese(reason: str) -> None:
    error = refused_inside(StartFailure(reason, "The exact words of the check. Ask an administrator."))
    assert error.reason == reason
    assert message(error, "en") == "The exact words of the check. Ask an administrator."
    said = message(error, "pt-BR")
    assert said != message(error, "en")
    assert said == refusal.words("pt_BR").gettext(error.what)


def test_a_check_of_a_kind_that_nobody_translated_is_told_as_it_is() -> None:
    assert message(refused_inside(StartFailure("new", "100 % of it is full.")), "pt-BR") == "100 % of it is full."


def test_what_only_an_administrator_can_mend_says_whom_to_ask() -> None:
    error = EngineError("The engine is away.", fix="Run: ./bancada doctor")
    assert message(error, "pt-BR") == "The engine is away. Fale com quem administra este site."
