"""Following jobs by executions of a state machine."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import ClientError as AiohttpError
from botocore.exceptions import BotoCoreError, ClientError

from webordinary.core.cloud_errors import meaning
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.mail import MailId

_STARTED_BEFORE = "ExecutionAlreadyExists"
FOLLOWED = "to have it followed, bring its event again: `webordinary cloud take EVENT.json`"

Route = Callable[[Lane], Awaitable[dict[str, Any]]]  # the queues and tables of a lane, by their names there


class StateMachine:
    """See `Workflow`. An execution is named by its mail, so the service itself refuses a second one."""

    def __init__(self, client: Callable[[], Awaitable[Any]], machine: str, route: Route) -> None:
        """Start executions of this machine; the client is opened when it is needed."""
        self._client, self._machine, self._route = client, machine, route

    async def start(self, mail: MailId, lane: Lane, job: JobId) -> None:
        """See `Workflow.start`. Only names go along: nothing in a mail is too large for it."""
        given = {
            "job": job,
            "mail": mail,
            "project": lane.project,
            "user": lane.user,
            "projectKey": lane.key,
            **await self._route(lane),
        }
        try:
            client = await self._client()
            await client.start_execution(
                stateMachineArn=self._machine, name=mail, input=json.dumps(given, sort_keys=True)
            )
        except ClientError as error:
            said = error.response.get("Error", {})
            code, message = str(said.get("Code", "")), str(said.get("Message", ""))
            if code != _STARTED_BEFORE:
                why = meaning(code, message) or f"the state machine answered {code}."
                raise BackendUnavailable(
                    f"the execution for mail {mail} could not be started: {why} Its job {job} is stored and "
                    f"will be carried out; {FOLLOWED}."
                ) from error
        except (BotoCoreError, AiohttpError, TimeoutError, OSError) as error:
            raise BackendUnavailable(
                f"the state machine did not answer ({type(error).__name__}). Job {job} is stored and will be "
                f"carried out; {FOLLOWED}."
            ) from error
