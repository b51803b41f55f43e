import { expect } from "bun:test";
import { faultTest } from "../support/fault-table.ts";
import { launchSick, type SickAgent } from "../support/sick-agent.ts";
import { until } from "../support/until.ts";

async function serverPid(agent: SickAgent): Promise<number> {
  return Number(await agent.fixture.tmux("display-message", "-p", "#{pid}"));
}

async function busyWithOneWaiting(agent: SickAgent): Promise<string> {
  const busy = await agent.prompt("busy\nSLOW 600000");
  expect(await agent.ended(busy.body["request_id"])).toMatchObject({ state: "completed" });
  const waiting = await agent.prompt("waits\nFAST");
  expect(waiting.status).toBe(202);
  return String(waiting.body["request_id"]);
}

const connectivity = async (agent: SickAgent) =>
  (await agent.ask("/v1/status")).body["managed_agent_connectivity"];

const killed = {
  area: "terminal",
  fault: "The tmux server is killed, and every agent on it with it",
  outcome: "nothing further is accepted; what waits stays as it is and is typed nowhere",
  seen: "503 within moments, status `unavailable`; `agents list` says that it is gone",
  recovery: "`stop`, then launch it again with `--fresh`: it gets a new queue, the old one stays readable",
} as const;

faultTest(
  "a tmux server that is killed takes its agents, and no gateway pretends otherwise",
  killed,
  async () => {
    await using agent = await launchSick();
    const waiting = await busyWithOneWaiting(agent);
    process.kill(await serverPid(agent), "SIGKILL");
    await until("the loss is seen", async () => (await connectivity(agent)) === "unavailable", 60_000);
    expect((await agent.prompt("refused\nFAST")).status).toBe(503);
    expect((await agent.ask(`/v1/requests/${waiting}`)).body).toMatchObject({ state: "accepted" });
    const list = await agent.fixture.mgr("agents", "list", "--json");
    expect([list.exitCode, list.stdout]).toEqual([0, expect.stringContaining("worker")]);
    expect((await agent.mgr("stop")).exitCode).toBe(0);
    const again = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--gateway-background"];
    expect((await agent.fixture.mgr(...again)).stderr).toContain("--fresh");
    expect((await agent.fixture.mgr(...again, "--fresh")).exitCode).toBe(0);
    expect((await agent.mgr("prompt", "--prompt", "new\nFAST", "--wait")).exitCode).toBe(0);
    expect(agent.heard()).toEqual(["busy\nSLOW 600000"]);
  },
  120_000,
);

const hung = {
  area: "terminal",
  fault: "The tmux server hangs (it is stopped and answers nobody)",
  outcome: "the gateway answers on; nothing is typed blindly; what waits goes on waiting",
  seen: "direct prompts are refused, status and lists are answered in time; commands say that the server does not answer",
  recovery: "tmux goes on: the queue goes on, each request once",
} as const;

faultTest(
  "a tmux server that hangs keeps nobody waiting for ever, and nothing is lost by it",
  hung,
  async () => {
    await using agent = await launchSick();
    const waiting = await busyWithOneWaiting(agent);
    const pid = await serverPid(agent);
    process.kill(pid, "SIGSTOP");
    try {
      // Each has 60 s at most, by `ask`; the command line 100 s, by the fixture.
      expect((await agent.ask("/v1/status")).status).toBe(200);
      const direct = await agent.ask("/v1/control/prompt", {
        schema_version: 2,
        prompt: "direct\nFAST",
      });
      expect(direct.status).toBeGreaterThanOrEqual(409);
      expect(direct.body).toMatchObject({ detail: { sent: false } });
      expect([202, 503]).toContain((await agent.ask("/v1/requests", { kind: "interrupt" })).status);
      expect(await agent.fixture.mgr("agents", "list")).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/worker .* active/),
      });
      expect(await agent.mgr("state")).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining("tmux: the server does not answer"),
      });
    } finally {
      process.kill(pid, "SIGCONT");
    }
    // The connection that got no answer may be given up only after the server goes on.
    const interrupted = async () => (await agent.ask("/v1/requests", { kind: "interrupt" })).status === 202;
    await until("the agent is seen again", interrupted, 60_000);
    expect(await agent.ended(waiting)).toMatchObject({ state: "completed" });
    expect(agent.heard()).toEqual(["busy\nSLOW 600000", "waits\nFAST"]);
  },
  120_000,
);
