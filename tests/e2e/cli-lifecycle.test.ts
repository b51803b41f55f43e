import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker"];
const worker = (...words: string[]) => ["agents", "single", "--agent-name", "worker", ...words];

test("the state of an agent whose session or whose tmux has gone says so, and what to do", async () => {
  await using fixture = createCliFixture();
  const made = (await fixture.mgr(...launch, "--no-gateway", "--json")).json();
  await fixture.startSession("other", ["cat"]);
  const state = async () => ({
    text: (await fixture.mgr(...worker("state"))).stdout,
    identity: (await fixture.mgr(...worker("state", "--json"))).json()["identity"],
  });
  const session = String(made["tmux_session_name"]);
  expect(await state()).toEqual({
    text: expect.stringMatching(/^lifecycle +active$/m),
    identity: expect.objectContaining({ lifecycle_state: "active", liveness: "alive" }),
  });
  await using at = await startCoordinator(fixture);
  // With the last session the server ends too.
  for (const ended of [session, "other"]) {
    await fixture.tmux("kill-session", "-t", `=${ended}`);
    expect(await state()).toEqual({
      text: expect.stringMatching(
        /^lifecycle +gone: its tmux session has ended; start it again with: .* --agent-name worker relaunch$/m,
      ),
      identity: expect.objectContaining({ lifecycle_state: "active", liveness: "gone" }),
    });
    const dead = { kind: "dead_agent", command: expect.stringMatching(/ relaunch$/) };
    expect((await fixture.mgr("attention", "list", "--json")).json()["items"]).toMatchObject([dead]);
    const kinds = async () => {
      const items = (await at.ask("/svc/attention")).body["items"] as { kind: string; command: string }[];
      return items.map(({ kind, command }) => `${kind}: ${command}`);
    };
    await until("the coordinator lists it as dead", async () => (await kinds()).length > 0);
    expect(await kinds()).toEqual([expect.stringMatching(/^dead_agent: .* relaunch$/)]);
  }
  await fixture.mgr(...worker("stop"));
  expect(await state()).toEqual({
    text: expect.stringMatching(/^lifecycle +stopped$/m),
    identity: expect.objectContaining({ lifecycle_state: "stopped", liveness: "gone" }),
  });
}, 120_000);

test("an agent whose session a person renamed is seen, prompted, relaunched in place and stopped", async () => {
  await using fixture = createCliFixture();
  const made = (await fixture.mgr(...launch, "--json")).json();
  const agentPane = () =>
    fixture.tmux("list-panes", "-a", "-f", "#{==:#{window_index},0}", "-F", "#{session_name} #{pane_id}");
  const [, pane] = (await agentPane()).split(" ");
  await fixture.tmux("rename-session", "-t", `=${made["tmux_session_name"]}`, "mine");
  // A gateway that begins now has only the recorded name, too.
  await fixture.mgr(...worker("gateway", "detach"));
  await fixture.mgr(...worker("gateway", "attach"));
  const prompted = await fixture.mgr(...worker("prompt", "--prompt", "REPLY hello", "--wait", "--json"));
  expect([prompted.exitCode, prompted.stderr]).toEqual([0, ""]);
  const state = (await fixture.mgr(...worker("state", "--json"))).json();
  expect(state["identity"]).toMatchObject({ liveness: "alive", has_gateway: true });
  const again = await fixture.mgr(...worker("relaunch", "--json"));
  expect([again.exitCode, again.json()["in_place"]]).toEqual([0, true]);
  expect(await agentPane()).toBe(`mine ${pane}`);
  expect((await fixture.mgr(...worker("stop"))).exitCode).toBe(0);
  expect(await fixture.sessions()).toEqual([]);
}, 120_000);

