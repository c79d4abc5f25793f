"""How much a mail may be. Units are in the names; what goes over a limit is refused, or cut visibly."""

from __future__ import annotations

from webordinary.core.failure import MailProblem

MEGABYTE = 1024 * 1024

# --- looked at on the raw bytes, before anything is parsed ------------------------------------------------

MAIL_BYTES = 25 * MEGABYTE  # what the large providers let people send
MAIL_LINES = 600_000  # base64 of 25 MB has 340,000; the library keeps an object for every line
HEADER_BYTES = 256 * 1024  # real ones have 5 to 30 KB, with all the seals of forwarders
HEADER_FIELDS = 400
DASH_LINES = 2_000  # lines that could part one MIME part from the next, in a mail that says it has parts
CONTAINER_WORDS = 200  # "multipart/" and "message/": a mail can't be nested deeper than that
LINE_CHECKS = 10_000_000  # lines times containers: the library compares each line with every open boundary

# --- looked at while it is parsed -------------------------------------------------------------------------

MIME_DEPTH = 25
MIME_PARTS = 300
FIELD_CHARACTERS = 4_000  # of one header of one part; the rest of a longer one is not looked at
FROM_BYTES = 1_000
FROM_LINES = 10  # looked at where it is not clear which one counts
ADDRESS_CHARACTERS = 254
LOCAL_PART_CHARACTERS = 64
ID_CHARACTERS = 500  # of one Message-ID
THREAD_IDS = 100  # References of a long conversation: the latest ones
SUBJECT_CHARACTERS = 500

# --- text -------------------------------------------------------------------------------------------------

TEXT_CHARACTERS = 1_000_000  # of all text with its quoted history
TEXT_LINES = 60_000
HTML_CHARACTERS = 3_000_000
HTML_TOKENS = 200_000  # tags and the texts between them
HTML_DEPTH = 300  # open elements; long threads quote each other deep
STYLE_RULES = 2_000
INSTRUCTION_CHARACTERS = 50_000
KNOWN_CHARACTERS = 300_000  # of a conversation's earlier text, that a mail's quotes are compared with

# --- files ------------------------------------------------------------------------------------------------

FILES = 50
FILE_BYTES = 20 * MEGABYTE
FILE_NAME_CHARACTERS = 120  # of what the mail calls it; our own names are short
PICTURE_PIXELS = 60_000_000  # before it is decoded: 240 MB in memory; phones take 12 to 50 million

assert HEADER_BYTES < MAIL_BYTES
assert FILE_BYTES < MAIL_BYTES
assert MIME_DEPTH < CONTAINER_WORDS
assert MIME_PARTS < DASH_LINES
assert INSTRUCTION_CHARACTERS < TEXT_CHARACTERS


class CannotRead(Exception):
    """What is wrong with a mail: the problem for its sender, the reason for the operator."""

    def __init__(self, reason: str, problem: MailProblem = MailProblem.DAMAGED) -> None:
        """Say why."""
        super().__init__(reason)
        self.reason, self.problem = reason, problem
