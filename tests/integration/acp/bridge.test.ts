import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { bridgePaths } from "../../../src/services/headless/acp-files.ts";
import { acpLab } from "../../support/acp-lab.ts";
import { until } from "../../support/until.ts";

describe("the bridge of an ACP agent", () => {
  test("runs the turns of a session in one agent process and one conversation", async () => {
    await using lab = acpLab();
    const first = await lab.begin("hello there");
    expect(await lab.ended(first)).toMatchObject({
      status: "completed",
      completion_source: "terminal_event",
      history_summary: "You said: hello there",
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
    const id = String(first.result()?.session_id);
    const second = await lab.run("and again", { session: { mode: "exact", id } });
    expect(second).toMatchObject({ status: "completed", session_id: id });
    const [one, two] = lab.runs();
    expect([one?.turn, two?.turn]).toEqual([1, 2]);
    expect([two?.pid, two?.session_id]).toEqual([one?.pid, id]);
    expect(lab.events(first).map(({ kind }) => kind)).toEqual([
      "session",
      "progress",
      "progress",
      "progress",
      "progress",
      "assistant",
      "completion",
    ]);
    expect(readFileSync(first.paths.exitCode, "utf8")).toBe("0\n");
    expect(lab.shown.join("")).toContain("You said: hello there");
  });

  test("a permission waits for a person, whose answer reaches the agent", async () => {
    await using lab = acpLab();
    const turn = await lab.begin("work\nASK rm everything");
    expect(await lab.question(turn)).toMatchObject({ question: expect.stringContaining("rm everything") });
    expect(await lab.answer(turn, "allow")).toEqual({ index: 2, text: "Allow" });
    expect(await lab.ended(turn)).toMatchObject({ status: "completed" });
    const said = JSON.stringify(lab.events(turn));
    expect(said).toContain("rm everything: done");
    expect(said).toContain("a person chose: Allow");
  });

  test("an interrupt is a cancel: open questions are withdrawn and the agent lives on", async () => {
    await using lab = acpLab();
    const turn = await lab.begin("work\nASK rm everything");
    await lab.question(turn);
    expect(await lab.interrupt(turn)).toMatchObject({ outcome: "interrupted" });
    expect(turn.result()).toMatchObject({ status: "interrupted", returncode: null });
    expect(lab.files.exists(`${turn.paths.folder}/question.json`)).toBe(false);
    const pid = lab.agentPid();
    const id = String(turn.result()?.session_id);
    expect(await lab.run("go on", { session: { mode: "exact", id } })).toMatchObject({ status: "completed" });
    expect(lab.agentPid()).toBe(pid);
  });

  test("its agent ends with it", async () => {
    await using lab = acpLab();
    await lab.run("hello");
    const pid = await until("the agent", () => lab.agentPid());
    await lab.stopBridges();
    expect(lab.processes.alive(pid)).toBe(false);
  });

  test("ends at once when it is stopped while it waits for the previous bridge", async () => {
    await using lab = acpLab();
    await using previous = Bun.spawn(["sleep", "60"]);
    const { folder, host } = bridgePaths(lab.sessionRoot);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const record = {
      ...{ schema_version: 1, life: "life", child_pid: null, child_start: null },
      ...{ runner_pid: previous.pid, runner_start: lab.processes.startToken(previous.pid) },
    };
    writeFileSync(host, JSON.stringify(record), { mode: 0o600 });
    lab.startBridge();
    await lab.stopBridges();
    expect(previous.exitCode ?? previous.signalCode).toBeNull();
    expect(readFileSync(host, "utf8")).toBe(JSON.stringify(record));
  });
});
