import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { copyOf, damages, everyDamage } from "../support/damaged-files.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { until } from "../support/until.ts";

/**
 * The files of an ACP session, damaged in every way: turns that ended stay as they are, and the next one runs
 * to its end.
 */

let agent: HeadlessAgentFixture;
const question = () =>
  until("a question", async () => (await agent.call("/v1/status")).body["awaiting_decision"]);
const fileOf = (turn: string, file: string) => join(agent.sessionRoot, "manifest.turn-artifacts", turn, file);
const paths = () => [
  ...["host.json", "host.lock", "next.json"].map((file) => join(agent.sessionRoot, "acp", file)),
  fileOf("answered", "answer.json"),
  fileOf("stopped", "interrupt.json"),
];

describe.each(everyDamage)("one that is %s", (damage) => {
  // An agent each: a lock that is put back after it was deleted is another file, and would admit a second
  // bridge.
  beforeAll(async () => {
    agent = await launchHeadless({ tool: "demo-acp" });
    await agent.submit("answered", "work\nASK rm everything");
    await question();
    await agent.call("/v1/control/tui/decide", { option: "allow" });
    await agent.ended("answered");
    await agent.submit("stopped", "work\nASK rm everything");
    await question();
    await agent.mgr("interrupt");
    await agent.ended("stopped");
    expect(paths().filter((path) => !existsSync(path))).toEqual([]);
  }, 120_000);
  afterAll(() => agent?.[Symbol.asyncDispose]());

  test.each([0, 1, 2, 3, 4])(
    "keeps what ended, and the next turn has an end: file %i of the list",
    async (index) => {
      const path = paths()[index] ?? "";
      const copy = existsSync(path) ? copyOf(path) : null;
      const turn = `after-${damage.replace(/\W/g, "-")}-${index}`;
      try {
        if (copy) damages[damage](path);
        const read = async (name: string) => (await agent.call(`/v1/turns/${name}`)).body["status"];
        expect([await read("answered"), await read("stopped")]).toEqual(["completed", "interrupted"]);
        await agent.submit(turn, "hello");
        // A folder that nobody may remove: the turn fails, and is not begun later.
        const isFolder = damage === "a folder";
        const { status, decided_by } = await agent.ended(turn);
        const outcome = status === "failed" ? `failed: ${decided_by}` : status;
        const wanted = isFolder && path.endsWith("next.json") ? "failed: not_started" : "completed";
        // A bridge that lives needs no lock; a new one does.
        const orNotBegun = isFolder && path.endsWith("host.lock") ? ["failed: not_started"] : [];
        expect([wanted, ...orNotBegun]).toContain(String(outcome));
      } finally {
        copy?.restore();
      }
    },
    60_000,
  );

  test("leaves an open question to an interrupt: question.json", async () => {
    const turn = `asks-${damage.replace(/\W/g, "-")}`;
    await agent.submit(turn, "work\nASK rm everything");
    await question();
    damages[damage](fileOf(turn, "question.json"));
    expect((await agent.mgr("interrupt", "--json")).json()).toMatchObject({ success: true });
    expect(await agent.ended(turn)).toMatchObject({ status: "interrupted" });
    await agent.submit(`${turn}-next`, "hello");
    expect(await agent.ended(`${turn}-next`)).toMatchObject({ status: "completed" });
  }, 60_000);
});
