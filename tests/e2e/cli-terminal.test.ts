import { describe, expect, test } from "bun:test";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { until } from "../support/until.ts";

const worker = "agents single --agent-name worker";

/** `tui watch` off a terminal, its lines as they come. */
function watch(at: CliAgent) {
  const words = [
    ...at.fixture.command("svc-mgr"),
    ..."agents single --agent-name worker gateway tui watch --interval-seconds 0.2".split(" "),
  ];
  const child = Bun.spawn(words, { env: at.fixture.env, stdout: "pipe", stderr: "pipe" });
  const lines: { turn: { phase: string }; at_utc: string; last_turn: { result: string } }[] = [];
  let complaints = "";
  const read = async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const bytes of child.stdout) {
      const [first = "", ...more] = decoder.decode(bytes, { stream: true }).split("\n");
      let line = rest + first;
      for (const next of more) {
        lines.push(JSON.parse(line));
        line = next;
      }
      rest = line;
    }
  };
  const hear = async () => {
    for await (const bytes of child.stderr) complaints += new TextDecoder().decode(bytes);
  };
  const ended = Promise.all([read(), hear()]);
  return {
    lines,
    complaints: () => complaints,
    async interrupt() {
      child.kill("SIGINT");
      await ended;
      return child.exited;
    },
  };
}

describe("the terminal from the command line", () => {
  test("a caller waits for a state, sees why it is so, and answers what is asked", async () => {
    await using at = await launched();
    const ready = await at.type("agents single --agent-name worker gateway tui wait --for ready --json");
    expect(ready.json()).toMatchObject({ for: "ready", satisfied: true });
    const never = await at.type(`${worker} gateway tui wait --for decision --timeout 0.1`);
    expect(never.exitCode).toBe(1);
    expect(never.stdout).toMatch(/^not decision within [\d.]+ s\nturn +ready\n/);
    expect((await at.type(`${worker} gateway tui wait --for lunch`)).exitCode).toBe(2);
    expect((await at.type(`${worker} gateway tui wait --for ready --timeout soon`)).exitCode).toBe(2);

    const why = await at.type(`${worker} gateway tui explain`);
    expect(why.stdout).toMatch(/^accepting_input +yes +\(.+\)\n.*prompt ready +yes\n.*rules that fired:\n/s);
    const explained = (await at.type("agents single --agent-name worker gateway tui explain --json")).json();
    expect(explained).toMatchObject({ tool: "demo", prompt_ready: { holds: true } });

    const nothing = await at.type(`${worker} gateway tui decide --option 1`);
    expect([nothing.exitCode, nothing.stderr]).toEqual([1, "Error: the agent does not ask anything now\n"]);
    await at.type(`${worker} prompt --prompt`, "MENU Go on?");
    const asked = await at.type(`${worker} gateway tui wait --for decision --timeout 60`);
    expect(asked.stdout).toMatch(/^decision after [\d.]+ s\n$/);
    const other = await at.type(`${worker} gateway tui decide --option 1 --question`, "Another?");
    expect([other.exitCode, other.stderr]).toEqual([1, "Error: the agent asks another question now\n"]);
    const decided = await at.type("agents single --agent-name worker gateway tui decide --option always");
    expect([decided.exitCode, decided.stdout]).toEqual([0, "answered 3. Always\n"]);
  }, 120_000);

  test("a usage limit parks the agent: a queued prompt waits, says for what, and goes at the time shown", async () => {
    await using at = await launched();
    await at.ready();
    await at.typeHere(`${worker} prompt --prompt`, "LIMIT in 8s");
    type Limit = { parked?: { notice: string; until: string }; parked_until?: string };
    let limit: Limit = {};
    await until("the limit to be seen", async () => {
      limit = (await at.typeHere(`${worker} gateway tui state --json`)).json();
      return limit.parked !== undefined;
    });
    expect(limit.parked?.notice).toBe("✗ usage limit reached · resets in 8s");
    expect(limit.parked?.until).toBe(limit.parked_until as string);

    const holds = `usage_limit=until ${limit.parked_until} (${limit.parked?.notice})`;
    const refused = await at.typeHere(`${worker} gateway prompt --prompt`, "now or never");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toMatch(/^Error: not_ready: /);
    expect(refused.stderr).toContain(holds);
    const queued = await at.typeHere(`${worker} prompt --json --prompt`, "afterwards\nFAST");
    const id = String(queued.json()["request_id"]);
    await until("the reason to be told", async () => {
      const record = (await at.typeHere(`${worker} requests show --json`, id)).json();
      expect(record).toMatchObject({ state: "accepted" });
      return (record["waiting"] as { detail: string } | undefined)?.detail === holds;
    });
    const status = await at.typeHere(`${worker} gateway status --json`);
    expect(status.json()).toMatchObject({ queue_depth: 1, waiting: { reason: "not_ready" } });
    expect((await at.typeHere(`${worker} gateway tui state`)).stdout).toContain("usage limit ");

    await until("the prompt to be given", async () => at.heard().length === 2);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(String(limit.parked_until)));
    expect(at.heard()).toEqual(["LIMIT in 8s", "afterwards\nFAST"]);
    expect((await at.typeHere(`${worker} gateway tui state --json`)).json()).not.toHaveProperty("parked");
  }, 120_000);

  test("a watcher sees each change live, also of the gateway that comes after this one", async () => {
    await using at = await launched();
    await at.ready();
    const watching = watch(at);
    await until("the state as it is", async () => watching.lines.at(-1)?.turn.phase === "ready");
    await at.type(`${worker} prompt --prompt`, "SLOW 2000");
    await until("the turn", async () => watching.lines.some((line) => line.turn.phase === "active"));
    await until("its end", async () => watching.lines.at(-1)?.last_turn.result === "success");

    await at.type(`${worker} gateway detach`);
    await until("word of the loss", async () => watching.complaints().includes("waiting for it"));
    await at.type(`${worker} gateway attach`);
    await until("word of the return", async () => watching.complaints().includes("answers again"));
    const before = watching.lines.length;
    await at.ready();
    await at.type(`${worker} prompt --prompt`, "SLOW 2000");
    await until("the next turn", async () =>
      watching.lines.slice(before).some((line) => line.turn.phase === "active"),
    );
    await until("its end", async () => watching.lines.at(-1)?.turn.phase === "ready");
    const count = watching.lines.length;
    expect(await watching.interrupt()).toBe(0);
    expect(watching.lines.length - count).toBeLessThan(5);
  }, 120_000);
});
