"""A check that the fuzzer lacks: which refusals of a valid request are refusals of its state."""

import json
import os
import re

import jsonschema_rs
import schemathesis
from schemathesis.specs.openapi.checks import response_schema_conformance

STATE_DEPENDENT = [re.compile(text) for text in json.loads(os.environ["SVC_STATE_DEPENDENT"])]


def is_of_state(reason):
    return isinstance(reason, str) and any(pattern.search(reason) for pattern in STATE_DEPENDENT)


@schemathesis.check
def allowed_body_is_taken(ctx, response, case):
    """A 422 to what the schema allows names a state; of a list of findings each one does."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code != 422:
        return
    detail = response.json().get("detail")
    if isinstance(detail, dict):
        detail = detail.get("error_code", "") + ": " + detail.get("detail", "")
    reasons = [one.get("msg", "") for one in detail] if isinstance(detail, list) else [detail]
    if reasons and all(is_of_state(reason) for reason in reasons):
        return
    raise AssertionError(f"the schema allows it and the server refuses it: {json.dumps(detail)[:500]}")


@schemathesis.check
def answer_fits_its_schema(ctx, response, case):
    """The fuzzer holds each event to the schema of the whole answer; here an event is held to `x-item-schema`."""
    if not response.headers.get("content-type", [""])[0].startswith("text/event-stream"):
        return response_schema_conformance(ctx, response, case)
    content = case.operation.definition.raw["responses"]["200"]["content"]["text/event-stream"]
    components = case.operation.schema.raw_schema["components"]
    validator = jsonschema_rs.validator_for({**content["x-item-schema"], "components": components})
    # The last piece may be cut off by the end of the request.
    for frame in response.text.split("\n\n")[:-1]:
        data = [line[5:].lstrip() for line in frame.split("\n") if line.startswith("data:")]
        if data:
            validator.validate(json.loads("\n".join(data)))
