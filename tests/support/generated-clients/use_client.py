"""Uses the client that openapi-python-client made: a status, a prompt to its end, a mail and its list."""

import json
import sys
import time

sys.path.insert(0, sys.argv[1])

from gateway_client import Client
from gateway_client.api.mail import mail_list, mail_send
from gateway_client.api.requests import read_request, submit_request
from gateway_client.api.status import status
from gateway_client.models import (
    MailListRequest,
    MailSendRequest,
    NotifyBlockInput,
    PromptPayload,
    RequestState,
    SubmitPromptRequest,
)

client = Client(base_url=sys.argv[2], raise_on_unexpected_status=True)
found = status.sync(client=client)
accepted = submit_request.sync(
    client=client,
    body=SubmitPromptRequest(kind="submit_prompt", payload=PromptPayload(prompt="say hello from Python")),
)
deadline = time.monotonic() + 30
record = read_request.sync(accepted.request_id, client=client)
while record.state in (RequestState.ACCEPTED, RequestState.RUNNING) and time.monotonic() < deadline:
    time.sleep(0.05)
    record = read_request.sync(accepted.request_id, client=client)
sent = mail_send.sync(
    client=client,
    body=MailSendRequest(
        to=[sys.argv[3]],
        subject="from Python",
        body_content="hello",
        notify_block=NotifyBlockInput(text="mail from Python"),
    ),
)
listed = mail_list.sync(client=client, body=MailListRequest(box="inbox"))
refused = submit_request.sync_detailed(
    client=client, body=SubmitPromptRequest(kind="submit_prompt", payload=PromptPayload(prompt=" "))
)
print(
    json.dumps(
        {
            "health": found.gateway_health.value,
            "version": found.schema_version,
            "state": record.state.value,
            "sent": sent.message.subject,
            "subjects": [message.subject for message in listed.messages],
            "refused": [int(refused.status_code), type(refused.parsed).__name__],
        }
    )
)
