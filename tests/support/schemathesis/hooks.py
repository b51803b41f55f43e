"""What the fuzzer is told about our servers beyond their documents."""

import json
import re

import schemathesis

# Refusals that depend on the state of an agent, its mailbox or the machine, which no schema can say. Each is a
# pattern of the text of `detail`; a refusal with a list of findings is never one.
STATE_DEPENDENT = [
    re.compile(pattern)
    for pattern in json.loads(__import__("os").environ["SVC_STATE_DEPENDENT"])
]


@schemathesis.hook
def map_query(ctx, query):
    """A wait that is not fulfilled would take as long as it is asked to."""
    if query and isinstance(query.get("timeout_seconds"), (int, float)):
        query["timeout_seconds"] = min(query["timeout_seconds"], 0.1)
    return query


@schemathesis.check
def allowed_body_is_taken(ctx, response, case):
    """What the schema allows is refused with 422 only for the state of things."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code != 422:
        return
    detail = response.json().get("detail")
    if isinstance(detail, dict):
        detail = detail.get("error_code", "") + ": " + detail.get("detail", "")
    if isinstance(detail, str) and any(pattern.search(detail) for pattern in STATE_DEPENDENT):
        return
    raise AssertionError(f"the schema allows it and the server refuses it: {json.dumps(detail)[:500]}")
