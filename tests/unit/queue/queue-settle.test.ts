import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GatewayRequest } from "../../../src/protocol/gateway.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { settle } from "../../support/fake-clock.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";

const prompt = (text: string): GatewayRequest => ({ kind: "submit_prompt", payload: { prompt: text } });

/**
 * A queue whose process "died" with this request in the slot: its bundle is left and the file is opened
 * again.
 */
async function diedWith(request: GatewayRequest, ...behind: GatewayRequest[]) {
  const folder = mkdtempSync(join(tmpdir(), "svc-settle-"));
  const path = join(folder, "queue.sqlite");
  const dead = createGatewayBundle({ path });
  const never = new Promise<never>(() => {});
  dead.agent.onSubmit = () => never;
  dead.agent.onInterrupt = () => never;
  const { request_id } = await dead.queue.accept(request);
  for (const other of behind) await dead.queue.accept(other);
  await settle();
  return {
    path,
    requestId: request_id,
    stateAtDeath: dead.queue.record(request_id)?.state,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

describe("the request that a dead gateway held in the slot", () => {
  test("is settled before any other request runs, and its record has the finding", async () => {
    using died = await diedWith(prompt("in the slot"), prompt("next"));
    expect(died.stateAtDeath).toBe("running");
    const agent = createFakeAgent();
    const seen = Promise.withResolvers<string>();
    agent.terminal.withdraw = (text) => {
      agent.withdrawn.push(text);
      return seen.promise;
    };
    await using next = createGatewayBundle({ path: died.path, agent });
    await settle();
    expect(agent.withdrawn).toEqual(["in the slot"]);
    expect(next.queue.running()).toBe(true);
    expect(agent.prompts).toEqual([]);
    seen.resolve("its text was unsent in the composer and was cleared");
    await settle();
    expect(agent.prompts).toEqual(["next"]);
    expect(next.queue.record(died.requestId)).toMatchObject({
      state: "failed",
      error_detail: expect.stringContaining("was unsent in the composer and was cleared"),
      result_json: { outcome: "unknown", seen: ["accepted", "settled"] },
      evidence: [{ step: "accepted" }, { step: "settled", proof: expect.stringContaining("was cleared") }],
    });
  });

  test("fails without a read of the terminal when it was for another instance of the agent", async () => {
    using died = await diedWith(prompt("for the former agent"));
    const agent = createFakeAgent();
    agent.setConnectivity({ instanceId: "two" });
    await using next = createGatewayBundle({ path: died.path, agent });
    await settle();
    expect(agent.withdrawn).toEqual([]);
    expect(next.queue.record(died.requestId)).toMatchObject({
      state: "failed",
      result_json: { outcome: "unknown" },
    });
    expect(next.queue.running()).toBe(false);
  });

  test("fails without a search for text when it was an interrupt", async () => {
    using died = await diedWith({ kind: "interrupt" });
    await using next = createGatewayBundle({ path: died.path });
    await settle();
    expect(next.agent.withdrawn).toEqual([]);
    expect(next.queue.record(died.requestId)).toMatchObject({
      state: "failed",
      result_json: { outcome: "unknown" },
    });
  });
});
