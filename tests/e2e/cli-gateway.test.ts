import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { sparePorts } from "../support/spare-ports.ts";
import { until } from "../support/until.ts";

const one = "agents single --agent-name worker";

/** The live variables of the agent's tmux session. */
async function liveVariables(at: CliAgent): Promise<Record<string, string>> {
  const lines = (await at.tmux("show-environment", "-t", `=${at.session}`)).split("\n");
  const pairs = lines.filter((line) => /^SVC_(AGENT_)?GATEWAY_/.test(line)).map((line) => line.split("="));
  return Object.fromEntries(pairs) as Record<string, string>;
}

async function windows(at: CliAgent): Promise<string[]> {
  const format = "#{window_index} #{window_name} #{window_id} #{pane_id} #{pane_pid}";
  return (await at.tmux("list-panes", "-s", "-t", `=${at.session}:`, "-F", format)).split("\n");
}

function record(at: CliAgent): Record<string, unknown> {
  const path = join(
    at.fixture.folder,
    "home/.local/state/svc/registry/live_agents",
    String(at.launch["agent_id"]),
  );
  return JSON.parse(readFileSync(join(path, "record.json"), "utf8")) as Record<string, unknown>;
}

describe("a gateway in a window beside its agent", () => {
  test("carries its three handles everywhere, shows its log, and leaves window 0 alone", async () => {
    await using at = await launched();
    const [agent = "", own = ""] = await windows(at);
    expect(agent).toMatch(/^0 agent /);
    const [index = "", name, windowId = "", paneId = "", pid] = own.split(" ");
    expect(name).toBe("gateway");
    expect(Number(index)).toBeGreaterThan(0);
    const handles = { tmux_window_id: windowId, tmux_window_index: index, tmux_pane_id: paneId };
    const current = at.file("gateway", "run", "current-instance.json");
    expect(current).toMatchObject({ ...handles, pid: Number(pid), execution_mode: "tmux_auxiliary_window" });
    const told = Object.fromEntries(Object.entries(handles).map(([key, value]) => [`gateway_${key}`, value]));
    const status = await at.type("agents single --agent-name worker gateway status --json");
    expect(status.json()).toMatchObject({ ...told, gateway_health: "healthy" });
    expect(at.file("gateway", "gateway_manifest.json")).toMatchObject({
      ...told,
      gateway_pid: Number(pid),
      gateway_execution_mode: "tmux_auxiliary_window",
    });
    const logPath = join(at.sessionRoot, "gateway", "logs", "gateway.log");
    expect(statSync(logPath).mode & 0o777).toBe(0o600);
    const log = await until("its log", () => {
      const text = readFileSync(logPath, "utf8");
      return text.includes("gateway started") && text;
    });
    expect(log.match(/gateway started/g)).toHaveLength(1);
    await until("its screen", async () =>
      (await at.tmux("capture-pane", "-p", "-t", paneId)).includes("gateway started"),
    );
    expect((await at.type("agents single --agent-name worker gateway attach")).stdout).toContain("already");
    expect(await windows(at)).toEqual([agent, own]);
  }, 120_000);

  test("ends with its window when it is detached, twice is once, and the agent goes on", async () => {
    await using at = await launched();
    const pid = at.gatewayPid();
    const [agent] = await windows(at);
    const detached = await at.type("agents single --agent-name worker gateway detach --json");
    expect(detached.exitCode).toBe(0);
    expect(detached.json()).toMatchObject({
      gateway_health: "not_attached",
      execution_mode: "tmux_auxiliary_window",
      managed_agent_instance_epoch: 1,
    });
    expect(at.fixture.alive(pid)).toBe(false);
    expect(await windows(at)).toEqual([agent ?? ""]);
    const saved = at.file("gateway", "state.json");
    expect(saved).toEqual(detached.json());
    expect(at.file("gateway", "gateway_manifest.json")).not.toHaveProperty("gateway_pid");
    expect(existsSync(join(at.sessionRoot, "gateway", "run", "current-instance.json"))).toBe(false);
    const again = await at.type("agents single --agent-name worker gateway detach");
    expect(again).toMatchObject({ exitCode: 0, stdout: "no gateway was running\n" });
  }, 120_000);
});

