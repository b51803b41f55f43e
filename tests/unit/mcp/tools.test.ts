import { expect, test } from "bun:test";
import { encode } from "gpt-tokenizer";
import { listTools } from "../../../src/cli/mcp/tools.ts";
import { hopsOf } from "../../../src/cli/operations/prompt.ts";
import type { Evidence, RequestRecord } from "../../../src/protocol/gateway.ts";

test("the list of tools costs a model at most 1,200 tokens, for at most nine tools", () => {
  const list = listTools();
  expect(list.length).toBeLessThanOrEqual(9);
  const tokens = encode(JSON.stringify({ tools: list })).length;
  expect(tokens).toBeGreaterThan(300);
  expect(tokens).toBeLessThanOrEqual(1200);
});

const evidence = (...steps: Evidence["step"][]): Evidence[] =>
  steps.map((step) => ({ step, at_utc: "2026-11-21T04:47:00.000+00:00", proof: "seen" }));

function request(state: RequestRecord["state"], steps: Evidence["step"][], hops?: number): RequestRecord {
  return {
    schema_version: 1,
    request_id: "gwreq-1",
    request_kind: "submit_prompt",
    state,
    accepted_at_utc: "2026-11-21T04:47:00.000+00:00",
    started_at_utc: null,
    finished_at_utc: null,
    managed_agent_instance_epoch: 1,
    error_detail: null,
    result_json: null,
    evidence: evidence(...steps),
    ...(hops === undefined ? {} : { submitted_by: { agent_id: "a", agent_name: "a", hops } }),
  };
}

test.each([
  ["nothing runs", [], 0],
  ["a person's prompt runs", [request("completed", ["turn_started"])], 0],
  ["an agent's prompt runs", [request("completed", ["turn_started"], 3)], 3],
  ["an agent's prompt is being typed", [request("running", ["accepted"], 2)], 2],
  ["it ended", [request("completed", ["turn_started", "turn_ended"], 3)], 0],
  [
    "another waits behind it",
    [request("accepted", ["accepted"], 7), request("completed", ["submitted"], 4)],
    4,
  ],
] as const)("hops of the prompt that runs: %s", (_what, requests, hops) => {
  expect(hopsOf(requests)).toBe(hops);
});
