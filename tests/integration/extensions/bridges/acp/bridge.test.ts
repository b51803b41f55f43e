import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { bridgePaths } from "../../../../../src/services/headless/acp-files.ts";
import { acpFixture } from "../../../../support/acp-fixture.ts";
import { until } from "../../../../support/until.ts";

describe("the bridge of an ACP agent", () => {
  test("runs the turns of a session in one agent process and one conversation", async () => {
    await using fixture = acpFixture();
    const first = await fixture.begin("hello there");
    expect(await fixture.ended(first)).toMatchObject({
      status: "completed",
      completion_source: "terminal_event",
      history_summary: "You said: hello there",
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
    const id = String(first.result()?.session_id);
    const second = await fixture.run("and again", { session: { mode: "exact", id } });
    expect(second).toMatchObject({ status: "completed", session_id: id });
    const [one, two] = fixture.runs();
    expect([one?.turn, two?.turn]).toEqual([1, 2]);
    expect([two?.pid, two?.session_id]).toEqual([one?.pid, id]);
    expect(fixture.events(first).map(({ kind }) => kind)).toEqual([
      "session",
      "progress",
      "progress",
      "progress",
      "progress",
      "assistant",
      "completion",
    ]);
    expect(readFileSync(first.paths.exitCode, "utf8")).toBe("0\n");
    expect(fixture.shown.join("")).toContain("You said: hello there");
  });

  test("a permission waits for a person, whose answer reaches the agent", async () => {
    await using fixture = acpFixture();
    const turn = await fixture.begin("work\nASK rm everything");
    expect(await fixture.question(turn)).toMatchObject({
      question: expect.stringContaining("rm everything"),
    });
    expect(await fixture.answer(turn, "allow")).toEqual({ index: 2, text: "Allow" });
    expect(await fixture.ended(turn)).toMatchObject({ status: "completed" });
    const said = JSON.stringify(fixture.events(turn));
    expect(said).toContain("rm everything: done");
    expect(said).toContain("a person chose: Allow");
  });

  test("an interrupt is a cancel: open questions are withdrawn and the agent lives on", async () => {
    await using fixture = acpFixture();
    const turn = await fixture.begin("work\nASK rm everything");
    await fixture.question(turn);
    expect(await fixture.interrupt(turn)).toMatchObject({ outcome: "interrupted" });
    expect(turn.result()).toMatchObject({ status: "interrupted", returncode: null });
    expect(fixture.files.exists(`${turn.paths.folder}/question.json`)).toBe(false);
    const pid = fixture.agentPid();
    const id = String(turn.result()?.session_id);
    expect(await fixture.run("go on", { session: { mode: "exact", id } })).toMatchObject({
      status: "completed",
    });
    expect(fixture.agentPid()).toBe(pid);
  });

  test("its agent ends with it", async () => {
    await using fixture = acpFixture();
    await fixture.run("hello");
    const pid = await until("the agent", () => fixture.agentPid());
    await fixture.stopBridges();
    expect(fixture.processes.alive(pid)).toBe(false);
  });

  test("ends at once when it is stopped while it waits for the previous bridge", async () => {
    await using fixture = acpFixture();
    await using previous = Bun.spawn(["sleep", "60"]);
    const { folder, host } = bridgePaths(fixture.sessionRoot);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const record = {
      schema_version: 1,
      life: "life",
      child_pid: null,
      child_start: null,
      runner_pid: previous.pid,
      runner_start: fixture.processes.startToken(previous.pid),
    };
    writeFileSync(host, JSON.stringify(record), { mode: 0o600 });
    fixture.startBridge();
    await fixture.stopBridges();
    expect(previous.exitCode ?? previous.signalCode).toBeNull();
    expect(readFileSync(host, "utf8")).toBe(JSON.stringify(record));
  });
});
