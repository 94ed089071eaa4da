"""Durations as people write them: 1h30m is 5400 seconds."""

import re

_UNITS = {"h": 3600, "m": 60, "s": 1}
_SHAPE = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def parse(text: str) -> int:
    """Return the seconds that text stands for."""
    match = _SHAPE.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"{text!r} is no duration: want 1h30m, 5m or 10s")
    return sum(
        int(digits) * seconds
        for digits, seconds in zip(match.groups(), _UNITS.values())
        if digits is not None
    )


def render(seconds: int) -> str:
    """Return the shortest text that parses to seconds."""
    if seconds < 0:
        raise ValueError(f"{seconds} seconds: a duration is not negative")
    parts = []
    for unit, size in _UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
