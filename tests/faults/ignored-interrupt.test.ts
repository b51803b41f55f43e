import { expect } from "bun:test";
import { faultTest } from "../support/fault-table.ts";
import { launchSick, type SickAgent } from "../support/sick-agent.ts";
import { until } from "../support/until.ts";

/** The scripted agent itself, below the shell that its pane was started with. */
async function agentProcess(agent: SickAgent): Promise<number> {
  const [session] = await agent.fixture.sessions();
  const shell = await agent.fixture.tmux("list-panes", "-t", `=${session}:0.0`, "-F", "#{pane_pid}");
  const child = Bun.spawnSync(["ps", "-o", "pid=", "--ppid", shell]).stdout.toString().trim();
  return Number(child);
}

const row = {
  area: "terminal",
  fault:
    "The agent's tool hangs in a turn and ignores the interrupt key; callers interrupt it again and again",
  outcome: "two keys are pressed and the interrupt fails; those that wait behind it end with it",
  seen: "an answer to a question and a direct prompt: 409 at once, while the interrupt is still being carried out",
  recovery: "the tool goes on: the turn stops, and what was queued is delivered",
} as const;

faultTest(
  "an interrupt that a tool ignores delays nobody else, and three of them are one",
  row,
  async () => {
    await using agent = await launchSick();
    const stateOf = async (requestId: unknown) =>
      (await agent.ask(`/v1/requests/${requestId}`)).body["state"];
    await agent.prompt("works\nSLOW 600000");
    await until("a turn that runs", async () => {
      const { body } = await agent.ask("/v1/control/tui/state");
      return (body["turn"] as { phase: string }).phase === "active";
    });
    const waiting = await agent.prompt("waits\nFAST");
    const tool = await agentProcess(agent);
    process.kill(tool, "SIGSTOP");

    const interrupts: unknown[] = [];
    for (let nth = 1; nth <= 3; nth++) {
      const { status, body } = await agent.ask("/v1/requests", { kind: "interrupt" });
      expect(status).toBe(202);
      interrupts.push(body["request_id"]);
    }
    const [first, ...others] = interrupts;
    expect(await agent.ask("/v1/control/tui/decide", { option: 1 })).toMatchObject({ status: 409 });
    for (const admission_policy of ["ready_only", "if_no_pending", "always"]) {
      const direct = await agent.ask("/v1/control/prompt", {
        schema_version: 2,
        prompt: "now",
        admission_policy,
      });
      expect(direct).toMatchObject({
        status: 409,
        body: { detail: { sent: false, error_code: "not_ready" } },
      });
    }
    // All of them were answered while the first was still pressing keys.
    expect(await stateOf(first)).toBe("running");

    expect(await agent.ended(first)).toMatchObject({
      state: "failed",
      error_detail: "the turn was not seen to stop after the interrupt key",
    });
    for (const other of others) {
      expect(
        await until("its end", async () => ((await stateOf(other)) === "accepted" ? null : stateOf(other))),
      ).toBe("coalesced");
      expect(await agent.ask(`/v1/requests/${other}`)).toMatchObject({
        body: { result_json: { coalesced_into_request_id: first } },
      });
    }
    process.kill(tool, "SIGCONT");
    expect(await agent.ended(waiting.body["request_id"])).toMatchObject({ state: "completed" });
    expect(agent.heard()).toEqual(["works\nSLOW 600000", "waits\nFAST"]);
  },
  120_000,
);
