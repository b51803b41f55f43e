import { expect, test } from "bun:test";
import { renderRequest } from "../../../src/cli/agent/agent-requests.ts";
import { renderQuestions } from "../../../src/cli/agent/questions.ts";
import type { RequestRecord } from "../../../src/protocol/gateway.ts";

const record = {
  request_id: "gwreq-1",
  request_kind: "submit_prompt",
  state: "completed",
  result_json: null,
  error_detail: null,
  evidence: [{ step: "accepted", at_utc: "2026-01-01T00:00:00.000+00:00", proof: "committed" }],
} as unknown as RequestRecord;

const rows = (result: RequestRecord["result_json"]) =>
  renderRequest({ ...record, result_json: result })
    .split("\n")
    .map((line) => line.replace(/ {2,}/g, ": "));

const told = ["request: gwreq-1", "kind: submit_prompt", "state: delivered"];
const proof = "accepted: 2026-01-01T00:00:00.000+00:00: committed";

test("a result that repeats what the request says already is not reported", () => {
  const result = { request_kind: "submit_prompt", completed_at_utc: "2026-01-01T00:00:01.000+00:00" };
  expect(rows(result)).toEqual([...told, proof]);
});

test("what a result adds is reported row by row", () => {
  const result = { request_kind: "submit_prompt", outcome: "completed", turn_id: "turn-1", turn_index: 2 };
  expect(rows(result)).toEqual([...told, "outcome: completed", "turn id: turn-1", "turn index: 2", proof]);
});

test("a question is shown with its header, check marks and what describes its options", () => {
  const question = {
    agent_name: "ann",
    kind: "selection_menu",
    question: "Which fruits?",
    header: "☐ Fruit  ☐ Size",
    options: [
      { index: 1, text: "Apple", checked: true, description: "from the orchard" },
      { index: 2, text: "Pear", checked: false },
      { index: 4, text: "Submit" },
    ],
  };
  expect(renderQuestions([question]).split("\n")).toEqual([
    "ann asks: Which fruits?",
    "  ☐ Fruit  ☐ Size",
    "  1. [x] Apple",
    "     from the orchard",
    "  2. [ ] Pear",
    "  4. Submit",
    "  Answer: svc ok ann NUMBER",
    "  An option with [ ] is checked or unchecked and the question stays",
  ]);
});
