import { expect, test } from "bun:test";
import { acceptanceOf } from "../../../src/cli/agent/target.ts";

const look = "svc-mgr agents single --agent-name worker requests list";
const failureOf = (sent: boolean) => {
  try {
    acceptanceOf({ kind: "unreachable", sent, detail: "it closed the connection" }, look);
  } catch (error) {
    return error;
  }
  return null;
};

test("a prompt whose answer is missing is not called refused, and it is shown where to look", () => {
  const detail = `whether it was accepted is not known: it closed the connection. See: ${look}`;
  expect(failureOf(true)).toMatchObject({ exitCode: 3, message: detail, json: { error: "unknown", detail } });
});

test("one that did not arrive is reported as that", () => {
  expect(failureOf(false)).toMatchObject({ exitCode: 3, json: { error: "unreachable" } });
});
