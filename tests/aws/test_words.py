"""What each service of the cloud means by its codes: the same code is not the same thing everywhere."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from webordinary.backends.aws.errors import NoTask, translated
from webordinary.core.errors import BackendUnavailable, NotFound, SchemaMismatch, WebordinaryError
from webordinary.system import s3_client as s3

CREDENTIALS, DENIED, SLOWLY = "refuses our credentials", "grant it", "slow down"


def refusal(code: str, told: str = "no") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": told}}, "Call")


def of_service(service: str, operation: str, code: str, **parameters: Any) -> WebordinaryError:  # noqa: ANN401
    with pytest.raises(WebordinaryError) as told, translated(service, operation, parameters):
        raise refusal(code)
    return told.value


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("InvalidToken", CREDENTIALS),
        ("InvalidAccessKeyId", CREDENTIALS),
        ("SignatureDoesNotMatch", CREDENTIALS),
        ("ExpiredToken", CREDENTIALS),
        ("AccessDenied", DENIED),
        ("SlowDown", SLOWLY),
    ],
)
def test_the_object_store_is_as_clear_as_the_tables(code: str, words: str) -> None:
    """By both ways that lead to it."""
    error = of_service("s3", "put_object", code)
    assert type(error) is BackendUnavailable
    assert words in str(error)
    with pytest.raises(BackendUnavailable, match=words) as told, s3.translated("reading the mail x"):
        raise refusal(code)
    assert "reading the mail x" in str(told.value)
    assert told.value.reason == error.reason, "one trouble, whatever failed by it"


def test_the_object_store_without_credentials() -> None:
    with pytest.raises(BackendUnavailable, match="there are no credentials"), s3.translated("reading x"):
        raise NoCredentialsError


def test_a_token_that_nobody_waits_with_is_one_only_where_tasks_wait() -> None:
    assert isinstance(of_service("stepfunctions", "send_task_success", "InvalidToken"), NoTask)
    assert not isinstance(of_service("s3", "head_bucket", "InvalidToken"), NoTask)


def test_a_missing_table_is_named_and_what_makes_it() -> None:
    error = of_service("dynamodb", "get_item", "ResourceNotFoundException", TableName="webordinary-jobs")
    assert isinstance(error, SchemaMismatch)
    assert "the table webordinary-jobs is missing" in str(error)
    assert "`webordinary cloud setup`" in str(error)
    writes = [{"Put": {"TableName": name}} for name in ("b", "a", "b")]
    several = of_service(
        "dynamodb", "transact_write_items", "ResourceNotFoundException", TransactItems=writes
    )
    assert "one of the tables a, b is missing" in str(several)


@pytest.mark.parametrize(
    ("service", "operation", "code"),
    [
        ("lambda", "invoke", "ResourceNotFoundException"),
        ("stepfunctions", "list_executions", "StateMachineDoesNotExist"),
        ("s3", "put_object", "NoSuchBucket"),
    ],
)
def test_what_is_missing_elsewhere_is_no_table(service: str, operation: str, code: str) -> None:
    error = of_service(service, operation, code)
    assert isinstance(error, NotFound)
    assert "table" not in str(error)
