"""Why a job failed or a mail can't be read, as data. Letters say it in their language."""

from __future__ import annotations

from enum import StrEnum


class FailureKind(StrEnum):
    """What a letter says about a failure, one plain sentence each."""

    DECLINED = "declined"  # the agent said why, in words for the person who asked
    DEMO = "demo"  # the demo agent does not do such things
    MODEL_UNREACHABLE = "model_unreachable"
    MODEL_SETUP = "model_setup"  # key, credit or name of the model: the operator's to mend
    MODEL_REFUSED = "model_refused"
    AGENT_BROKE = "agent_broke"
    TOO_LONG = "too_long"
    TOO_LARGE = "too_large"
    BUILD_FAILED = "build_failed"
    NOT_PUBLISHABLE = "not_publishable"
    SECRET = "secret"  # noqa: S105 - a kind of failure
    CONFLICT = "conflict"
    NOT_TOGETHER = "not_together"  # fits with what others did, but the site can't be built with both
    NO_SITE = "no_site"
    NOTHING_TO_UNDO = "nothing_to_undo"
    NOTHING_LEFT = "nothing_left"
    LAST_BY_OTHER = "last_by_other"
    NOTHING_TO_REDO = "nothing_to_redo"
    IN_THE_WAY = "in_the_way"
    JOINED = "joined"
    ALREADY_DONE = "already_done"
    INTERNAL = "internal"


class DemoObstacle(StrEnum):
    """Why the demo agent did not do something."""

    NOT_UNDERSTOOD = "not_understood"
    NO_REQUEST = "no_request"
    TOO_MUCH = "too_much"
    NO_PAGE = "no_page"
    SEVERAL_PAGES = "several_pages"
    NOT_FOUND = "not_found"
    NOWHERE = "nowhere"  # no place for it, and no words to name it by
    UNQUOTED = "unquoted"
    SEVERAL_PLACES = "several_places"
    ALREADY_SO = "already_so"
    NO_PICTURE = "no_picture"
    SEVERAL_PICTURES = "several_pictures"
    BAD_FILE = "bad_file"
    BAD_TARGET = "bad_target"  # of jobs that an older version kept: links
    EMPTY = "empty"
    NOT_SAFE = "not_safe"
    CONFLICT = "conflict"


class MailProblem(StrEnum):
    """Why a mail can't be read, as far as its sender can do something about it."""

    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    TOO_LONG = "too_long"  # too large, too many parts, too deep
    DAMAGED = "damaged"
