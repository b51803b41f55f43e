import { expect, test } from "bun:test";
import { reopen } from "../../../src/cli/agent/reconnecting-client.ts";
import { CommandFailure, exitCodes } from "../../../src/cli/command-line/dispatch.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { sampleManifest, sampleRecord } from "../../support/session-samples.ts";

const record = sampleRecord();
const withState = (state: "active" | "stopped") => ({ ...record, lifecycle: { ...record.lifecycle, state } });
const unreachable = (message: string) => new CommandFailure(exitCodes.unreachable, message);

test("an agent that is stopped while its gateway is looked for is reported as stopped", async () => {
  let state: "active" | "stopped" = "active";
  const look = () =>
    reopen({
      id: record.agent_id,
      name: record.agent_name,
      readRecord: () => withState(state),
      open: async () => {
        const message = state === "active" ? "start a gateway" : "the agent was stopped";
        state = "stopped";
        throw unreachable(message);
      },
    });
  expect(await look()).toEqual({ detail: "start a gateway" });
  expect(await awaitOutcome(look())).toThrow("the agent was stopped");
});

test.each([
  { id: "no record", found: null, error: unreachable("no gateway") },
  { id: "a refusal", found: withState("active"), error: new CommandFailure(exitCodes.refused, "no gateway") },
])("is not looked for again: $id", async ({ found, error }) => {
  const open = () => Promise.reject(error);
  const result = reopen({ id: record.agent_id, name: record.agent_name, readRecord: () => found, open });
  expect(await awaitOutcome(result)).toThrow(error.message);
});

test("another agent of the name is not taken for the former one", async () => {
  const manifest = sampleManifest({ agentId: "another" });
  const open = async () => ({ agent: { record: null, manifest, manifestPath: "/m", sessionRoot: "/s" } });
  const readRecord = () => withState("active");
  const result = reopen({ id: record.agent_id, name: record.agent_name, readRecord, open });
  expect(await awaitOutcome(result)).toThrow("is another agent now");
});
