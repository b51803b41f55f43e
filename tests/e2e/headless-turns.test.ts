import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { createHostileFixture } from "../support/hostile/fixture.ts";
import { isWholeMatrix } from "../support/matrix.ts";
import { until } from "../support/until.ts";

let batch: HeadlessAgentFixture;
beforeAll(async () => {
  batch = await launchHeadless({ flags: ["--env", "SECRET_KEY=not-for-others"] });
});
afterAll(() => batch[Symbol.asyncDispose]());

const type = (line: string, ...more: string[]) => batch.fixture.runHere(...line.split(" "), ...more);
const lastRun = () => batch.runs().at(-1);

describe("one headless agent", () => {
  test("has no provider until a turn", async () => {
    expect(batch.runs()).toEqual([]);
    const state = await type("agents single --agent-name batch state --json");
    expect(state.json()).toMatchObject({
      identity: { transport: "headless", backend: "demo_headless", session_name: null, terminal_id: null },
      availability: "available",
      turn: { phase: "ready", active_turn_id: null },
      last_turn: { result: "none" },
    });
  });

  test("its first turn begins a conversation that later turns go on with", async () => {
    const submit = "agents single --agent-name batch turn submit --turn-id one --wait --json --prompt";
    const first = await batch.fixture.mgr(...submit.split(" "), "hello there");
    expect([first.exitCode, first.json()]).toEqual([
      0,
      expect.objectContaining({ turn_id: "one", turn_index: 1, status: "completed", returncode: 0 }),
    ]);
    await batch.submit("two", "and again");
    expect(await batch.ended("two")).toMatchObject({ turn_index: 2, status: "completed" });
    const [begun, goneOn] = batch.runs();
    expect(begun).toMatchObject({ resume: "new", turn: 1, prompt: "hello there" });
    expect(goneOn).toMatchObject({ resume: "exact", turn: 2, session_id: begun?.session_id });
    const state = await until("the gateway to know of the end", async () => {
      const { body } = await batch.call("/v1/control/headless/state");
      return body["can_accept_prompt_now"] ? body : null;
    });
    expect(state).toMatchObject({ chat_session: { current: { id: begun?.session_id } } });
  });

  test("its pane shows what a turn says", async () => {
    await until("the answer in the pane", async () => (await batch.screen()).includes("and again"));
  });

  test("status, events and both outputs are read without asking the gateway", async () => {
    const status = await type("agents single --agent-name batch turn status two --json");
    expect(status.json()).toMatchObject({ turn_id: "two", status: "completed", returncode: 0 });
    const events = await type("agents single --agent-name batch turn events two --json");
    const kinds = (events.json()["entries"] as { kind: string }[]).map((entry) => entry.kind);
    expect([kinds[0], kinds.at(-1)]).toEqual(["session", "completion"]);
    const detailed = await type("agents single --agent-name batch turn events two --detail --json");
    expect(JSON.stringify(detailed.json())).toContain("text_delta");
    const stdout = await type("agents single --agent-name batch turn stdout two");
    expect(stdout.stdout).toBe(await batch.text("/v1/turns/two/artifacts/stdout"));
    const stderr = await type("agents single --agent-name batch turn stderr two");
    expect([stderr.exitCode, stderr.stdout]).toEqual([0, ""]);
    const waited = await type("agents single --agent-name batch turn wait two");
    expect(waited.exitCode).toBe(0);
    expect((await type("agents single --agent-name batch turn wait no-such-turn")).exitCode).toBe(1);
  });

  test("a prompt with a model is for one turn and changes no manifest", async () => {
    const manifest = join(batch.sessionRoot, "manifest.json");
    const plan = () => (JSON.parse(readFileSync(manifest, "utf8")) as { launch_plan: unknown }).launch_plan;
    const before = plan();
    const prompt = ["--prompt", "think", "--model", "big", "--reasoning-level", "9", "--wait"];
    expect((await type("agents single --agent-name batch prompt", ...prompt)).exitCode).toBe(0);
    expect(lastRun()).toMatchObject({ model: "big", effort: "high" });
    await batch.submit("plain", "think less");
    await batch.ended("plain");
    expect(lastRun()).toMatchObject({ model: null, effort: null });
    expect(plan()).toEqual(before);
  });

  test("the next-prompt override begins one new conversation, for a direct prompt only", async () => {
    const before = lastRun()?.session_id;
    await batch.call("/v1/control/headless/next-prompt-session", { mode: "new" });
    await batch.submit("queued", "from the queue");
    await batch.ended("queued");
    expect(lastRun()).toMatchObject({ resume: "exact", session_id: before });
    const direct = { schema_version: 2, prompt: "directly" };
    const answer = await until("an idle agent", async () => {
      const reply = await batch.call("/v1/control/prompt", direct);
      return reply.status === 200 ? reply.body : null;
    });
    await batch.ended(String(answer["turn_id"]));
    expect(lastRun()).toMatchObject({ resume: "new", turn: 1 });
    expect(lastRun()?.session_id).not.toBe(before);
    await batch.submit("after", "goes on");
    await batch.ended("after");
    expect(lastRun()).toMatchObject({ resume: "exact", turn: 2 });
  });

  test("tools and errors are reported as events, and an error fails its request", async () => {
    const request = await batch.submit("tools", "look\nTOOL read\nSTDERR careful\nERROR the model is away");
    expect(await batch.ended("tools")).toMatchObject({ status: "failed", error: "the model is away" });
    expect(await batch.settled(request)).toMatchObject({
      state: "failed",
      error_detail: "the model is away",
      turn_id: "tools",
    });
    const events = (await batch.call("/v1/turns/tools/events")).body["entries"] as { kind: string }[];
    const kinds = events.map((entry) => entry.kind);
    for (const kind of ["action_request", "action_result", "diagnostic", "completion"]) {
      expect(kinds).toContain(kind);
    }
    expect(await batch.text("/v1/turns/tools/artifacts/stderr")).toBe("careful\n");
  });

  test("neither prompts nor secrets are in any argument list, and files are private", async () => {
    await batch.submit("secret", "the password is swordfish\nSLOW 600000");
    await batch.running("secret");
    expect((await batch.call("/v1/turns/secret")).body).toMatchObject({ status: "active" });
    await until("its first record", async () =>
      (await batch.text("/v1/turns/secret/artifacts/stdout")).includes("session"),
    );
    const processes = createProcesses({ steps: quietSteps });
    const { stdout: all } = await processes.run(["ps", "-axo", "args"]);
    expect(all).toContain("turn-bridge");
    for (const word of ["swordfish", "not-for-others"]) expect(all).not.toContain(word);
    expect(readFileSync(join(batch.sessionRoot, "manifest.json"), "utf8")).not.toContain("not-for-others");
    const folder = join(batch.sessionRoot, "manifest.turn-artifacts", "secret");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of ["request.json", "stdout.jsonl", "canonical-events.jsonl", "process.json"]) {
      expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    await batch.mgr("interrupt");
    await batch.ended("secret");
  });

  test("Ctrl-C in the pane interrupts the turn that is shown there", async () => {
    await batch.submit("by-hand", "SLOW 600000");
    await batch.running("by-hand");
    await batch.fixture.tmux("send-keys", "-t", `=${batch.tmuxSession}:0.0`, "C-c");
    expect(await batch.ended("by-hand")).toMatchObject({ status: "interrupted" });
    expect(JSON.parse(batch.file("by-hand", "interrupt.json") ?? "{}")).toMatchObject({
      requested_by: "pane",
    });
  });

  test("Ctrl-C between two turns ends nothing", async () => {
    await batch.fixture.tmux("send-keys", "-t", `=${batch.tmuxSession}:0.0`, "C-c");
    await batch.submit("goes-on", "FAST");
    expect(await batch.ended("goes-on")).toMatchObject({ status: "completed" });
  });

  test("an interrupt of an idle agent is a no_op", async () => {
    const interrupt = await type("agents single --agent-name batch interrupt --json");
    expect(interrupt.json()).toMatchObject({ success: true, disposition: "no_op" });
  });

  test("a gateway killed in the middle of a turn finds it again and finishes its record once", async () => {
    const request = await batch.submit("outlived", "SLOW 8000");
    await batch.running("outlived");
    batch.fixture.kill(batch.gatewayPid());
    const runs = batch.runs().length;
    await batch.revive();
    expect(await batch.request(request)).toMatchObject({ state: "running" });
    expect(await batch.ended("outlived")).toMatchObject({ status: "completed" });
    const record = await batch.settled(request);
    expect(record).toMatchObject({ state: "completed", result_json: { turn_id: "outlived" } });
    const steps = record.evidence.map((one) => one.step);
    expect(steps).toEqual([...new Set(steps)]);
    expect(batch.runs().length).toBe(runs);
  }, 120_000);

  test("a wait without an id is for the prompt submitted last, begun or not", async () => {
    await batch.submit("ahead", "SLOW 600000");
    await batch.running("ahead");
    await batch.submit("behind", "and the lighthouse");
    const early = await batch.mgr("turn", "status", "behind");
    expect([early.exitCode, early.stderr]).toEqual([
      1,
      expect.stringContaining("turn behind has not begun yet"),
    ]);
    const behind = batch.mgr("turn", "wait", "--json");
    await batch.mgr("interrupt");
    expect((await behind).json()).toMatchObject({ turn_id: "behind", status: "completed" });

    await batch.submit("before", "SLOW 600000");
    await batch.running("before");
    await batch.mgr("prompt", "--prompt", "a prompt without an id");
    const last = batch.mgr("turn", "wait", "--json");
    await batch.mgr("interrupt");
    const { history_summary: said } = (await last).json();
    expect(said).toContain("a prompt without an id");
    expect((await batch.mgr("turn", "wait", "behind")).exitCode).toBe(0);
  });

  test("a wait for what has not begun is reported as that", async () => {
    await batch.submit("long", "SLOW 600000");
    await batch.running("long");
    await batch.submit("dropped", "never begun");
    const waited = await batch.mgr("turn", "wait", "dropped", "--timeout", "1");
    expect([waited.exitCode, waited.stderr]).toEqual([
      1,
      expect.stringContaining("turn dropped has not ended after 1 s"),
    ]);
    batch.fixture.kill(batch.gatewayPid());
    const alone = await batch.mgr("turn", "wait", "dropped");
    expect([alone.exitCode, alone.stderr]).toEqual([3, expect.stringContaining("gateway attach")]);
    const unnamed = await batch.mgr("turn", "wait");
    expect([unnamed.exitCode, unnamed.stderr]).toEqual([3, expect.stringContaining("turn wait long")]);
    await batch.revive();
    await batch.mgr("interrupt");
    expect(await batch.ended("long")).toMatchObject({ status: "interrupted" });
    expect((await batch.mgr("turn", "wait", "dropped")).exitCode).toBe(0);
  }, 120_000);

  test("a turn whose bridge is killed fails and leaves no process behind", async () => {
    const request = await batch.submit("orphaned", "SLOW 600000");
    const { child_pid: child, runner_pid: runner } = await batch.running("orphaned");
    batch.fixture.kill(runner);
    expect(await batch.ended("orphaned")).toMatchObject({
      status: "failed",
      completion_source: "process_exit",
      decided_by: "missing_evidence",
    });
    expect(batch.fixture.alive(child)).toBe(false);
    expect(await batch.settled(request)).toMatchObject({ state: "failed" });
    await batch.submit("after-orphan", "FAST");
    expect(await batch.ended("after-orphan")).toMatchObject({ status: "completed" });
  }, 120_000);

  test("a gateway that is detached leaves the turn running for the next one", async () => {
    const request = await batch.submit("left", "SLOW 600000");
    const { child_pid: child } = await batch.running("left");
    expect((await batch.mgr("gateway", "detach")).exitCode).toBe(0);
    await batch.revive();
    expect([await batch.request(request), batch.fixture.alive(child)]).toMatchObject([
      { state: "running" },
      true,
    ]);
    await batch.mgr("interrupt");
    expect(await batch.ended("left")).toMatchObject({ status: "interrupted" });
    expect(await batch.settled(request)).toMatchObject({ result_json: { outcome: "interrupted" } });
  }, 120_000);

  test("a relaunch ends the turn, forgets the conversation and resumes as asked", async () => {
    await batch.submit("cut-off", "SLOW 600000");
    await batch.running("cut-off");
    const relaunch = await batch.mgr("relaunch", "--chat-session-mode", "tool_last_or_new", "--reconcile");
    expect([relaunch.exitCode, relaunch.stderr]).toEqual([0, ""]);
    expect(await batch.ended("cut-off")).toMatchObject({ status: "interrupted" });
    expect((await batch.call("/v1/control/headless/state")).body["chat_session"]).toEqual({
      current: null,
      startup_default: { mode: "tool_last_or_new" },
      next_prompt_override: null,
    });
    await batch.submit("resumed", "FAST");
    await batch.ended("resumed");
    expect(lastRun()).toMatchObject({ resume: "last" });
  }, 120_000);

  test("a stop gives the running turn its final state", async () => {
    await batch.submit("last", "SLOW 600000");
    const { child_pid: child } = await batch.running("last");
    const stop = await batch.mgr("stop", "--json");
    expect(stop.json()).toMatchObject({ success: true, turn_id: "last", surviving_pids: [] });
    expect([batch.fixture.alive(child), existsSync(batch.sessionRoot)]).toEqual([false, true]);
    expect(JSON.parse(batch.file("last", "result.json") ?? "{}")).toMatchObject({ status: "interrupted" });
    const status = await batch.mgr("turn", "status", "last", "--json");
    expect(status.json()).toMatchObject({ status: "interrupted" });
  }, 120_000);
});

