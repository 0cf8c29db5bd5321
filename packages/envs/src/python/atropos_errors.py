"""Errors of the bridge that are answers in words, without a traceback, and the text of others."""

# Characters kept of an error's beginning, and of its end.
KEPT = 240


class Unknown(Exception):
    """What is asked for is not there, or is not named clearly."""


class NotInstalled(Exception):
    """What is asked for is a separate package, which is not installed."""

    def __init__(self, distribution, message):
        super().__init__(message)
        self.distribution = distribution


def shortened(text):
    """The beginning says what is wrong; the end of what a program printed says why."""
    return text if len(text) <= 2 * KEPT else f"{text[:KEPT]} … {text[-KEPT:]}"
