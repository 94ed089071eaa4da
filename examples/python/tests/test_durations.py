import pytest

from durations import parse, render


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("5m", 300), ("1h30m", 5400), ("2h0m1s", 7201)],
)
def test_parse(text: str, seconds: int) -> None:
    assert parse(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "10", "1m1h", "-5s", "1 h"])
def test_parse_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        parse(text)


@pytest.mark.parametrize("seconds", [0, 1, 59, 60, 3599, 3600, 90061])
def test_render_is_what_parse_reads(seconds: int) -> None:
    assert parse(render(seconds)) == seconds