if (isWholeMatrix) {
  describe("one agent whose tool is hostile", () => {
    let hostile: HeadlessAgentFixture;
    beforeAll(async () => {
      hostile = await launchHeadless({ fixture: await createHostileFixture() });
    });
    afterAll(() => hostile[Symbol.asyncDispose]());

    test("a stubborn provider and what it started are ended by an interrupt", async () => {
      const request = await hostile.submit("stubborn", "CHILD STUBBORN\nHANG SIGINT SIGTERM");
      const { child_pid: pid } = await hostile.running("stubborn");
      const tree = await until("what the tool starts", async () => {
        const found = await createProcesses({ steps: quietSteps }).tree(pid);
        return found.length > 1 ? found : null;
      });
      const interrupt = await hostile.mgr("interrupt", "--json");
      expect(interrupt.json()).toMatchObject({ success: true, disposition: "accepted" });
      expect(tree.filter((one) => hostile.fixture.alive(one.pid))).toEqual([]);
      expect(await hostile.ended("stubborn")).toMatchObject({ status: "interrupted" });
      expect(await hostile.settled(request)).toMatchObject({
        state: "failed",
        result_json: { outcome: "interrupted" },
      });
      expect(JSON.parse(hostile.file("stubborn", "interrupt.json") ?? "{}")).toMatchObject({
        requested_by: "gateway",
      });
    }, 120_000);

    test("a line of 50 MB and invalid UTF-8 break nothing and reach the disk whole", async () => {
      await hostile.submit("big", "BIG 50000000\nINVALID");
      expect(await hostile.ended("big", 60_000)).toMatchObject({ status: "completed" });
      const stdout = join(hostile.sessionRoot, "manifest.turn-artifacts", "big", "stdout.jsonl");
      expect(statSync(stdout).size).toBeGreaterThan(50_000_000);
      const words = [
        ...hostile.fixture.command("svc-mgr"),
        "agents single --agent-name batch turn stdout big",
      ];
      expect(await hostile.fixture.shell(`${words.join(" ")} | cmp - ${stdout}`)).toMatchObject({
        exitCode: 0,
        stdout: "",
        stderr: "",
      });
      const events = (await hostile.call("/v1/turns/big/events?limit=1000")).body["entries"];
      expect(JSON.stringify(events)).toContain("was read without the ends of its long texts");
      const part = await hostile.text("/v1/turns/big/artifacts/stdout?offset=1&max_bytes=16");
      expect(part).toBe('"type":"session"');
    }, 120_000);
  });

  test("a turn whose tmux session is killed is finished by its bridge", async () => {
    await using agent = await launchHeadless({ name: "homeless" });
    const request = await agent.submit("alone", "SLOW 8000");
    await agent.running("alone");
    await agent.fixture.tmux("kill-session", "-t", `=${agent.tmuxSession}`);
    expect(await agent.ended("alone")).toMatchObject({ status: "completed" });
    expect(await agent.settled(request)).toMatchObject({ state: "completed" });
    const later = { kind: "submit_prompt", payload: { prompt: "x" } };
    await until(
      "the gateway to see it",
      async () => (await agent.call("/v1/requests", later)).status === 503,
    );
  }, 120_000);

  test.each(["--model=big", "--reasoning-level=1", "--headless-display-style=json"])(
    "%s belongs to --headless",
    async (flag) => {
      const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "terminal"];
      const run = await batch.fixture.mgr(...launch, flag);
      expect([run.exitCode, run.stderr]).toEqual([2, expect.stringContaining("--headless")]);
    },
  );
}