describe("a gateway as a separate process", () => {
  test("omits the handles, stays in this mode, and is detached", async () => {
    await using at = await launched("--gateway-background");
    expect(await windows(at)).toHaveLength(1);
    const current = at.file("gateway", "run", "current-instance.json");
    expect(current["execution_mode"]).toBe("detached_process");
    expect(Object.keys(current).filter((key) => key.startsWith("tmux_"))).toEqual([]);
    const pid = at.gatewayPid();
    expect((await at.type("agents single --agent-name worker gateway detach")).stdout).toBe(
      "the gateway has ended\n",
    );
    expect(at.fixture.alive(pid)).toBe(false);
    await at.type("agents single --agent-name worker gateway attach");
    expect(await windows(at)).toHaveLength(1);
    await at.type("agents single --agent-name worker gateway detach");
    await at.type("agents single --agent-name worker gateway attach --window");
    expect(await windows(at)).toHaveLength(2);
  }, 120_000);
});

describe("what an attach asks for is kept", () => {
  test("a port only when it was asked for, and timings reach the gateway", async () => {
    await using at = await launched();
    expect(at.file("gateway", "desired-config.json")).toEqual({
      schema_version: 1,
      desired_execution_mode: "tmux_auxiliary_window",
    });
    const [port] = await sparePorts(1);
    await at.type("agents single --agent-name worker gateway detach");
    const timing = "--gateway-tui-stability-threshold-seconds 0.25";
    const attached = await at.type(
      `agents single --agent-name worker gateway attach --background --port ${port} ${timing} --json`,
    );
    expect(attached.json()).toMatchObject({ gateway_port: port, execution_mode: "detached_process" });
    expect(at.file("gateway", "desired-config.json")).toEqual({
      schema_version: 1,
      desired_port: port,
      desired_execution_mode: "detached_process",
      desired_tui_tracking_timings: { stability_threshold_seconds: 0.25 },
    });
    await at.type("agents single --agent-name worker gateway detach");
    const again = await at.type("agents single --agent-name worker gateway attach --json");
    expect(again.json()).toMatchObject({ gateway_port: port, execution_mode: "detached_process" });
    const other = await at.type("agents single --agent-name worker gateway attach --port 0");
    expect(other).toMatchObject({ exitCode: 0 });
    expect(other.stderr).toContain("left as it is");
    const wrong = await at.type(
      "agents single --agent-name worker gateway attach --gateway-tui-stability-threshold-seconds 0",
    );
    expect(wrong.exitCode).toBe(2);
  }, 120_000);

  test("a caller's wish in the environment counts, another gateway's live bindings do not", async () => {
    await using at = await launched("--no-gateway");
    const words = ["agents", "single", "--agent-name", "worker", "gateway", "attach", "--json"];
    const env = { ...at.fixture.env, SVC_AGENT_GATEWAY_HOST: "localhost", SVC_AGENT_GATEWAY_PORT: "0" };
    const asked = await at.fixture.run("svc-mgr", words, { env });
    expect(asked.json()).toMatchObject({ gateway_host: "localhost" });
    await at.type("agents single --agent-name worker gateway detach");
    await at.type("agents single --agent-name worker gateway attach --host 127.0.0.1");
    await at.type("agents single --agent-name worker gateway detach");
    const live = { ...env, SVC_AGENT_GATEWAY_PORT: "1", SVC_GATEWAY_STATE_PATH: "/other/state.json" };
    const ignored = await at.fixture.run("svc-mgr", words, { env: live });
    expect(ignored.json()).toMatchObject({ gateway_host: "127.0.0.1", gateway_health: "healthy" });
  }, 120_000);
});

