"""What the cloud says, in our words. Nothing of botocore leaves this folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aiohttp import ClientError as AiohttpError
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConfigNotFound,
    ConfigParseError,
    InvalidConfigError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
)

from webordinary.core.cloud_errors import NO_CREDENTIALS, meaning
from webordinary.core.errors import BackendUnavailable, BadInput, NotFound, SchemaMismatch, WebordinaryError

CHANGED_MEANWHILE = frozenset(
    {
        "ConditionalCheckFailedException",
        "TransactionCanceledException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
NO_QUEUE = frozenset({"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"})
NO_TASK = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})  # where tasks wait, and only there
NOT_THERE = frozenset(
    {
        "ExecutionDoesNotExist",
        "InvalidArn",
        "NoSuchBucket",
        "NoSuchKey",
        "NotFoundException",
        "ResourceNotFoundException",
        "StateMachineDoesNotExist",
    }
)

_BAD_SETTINGS = (ConfigNotFound, ConfigParseError, InvalidConfigError, ProfileNotFound)

_CHANGED_REASONS = frozenset({"ConditionalCheckFailed", "TransactionConflict"})


class ChangedMeanwhile(WebordinaryError):
    """A condition did not hold: somebody else was quicker. Nothing was written. Never leaves this folder."""

    def __init__(self, failed: frozenset[int]) -> None:
        """Say which writes of the transaction were refused by their own condition."""
        super().__init__("somebody else was quicker")
        self.failed = failed


class NoQueue(WebordinaryError):
    """There is no such queue. Never leaves this folder."""


class NoTask(WebordinaryError):
    """Nobody waits for this callback any more. Never leaves this folder."""


@contextmanager
def translated(
    service: str, operation: str = "", parameters: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Turn what the client raises into one clear sentence."""
    what = f"{service} {operation}".strip()
    try:
        yield
    except ClientError as error:
        raise _of_client_error(service, what, error, parameters or {}) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise BackendUnavailable(f"{what}: {NO_CREDENTIALS}", NO_CREDENTIALS) from error
    except _BAD_SETTINGS as error:
        raise not_as_set_up(error) from error
    except (BotoCoreError, AiohttpError, TimeoutError, OSError) as error:
        why = (
            f"the cloud did not answer ({type(error).__name__}). What was stored is kept; "
            "the call may be repeated."
        )
        raise BackendUnavailable(f"{what}: {why}", why) from error


def not_as_set_up(error: Exception) -> BadInput:
    """Say that the surroundings of this process lead to no cloud; trying again is useless."""
    return BadInput(
        f"the cloud can't be reached as it is set up here: {error}. Nothing was changed; look at "
        "AWS_ENDPOINT_URL..., AWS_REGION and AWS_PROFILE"
    )


def _of_client_error(
    service: str, what: str, error: ClientError, parameters: Mapping[str, Any]
) -> WebordinaryError:
    response: dict[str, Any] = error.response
    code = str(response.get("Error", {}).get("Code", ""))
    if code in CHANGED_MEANWHILE:
        return _changed(what, code, response)
    if code in NO_QUEUE:
        return NoQueue(f"{what}: there is no such queue")
    if service == "stepfunctions" and code in NO_TASK:
        return NoTask(f"{what}: nobody waits for this callback any more")
    if service == "dynamodb" and code == "ResourceNotFoundException":
        return SchemaMismatch(
            f"{_missing(parameters)} is missing in this account and region. Nothing was changed; "
            "`webordinary cloud setup` makes it, or look at the prefix, region and account in the settings."
        )
    if code in NOT_THERE:
        message = str(response.get("Error", {}).get("Message", "")).rstrip(".") or "there is no such thing"
        return NotFound(
            f"{what}: {message}. Nothing was changed; look at the name, region and account in the settings"
        )
    why = _why(code, response)
    return BackendUnavailable(f"{what}: {why}", why)


def _missing(parameters: Mapping[str, Any]) -> str:
    """Name the table of a call, or those that it may be."""
    writes = [write for one in parameters.get("TransactItems", ()) for write in one.values()]
    names = {write["TableName"] for write in writes} | set(parameters.get("RequestItems", ()))
    names |= {parameters["TableName"]} if "TableName" in parameters else set()
    if len(names) > 1:
        return f"one of the tables {', '.join(sorted(names))}"
    return f"the table {names.pop()}" if names else "a table"


def _changed(what: str, code: str, response: dict[str, Any]) -> WebordinaryError:
    reasons = [str(reason.get("Code", "None")) for reason in response.get("CancellationReasons", ())]
    others = [reason for reason in reasons if reason not in (*_CHANGED_REASONS, "None")]
    if code == "TransactionCanceledException" and others:
        why = _why(others[0], response)
        return BackendUnavailable(f"{what}: {why}", why)
    return ChangedMeanwhile(
        frozenset(number for number, reason in enumerate(reasons) if reason == "ConditionalCheckFailed")
    )


def _why(code: str, response: dict[str, Any]) -> str:
    message = str(response.get("Error", {}).get("Message", ""))
    if known := meaning(code, message):
        return known
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return f"the cloud answered {status} {code} {message}".strip() + ". The call may be repeated."
