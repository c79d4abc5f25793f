"""What a cloud's services mean by their error codes: the same words for tables, queues and buckets."""

from __future__ import annotations

CREDENTIALS = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "InvalidToken",  # of a task that waits for a callback it means something else
        "MissingAuthenticationToken",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
        "UnrecognizedClientException",
    }
)
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "AllAccessDisabled", "KMSAccessDeniedException"})
THROTTLED = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)

NO_CREDENTIALS = (
    "there are no credentials for the cloud. Nothing is lost; "
    "give this process a role or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
)


def meaning(code: str, message: str = "") -> str:
    """Say in a sentence what went wrong and what to do; "" for what is about one service only."""
    if code in CREDENTIALS:
        return (
            "the cloud refuses our credentials, which may have expired. Nothing is lost; "
            "it goes on when they are renewed."
        )
    if code in DENIED:
        why = f" ({message})" if message else ""
        return f"this role may not do that{why}. Nothing is lost; grant it, and it goes on."
    if code in THROTTLED:
        return "the cloud asks us to slow down. Nothing is lost; the call may be repeated."
    return ""
