"""The line by which a server tells the hub why it cannot start: written by one side, read by the other."""

from hypothesis import given
from hypothesis import strategies as st

from bancada.contract import StartFailure, parse_start_failure

SENTENCES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).filter(str.strip)


@given(st.from_regex(r"[a-z][a-z0-9-]*", fullmatch=True), SENTENCES)
def test_what_is_written_is_read(reason: str, sentence: str) -> None:
    log = f"some warning\n{StartFailure(reason, sentence).line()}\nlast words\n"
    assert parse_start_failure(log) == StartFailure(reason, " ".join(sentence.split()))


def test_a_log_without_it_tells_nothing() -> None:
    assert parse_start_failure("") is None
    assert parse_start_failure("bancada-start-failed:\nTraceback (most recent call last)") is None


def test_a_sentence_over_several_lines_stays_one_line() -> None:
    assert "\n" not in StartFailure("home", "One.\nTwo.").line()
