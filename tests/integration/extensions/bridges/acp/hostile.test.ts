import { describe, expect, test } from "bun:test";
import { readBridge } from "../../../../../src/services/headless/acp-files.ts";
import { acpFixture } from "../../../../support/acp-fixture.ts";
import { until } from "../../../../support/until.ts";

const limits = { initializeMs: 1500, cancelMs: 500 };

describe("an ACP agent that misbehaves", () => {
  test.each([
    { way: "mute", error: "the agent did not answer initialize within 2 s" },
    { way: "dies", error: "the agent ended before it took the prompt (exit code 3): no login found" },
    { way: "version", error: "the agent speaks ACP protocol 99, not 1" },
  ])(
    "$way at its start: the turn fails with the reason, and no process is left",
    async ({ way, error }) => {
      await using fixture = acpFixture({ agent: [way], limits });
      const turn = await fixture.begin("hello");
      const pid = way === "dies" ? null : await until("its process", () => fixture.agentPid());
      expect(await fixture.ended(turn)).toMatchObject({
        status: "failed",
        completion_source: "not_started",
        error,
      });
      if (pid !== null) await until("its end", () => !fixture.processes.alive(pid));
    },
    60_000,
  );

  test("noise on standard output is a diagnostic: the answer is found all the same", async () => {
    await using fixture = acpFixture({ agent: ["noise"], limits: { cancelMs: 500 } });
    const turn = await fixture.begin("hello");
    expect(await fixture.ended(turn)).toMatchObject({ status: "completed", history_summary: "a new answer" });
    const kinds = fixture.events(turn).map(({ kind }) => kind);
    expect(kinds).toContain("diagnostic");
    expect(fixture.shown.join("")).not.toContain("\x1b[31m");
  }, 60_000);

  test("a message of another conversation is in no answer, nor is replayed history", async () => {
    await using fixture = acpFixture({ agent: ["plain"], limits });
    const turn = await fixture.begin("hello", { session: { mode: "exact", id: "one" } });
    expect(await fixture.ended(turn)).toMatchObject({ status: "completed", history_summary: "a new answer" });
    expect(JSON.stringify(fixture.events(turn))).not.toContain("an old answer");
  }, 60_000);

  test("a stop reason that nobody knows is a failure that names it", async () => {
    await using fixture = acpFixture({ agent: ["odd-stop"], limits });
    expect(await fixture.run("hello")).toMatchObject({
      status: "failed",
      error: "the agent stopped: lost_interest",
    });
  }, 60_000);

  test("a conversation that the process holds goes on where none can be loaded", async () => {
    await using fixture = acpFixture({ agent: ["no-load"], limits });
    expect(await fixture.run("hello")).toMatchObject({ session_id: "one" });
    expect(await fixture.run("hello")).toMatchObject({ session_id: "two" });
    const back = await fixture.run("hello", { session: { mode: "exact", id: "one" } });
    expect(back).toMatchObject({ status: "completed", session_id: "one" });
    const unknown = await fixture.run("hello", { session: { mode: "exact", id: "three" } });
    expect(unknown).toMatchObject({ status: "failed", error: expect.stringContaining("cannot go on") });
  }, 60_000);

  test("two questions at once are asked one after the other", async () => {
    await using fixture = acpFixture({ agent: ["asks-twice"], limits });
    const turn = await fixture.begin("hello");
    for (const title of ["first", "second"]) {
      await until(`the question ${title}`, async () => (await fixture.question(turn)).question === title);
      await fixture.answer(turn, "yes");
    }
    expect(await fixture.ended(turn)).toMatchObject({ status: "completed" });
  }, 60_000);

  test("a request that names an id only is shown with its call, and refused when it shows nothing", async () => {
    await using fixture = acpFixture({ agent: ["asks-by-id"], limits });
    const turn = await fixture.begin("hello");
    expect(await fixture.question(turn)).toMatchObject({ question: 'Bash: {"command":"rm -rf build"}' });
    await fixture.answer(turn, "yes");
    expect(await fixture.ended(turn)).toMatchObject({ status: "completed", history_summary: "chose yes" });
    const session = { mode: "exact", id: "one" } as const;
    const later = await fixture.begin("hello", { session });
    // The call of the turn before has not ended: nobody is shown it in the place of this one.
    expect(await fixture.ended(later)).toMatchObject({ status: "completed", history_summary: "chose no" });
    const deny = { mode: null, policy: [{ action: "deny" as const, title: "rm *" }] };
    await using ruled = acpFixture({ agent: ["asks-by-id"], limits });
    expect(await ruled.run("hello", { acp: deny })).toMatchObject({ history_summary: "chose no" });
  }, 60_000);

  test("a cancel that is not heard ends the process, and the next turn starts another", async () => {
    await using fixture = acpFixture({ agent: ["says-nothing"], limits });
    const turn = await fixture.begin("hello");
    const pid = await until("its process", () => turn.process()?.child_pid);
    expect(await fixture.interrupt(turn)).toMatchObject({ outcome: "interrupted" });
    expect(turn.result()).toMatchObject({ status: "interrupted" });
    expect(fixture.processes.alive(pid)).toBe(false);
  }, 60_000);

  test.each([
    { id: "with its process, where another can go on", way: "leaves-command", agentLives: false },
    { id: "alone, where its conversation would be lost", way: "leaves-command-for-good", agentLives: true },
  ])(
    "a command that a cancel leaves running is ended $id",
    async ({ way, agentLives }) => {
      await using fixture = acpFixture({ agent: [way], limits });
      const turn = await fixture.begin("hello");
      const pid = await until("its process", () => turn.process()?.child_pid);
      const isThere = async () => (await fixture.processes.tree(pid)).find(({ argv }) => argv[0] === "sleep");
      const command = await until("its command", isThere);
      expect(await fixture.interrupt(turn)).toMatchObject({ outcome: "interrupted" });
      expect(turn.result()).toMatchObject({ status: "interrupted" });
      expect([fixture.processes.alive(command.pid), fixture.processes.alive(pid)]).toEqual([
        false,
        agentLives,
      ]);
    },
    60_000,
  );

  test("an agent that outlives its bridge is ended by the next one", async () => {
    await using fixture = acpFixture({ agent: ["stays"], limits });
    const { processes, files, sessionRoot } = fixture;
    const orphan = Bun.spawn(["sleep", "600"], { stdio: ["ignore", "ignore", "ignore"] });
    const record = {
      schema_version: 1,
      life: "life",
      runner_pid: 2 ** 22 + 1,
      runner_start: "1",
      child_pid: orphan.pid,
      child_start: processes.startToken(orphan.pid),
    };
    files.ensureDirectory("file:acp-folder", `${sessionRoot}/acp`);
    files.write("file:acp-host", `${sessionRoot}/acp/host.json`, JSON.stringify(record));
    expect(await fixture.run("hello")).toMatchObject({ status: "completed" });
    await orphan.exited;
    expect(readBridge(files, sessionRoot)?.runner_pid).toBe(process.pid);
  }, 60_000);
});