describe("where an agent finds its gateway", () => {
  test("live variables and the registry say so while one runs, the token only by its file", async () => {
    await using at = await launched("--no-gateway");
    expect(await liveVariables(at)).toEqual({});
    const env = { ...at.fixture.env, SVC_GATEWAY_TOKEN: "a-secret-of-ours" };
    const attached = await at.fixture.run(
      "svc-mgr",
      ["agents", "single", "--agent-name", "worker", "gateway", "attach", "--json"],
      { env },
    );
    expect(attached.exitCode).toBe(0);
    const port = String(attached.json()["gateway_port"]);
    const run = join(at.sessionRoot, "gateway");
    expect(await liveVariables(at)).toEqual({
      SVC_AGENT_GATEWAY_HOST: "127.0.0.1",
      SVC_AGENT_GATEWAY_PORT: port,
      SVC_GATEWAY_STATE_PATH: join(run, "state.json"),
      SVC_GATEWAY_PROTOCOL_VERSION: "v1",
      SVC_GATEWAY_TOKEN_FILE: join(run, "run", "token"),
    });
    expect(readFileSync(join(run, "run", "token"), "utf8")).toBe("a-secret-of-ours\n");
    expect(record(at)["gateway"]).toMatchObject({ port: Number(port), protocol_version: "v1" });
    expect(await at.tmux("show-environment", "-t", `=${at.session}`)).not.toContain("a-secret-of-ours");
    expect((await at.type("agents single --agent-name worker requests list")).exitCode).toBe(0);
    await at.type("agents single --agent-name worker gateway detach");
    expect(await liveVariables(at)).toEqual({});
    expect(record(at)).not.toHaveProperty("gateway");
    expect(existsSync(join(run, "run", "token"))).toBe(false);
  }, 120_000);

  test.each(["status", "attach"])(
    "what a killed one left is cleared by %s",
    async (verb) => {
      await using at = await launched();
      const pid = at.gatewayPid();
      const before = await liveVariables(at);
      at.fixture.kill(pid);
      await until("the gateway's end", () => !at.fixture.alive(pid));
      expect(await liveVariables(at)).toEqual(before);
      const run = await at.type(`agents single --agent-name worker gateway ${verb} --json`);
      if (verb === "status") {
        expect(run.json()).toMatchObject({ gateway_health: "not_attached", managed_agent_instance_epoch: 1 });
        expect(await liveVariables(at)).toEqual({});
        expect(record(at)).not.toHaveProperty("gateway");
        expect(at.file("gateway", "state.json")).toMatchObject({ gateway_health: "not_attached" });
      } else {
        const port = String(run.json()["gateway_port"]);
        expect(await liveVariables(at)).toMatchObject({ SVC_AGENT_GATEWAY_PORT: port });
      }
    },
    120_000,
  );

  test("a healthy one is announced again where somebody unset it", async () => {
    await using at = await launched();
    const before = await liveVariables(at);
    await at.tmux("set-environment", "-u", "-t", `=${at.session}`, "SVC_AGENT_GATEWAY_PORT");
    await at.type("agents single --agent-name worker gateway status");
    expect(await liveVariables(at)).toEqual(before);
  }, 120_000);
});

describe("through the gateway on the command line", () => {
  test("keys are pressed, and all of it is text when asked so", async () => {
    await using at = await launched();
    await at.ready();
    const keys = [..."agents single --agent-name worker gateway send-keys --json".split(" "), "--sequence"];
    const typed = await at.fixture.mgr(...keys, "hello<[Enter]>");
    expect(typed.json()).toEqual({ status: "ok", action: "control_input", detail: "sent" });
    await until("the agent to hear it", () => at.heard().length === 1);
    await at.ready();
    await at.fixture.mgr(...keys, "a <[Enter]> in it", "--escape-special-keys");
    await at.fixture.mgr(...keys, "<[Enter]>");
    await until("the agent to hear it", () => at.heard().length === 2);
    expect(at.heard()).toEqual(["hello", "a <[Enter]> in it"]);
    const wrong = await at.fixture.mgr(...keys, "<[F13]>");
    expect(wrong.exitCode).toBe(1);
    expect(wrong.error()).toMatchObject({ detail: expect.stringContaining("Escape") });
    expect((await at.fixture.mgr(...keys, "  ")).exitCode).toBe(2);
  }, 120_000);

  test("a turn is interrupted, and an idle agent is left in peace", async () => {
    await using at = await launched();
    await at.type("agents single --agent-name worker prompt", "--prompt", "SLOW 600000");
    await at.busy();
    const run = await at.type("agents single --agent-name worker gateway interrupt --json");
    expect(run.json()).toMatchObject({ request_kind: "interrupt", state: "completed" });
    const again = await at.type("agents single --agent-name worker gateway interrupt --json");
    expect(again.json()).toMatchObject({ state: "completed", result_json: { outcome: "no_op" } });
    // Some of those that wait are coalesced, and none of them stops anything.
    const many = await Promise.all(
      Array.from({ length: 8 }, () => at.type("agents single --agent-name worker interrupt --json")),
    );
    for (const one of many) {
      expect(one.json()).toMatchObject({ disposition: "no_op", detail: "nothing was running" });
    }
  }, 120_000);

  test("an interrupt that found nothing to stop reports what will still come", async () => {
    await using at = await launched();
    await at.ready();
    await at.type("agents single --agent-name worker gateway send-keys --sequence", "half a thought");
    await until("the draft to be seen", async () => {
      const { surface } = (
        await at.type("agents single --agent-name worker gateway tui state --json")
      ).json();
      return (surface as { editing_input: string }).editing_input === "yes";
    });
    await at.type("agents single --agent-name worker prompt", "--prompt", "SLOW 600000");
    const run = await at.type("agents single --agent-name worker interrupt --json");
    expect(run.json()).toMatchObject({
      disposition: "no_op",
      detail: "nothing was running; 1 prompt waits in the queue",
    });
  }, 120_000);

  test("the terminal is shown, remembered and noted", async () => {
    await using at = await launched();
    await at.ready();
    const state = await at.type("agents single --agent-name worker gateway tui state --json");
    expect(state.json()).toMatchObject({ turn: { phase: "ready" }, surface: { accepting_input: "yes" } });
    expect((await at.type("agents single --agent-name worker gateway tui state")).stdout).toMatch(
      /^turn +ready\n/,
    );
    const history = await at.type("agents single --agent-name worker gateway tui history --limit 2 --json");
    expect((history.json()["entries"] as unknown[]).length).toBeLessThanOrEqual(2);
    expect((await at.type("agents single --agent-name worker gateway tui history")).stdout).toStartWith(
      "AT ",
    );
    expect((await at.type("agents single --agent-name worker gateway tui history --limit 0")).exitCode).toBe(
      2,
    );
    const noted = await at.type(
      "agents single --agent-name worker gateway tui note-prompt --json",
      "--prompt",
      "typed by hand",
    );
    expect(noted.json()).toHaveProperty("surface");
  }, 120_000);

  test("another instance of the agent is worked with only after a reconciliation", async () => {
    await using at = await launched();
    await at.ready();
    const [agent = ""] = await windows(at);
    const pane = agent.split(" ")[3] ?? "";
    const command = await at.tmux("display-message", "-p", "-t", pane, "#{pane_start_command}");
    expect(command).not.toBe("");
    const program = (at.file("manifest.json")["launch_plan"] as { executable: string; args: string[] }) ?? {};
    await at.tmux("respawn-pane", "-k", "-t", pane, "--", program.executable, ...program.args);
    await until("the gateway to see it", async () => {
      const status = await at.type("agents single --agent-name worker gateway status --json");
      return status.json()["request_admission"] === "blocked_reconciliation";
    });
    const refused = await at.type("agents single --agent-name worker prompt --json", "--prompt", "x");
    expect(refused.exitCode).toBe(1);
    const reconciled = await at.type("agents single --agent-name worker gateway reconcile --json");
    expect(reconciled.json()).toEqual({
      schema_version: 1,
      managed_agent_instance_epoch: 2,
      failed_request_ids: [],
    });
    expect((await at.type("agents single --agent-name worker gateway status --json")).json()).toMatchObject({
      request_admission: "open",
    });
  }, 120_000);
});

