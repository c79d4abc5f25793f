"""The log of a long-running command: one line an event on standard error, for people or as JSON."""

from __future__ import annotations

import json
import logging
import sys
import time

from webordinary.core.text import one_line
from webordinary.entrypoints.cli.output import FAINT, YELLOW, has_colours

EXTRAS = ("lane", "job", "attempt")
MESSAGE_CHARACTERS = 2000
# aiosmtpd's logger is mail.log. It repeats what strangers say, which must not reach a terminal as it is.
LOGGERS = {"webordinary": logging.INFO, "mail.log": logging.WARNING}


def start_logging(who: str, *, as_json: bool) -> None:
    """Send what happens to standard error. A reader that went away stops nobody."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(who) if as_json else LineFormatter(who))
    logging.raiseExceptions = False
    for name, level in LOGGERS.items():
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


class LineFormatter(logging.Formatter):
    """A line for people."""

    def __init__(self, who: str) -> None:
        """Put a name on every line."""
        super().__init__()
        self._who = who
        self._faint, self._warn, self._end = (
            (f"\x1b[{FAINT}m", f"\x1b[{YELLOW}m", "\x1b[0m") if has_colours(sys.stderr) else ("", "", "")
        )

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        warn, end = (self._warn, self._end) if record.levelno > logging.INFO else ("", "")
        message = one_line(record.getMessage(), MESSAGE_CHARACTERS)
        line = f"{self._faint}{at} {self._who}{self._end}  {warn}{message}{end}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """A line for machines."""

    def __init__(self, who: str) -> None:
        """Put a name on every line."""
        super().__init__()
        self._who = who

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        line: dict[str, object] = {
            "at": record.created,
            "level": record.levelname.lower(),
            "from": self._who,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in EXTRAS if hasattr(record, name)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)