describe("what an agent left", () => {
  test("is removed when it has ended and somebody says so, and nothing else is", async () => {
    await using fixture = createCliFixture();
    const made = (await fixture.mgr(...launch, "--no-gateway", "--session-name", "mine", "--json")).json();
    expect(made["tmux_session_name"]).toBe("mine");
    const root = String(made["session_root"]);
    const running = await fixture.mgr(...worker("cleanup", "--yes", "--json"));
    expect(running).toMatchObject({ exitCode: 1, stdout: "" });
    expect(running.error()).toMatchObject({
      error: "conflict",
      detail: expect.stringContaining("End it with: svc-mgr agents single --agent-id"),
    });
    expect((await fixture.mgr(...worker("stop"))).exitCode).toBe(0);

    const unasked = await fixture.mgr(...worker("cleanup"));
    expect(unasked).toMatchObject({ exitCode: 1, stdout: "" });
    expect(unasked.stderr).toContain("Say so with --yes");
    const planned = await fixture.mgr(...worker("cleanup", "--dry-run", "--json"));
    expect(planned.json()).toMatchObject({ session_root: root, removed: false });
    expect(existsSync(root)).toBe(true);

    // A folder of the person's, to which something in the session points, is not the agent's.
    const precious = join(fixture.folder, "precious");
    mkdirSync(precious);
    writeFileSync(join(precious, "kept"), "x");
    symlinkSync(precious, join(root, "link"));
    const gone = await fixture.mgr(...worker("cleanup", "--yes", "--json"));
    expect(gone.json()).toMatchObject({ agent_name: "worker", removed: true });
    expect([existsSync(root), existsSync(join(precious, "kept"))]).toEqual([false, true]);
    const again = await fixture.mgr("agents", "single", "--agent-name", "worker", "cleanup", "--yes");
    expect(again).toMatchObject({ exitCode: 1 });
    expect(again.stderr).toContain("svc-mgr agents list --state all");
  }, 120_000);

  test("outside the sessions is left alone, whatever the record says", async () => {
    await using fixture = createCliFixture();
    const made = (await fixture.mgr(...launch, "--no-gateway", "--json")).json();
    await fixture.mgr(...worker("stop"));
    const path = join(fixture.folder, "home/.local/state/svc/registry/live_agents", String(made["agent_id"]));
    const record = JSON.parse(readFileSync(join(path, "record.json"), "utf8"));
    record.runtime.session_root = fixture.workdir;
    writeFileSync(join(path, "record.json"), JSON.stringify(record));
    expect((await fixture.mgr(...worker("cleanup", "--yes", "--json"))).json()).toMatchObject({
      session_root: null,
    });
    expect(existsSync(fixture.workdir)).toBe(true);
  }, 120_000);
});

describe("a launch", () => {
  test("takes the place of an agent of its name when asked to", async () => {
    await using fixture = createCliFixture();
    const first = (await fixture.mgr(...launch, "--no-gateway", "--json")).json();
    const refused = await fixture.mgr(...launch, "--no-gateway");
    expect(refused).toMatchObject({ exitCode: 1 });
    expect(refused.stderr).toContain("already runs");
    const second = await fixture.mgr(...launch, "--no-gateway", "--force", "keep-stale", "--json");
    expect(second.stderr).toBe("");
    expect(existsSync(String(first["session_root"]))).toBe(true);
    const third = await fixture.mgr(...launch, "--no-gateway", "--force", "clean", "--json");
    expect(third.exitCode).toBe(0);
    expect(existsSync(String(second.json()["session_root"]))).toBe(false);
    expect(await fixture.sessions()).toEqual([String(third.json()["tmux_session_name"])]);
  }, 120_000);

  test("gives a headless agent its role, which it says itself who it is", async () => {
    await using fixture = createCliFixture();
    writeFileSync(join(fixture.workdir, "reviewer.md"), "You review harbors.\n");
    const made = await fixture.mgr(
      ...launch,
      "--headless",
      "--no-gateway",
      "--role-file",
      "reviewer.md",
      "--json",
    );
    expect(made.stderr).toBe("");
    const manifest = JSON.parse(readFileSync(String(made.json()["manifest_path"]), "utf8"));
    expect(manifest).toMatchObject({
      role_name: "reviewer",
      system_prompt: { role_name: "reviewer", text: "You review harbors.", source: "role_file" },
    });
    const env = { ...fixture.env, SVC_MANIFEST_PATH: String(made.json()["manifest_path"]) };
    const identity = await fixture.run("svc-mgr", ["agents", "self", "identity", "--json"], { env });
    expect(identity.json()).toMatchObject({ agent_name: "worker", transport: "headless", tool: "demo" });
    const missing = await fixture.mgr(...launch, "--role-file", "nowhere.md");
    expect(missing).toMatchObject({ exitCode: 2 });
    expect(missing.stderr).toContain("--role-file: there is no file nowhere.md");
    const terminal = await fixture.mgr(
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      "other",
      "--role-file",
      "reviewer.md",
    );
    expect(terminal.stderr).toContain("demo takes no role in a terminal");
    expect(await fixture.sessions()).toHaveLength(1);
  }, 120_000);
});

