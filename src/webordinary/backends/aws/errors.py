"""What the cloud says, in our words. Nothing of botocore leaves this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import ClientError as AiohttpError
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
)

from webordinary.core.errors import BackendUnavailable, SchemaMismatch, WebordinaryError

CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "RequestExpired",
        "MissingAuthenticationToken",
    }
)
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "KMSAccessDeniedException"})
THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ThrottlingException",
        "Throttling",
        "TooManyRequestsException",
        "LimitExceededException",
    }
)
CHANGED_MEANWHILE = frozenset(
    {
        "ConditionalCheckFailedException",
        "TransactionCanceledException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
NO_QUEUE = frozenset({"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"})
NO_TASK = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})

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
def translated(what: str) -> Iterator[None]:
    """Turn what the client raises into one clear sentence."""
    try:
        yield
    except ClientError as error:
        raise _of_client_error(what, error) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise BackendUnavailable(
            f"{what}: there are no credentials for the cloud. Nothing is lost; "
            "give this process a role or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        ) from error
    except (BotoCoreError, AiohttpError, TimeoutError, OSError) as error:
        raise BackendUnavailable(
            f"{what}: the cloud did not answer ({type(error).__name__}). What was stored is kept; "
            "the call may be repeated."
        ) from error


def _of_client_error(what: str, error: ClientError) -> WebordinaryError:
    response: dict[str, Any] = error.response
    code = str(response.get("Error", {}).get("Code", ""))
    if code in CHANGED_MEANWHILE:
        return _changed(what, code, response)
    if code in NO_QUEUE:
        return NoQueue(f"{what}: there is no such queue")
    if code in NO_TASK:
        return NoTask(f"{what}: nobody waits for this callback any more")
    if code == "ResourceNotFoundException":
        return SchemaMismatch(
            f"{what}: a table is missing in this account and region. Nothing was changed; "
            "create the tables, or look at the names, region and account in the settings."
        )
    return BackendUnavailable(f"{what}: {_why(code, response)}")


def _changed(what: str, code: str, response: dict[str, Any]) -> WebordinaryError:
    reasons = [str(reason.get("Code", "None")) for reason in response.get("CancellationReasons", ())]
    others = [reason for reason in reasons if reason not in (*_CHANGED_REASONS, "None")]
    if code == "TransactionCanceledException" and others:
        return BackendUnavailable(f"{what}: {_why(others[0], response)}")
    return ChangedMeanwhile(
        frozenset(number for number, reason in enumerate(reasons) if reason == "ConditionalCheckFailed")
    )


def _why(code: str, response: dict[str, Any]) -> str:
    if code in CREDENTIALS:
        return (
            "the cloud refuses our credentials, which may have expired. Nothing is lost; "
            "it goes on when they are renewed."
        )
    if code in DENIED:
        told = response.get("Error", {}).get("Message", "")
        return f"this role may not do that ({told}). Nothing is lost; grant it, and it goes on."
    if code in THROTTLED or code == "ThrottlingError":
        return "the cloud asks us to slow down. Nothing is lost; the call may be repeated."
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    told = response.get("Error", {}).get("Message", "")
    return f"the cloud answered {status} {code} {told}".strip() + ". The call may be repeated."