describe("a gateway whose port the system chose", () => {
  const port = (at: CliAgent) => Number(at.file("gateway", "run", "current-instance.json")["port"]);

  test("comes back on it after a clean end and after a kill, and elsewhere when it is taken", async () => {
    await using at = await launched("--gateway-background");
    const first = port(at);
    await at.type(`${one} gateway detach`);
    expect((await at.type(`${one} gateway attach --background`)).exitCode).toBe(0);
    expect(port(at)).toBe(first);
    const pid = at.gatewayPid();
    at.fixture.kill(pid);
    await until("its end", () => !at.fixture.alive(pid));
    expect((await at.type(`${one} gateway attach --background`)).exitCode).toBe(0);
    expect(port(at)).toBe(first);

    await at.type(`${one} gateway detach`);
    {
      using _other = Bun.listen({ hostname: "127.0.0.1", port: first, socket: { data() {} } });
      expect((await at.type(`${one} gateway attach --background`)).exitCode).toBe(0);
      expect(port(at)).not.toBe(first);
    }
  }, 120_000);

  test("does not come back on one that was asked for once that wish is taken back", async () => {
    const [asked = 0] = await sparePorts(1);
    await using at = await launched("--gateway-background", "--gateway-port", String(asked));
    expect(port(at)).toBe(asked);
    await at.type(`${one} gateway detach`);
    expect((await at.type(`${one} gateway attach --background --port 0`)).exitCode).toBe(0);
    expect(port(at)).not.toBe(asked);
  }, 120_000);

  test("begins on any port where the file that says so was damaged", async () => {
    await using at = await launched("--gateway-background");
    await at.type(`${one} gateway detach`);
    for (const text of ["", "no port", "70000", "-1", "1e3"]) {
      writeFileSync(join(at.sessionRoot, "gateway", "run", "last-port"), text);
      expect((await at.type(`${one} gateway attach --background`)).exitCode).toBe(0);
      await at.type(`${one} gateway detach`);
    }
  }, 120_000);
});