describe("an agent whose manifest is damaged", () => {
  async function damaged(fixture: CliFixture) {
    const made = (await fixture.mgr(...launch, "--gateway-background", "--json")).json();
    const root = String(made["session_root"]);
    const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"));
    const { pid } = read("gateway/run/current-instance.json");
    const agentPid = read("manifest.json").runtime.agent_pid;
    writeFileSync(join(root, "manifest.json"), '{"schema_version": 4, "cut');
    return { root, pids: [pid, agentPid] as number[] };
  }

  test("is ended by its record, given the reason, and then removed", async () => {
    await using fixture = createCliFixture();
    const { root, pids } = await damaged(fixture);
    const state = await fixture.mgr(...worker("state"));
    expect(state).toMatchObject({ exitCode: 1 });
    expect(state.stderr).toMatch(
      /not valid JSON.*end it with: svc-mgr agents single --agent-name worker stop/,
    );
    const blind = { env: { ...fixture.env, PATH: "/nonexistent" } };
    expect(await fixture.run("svc-mgr", worker("stop"), blind)).toMatchObject({ exitCode: 1 });
    expect(pids.filter(fixture.alive)).toEqual(pids);
    const stopped = await fixture.mgr(...worker("stop"));
    expect(stopped).toMatchObject({ exitCode: 0, stderr: "" });
    expect(stopped.stdout).toMatch(/^stopped "worker"\nonly its record was left to go by: .*not valid JSON/);
    expect(stopped.stdout).toContain("svc-mgr agents single --agent-name worker cleanup");
    expect([await fixture.sessions(), pids.filter(fixture.alive)]).toEqual([[], []]);
    expect((await fixture.mgr(...worker("cleanup", "--yes"))).exitCode).toBe(0);
    expect(existsSync(root)).toBe(false);
  }, 120_000);

  test("is ended through the coordination server too, which says so of everything else", async () => {
    await using fixture = createCliFixture();
    const { pids } = await damaged(fixture);
    await using coord = await startCoordinator(fixture);
    const state = await coord.ask("/svc/agents/worker/state");
    expect(state.status).toBe(503);
    expect(state.body["detail"]).toMatch(/not valid JSON.*svc-mgr agents single --agent-id \w+ stop/);
    const stopped = await coord.ask("/svc/agents/worker/stop", null);
    expect(stopped).toMatchObject({ status: 200, body: { success: true } });
    expect(stopped.body["detail"]).toContain("by its record alone");
    expect([await fixture.sessions(), pids.filter(fixture.alive)]).toEqual([[], []]);
  }, 120_000);
});

test("a shell in an agent's session cannot answer for it, and is shown where to", async () => {
  await using fixture = createCliFixture();
  const made = (await fixture.mgr(...launch, "--json")).json();
  await fixture.mgr(...worker("prompt", "--prompt", "MENU Delete it all?"));
  const id = await until("its question", async () => {
    const { items } = (await fixture.mgr("attention", "list", "--json")).json() as {
      items: { id: string }[];
    };
    return items[0]?.id;
  });
  const env = { ...fixture.env, SVC_MANIFEST_PATH: String(made["manifest_path"]) };
  const refused = await fixture.run("svc-mgr", ["attention", "answer", id, "1"], { env });
  expect(refused.exitCode).not.toBe(0);
  expect(refused.stderr).toContain("answer from a terminal outside of it, or in the console");
  const answered = await fixture.mgr("attention", "answer", id, "1");
  expect([answered.exitCode, answered.stderr]).toEqual([0, ""]);
}, 120_000);
