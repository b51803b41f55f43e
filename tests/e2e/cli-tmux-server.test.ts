import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createCliFixture } from "../support/cli-fixture.ts";

// Two places for tmux's sockets: in both, the person's own server is called `default`.
const fixture = createCliFixture();
const processes = createProcesses({ steps: quietSteps });
const [here, elsewhere, swept] = [place("here"), place("elsewhere"), place("swept")];

function place(name: string): Record<string, string> {
  const folder = join(fixture.folder, name);
  mkdirSync(folder);
  return { ...fixture.env, SVC_TMUX_SOCKET: "", TMUX_TMPDIR: folder };
}

const mgr = (env: Record<string, string>, ...words: string[]) => fixture.run("svc-mgr", words, { env });
const one = (name: string, ...words: string[]) => ["agents", "single", "--agent-name", name, ...words];
const launch = (env: Record<string, string>, name: string) =>
  mgr(env, "agents", "launch", "--tool", "demo", "--agent-name", name, "--json");
const tmux = (env: Record<string, string>, ...words: string[]) => processes.run(["tmux", ...words], { env });
const sessions = async (env: Record<string, string>) =>
  (await tmux(env, "-N", "list-sessions", "-F", "#{session_name}")).stdout.split("\n").filter(Boolean);
const socketOf = async (env: Record<string, string>) =>
  (await tmux(env, "-N", "display-message", "-p", "#{socket_path}")).stdout.trim();
const listed = async (env: Record<string, string>) =>
  (await mgr(env, "agents", "list", "--json")).json()["agents"];

afterAll(async () => {
  for (const name of ["anna", "bert", "carl", "dora", "emil", "fred", "gina"])
    await mgr(here, ...one(name, "stop"));
  for (const env of [here, elsewhere, swept]) await tmux(env, "-N", "kill-server");
  await fixture[Symbol.asyncDispose]();
});

test("an agent is found, and ended, from where tmux keeps its sockets elsewhere", async () => {
  const launched = await launch(here, "anna");
  expect([launched.exitCode, launched.stderr]).toEqual([0, ""]);
  const session = String(launched.json()["tmux_session_name"]);
  const pid = Number(
    (await tmux(here, "-N", "list-panes", "-t", `=${session}:`, "-F", "#{pane_pid}")).stdout,
  );
  // A server of the same name, with a session of the same name, that is not the agent's.
  await tmux(elsewhere, "-f", "/dev/null", "new-session", "-d", "-s", session, "cat");

  expect(await listed(elsewhere)).toMatchObject([{ agent_name: "anna", session_gone: false }]);
  const inside = (
    await tmux(elsewhere, "-N", "display-message", "-p", "#{socket_path},#{pid},0")
  ).stdout.trim();
  expect(await listed({ ...elsewhere, TMUX: inside })).toMatchObject([
    { agent_name: "anna", session_gone: false },
  ]);

  const stopped = await mgr(elsewhere, ...one("anna", "stop", "--json"));
  expect([stopped.exitCode, stopped.stderr]).toEqual([0, ""]);
  expect(fixture.alive(pid)).toBe(false);
  expect(await sessions(here)).toEqual([]);
  expect(await sessions(elsewhere)).toEqual([session]);
}, 120_000);

test("inside its pane the agent is itself, whatever SVC_TMUX_SOCKET says", async () => {
  const launched = (await launch(here, "dora")).json();
  const format = "#{socket_path},#{pid},0 #{pane_id}";
  const target = `=${String(launched["tmux_session_name"])}:0`;
  const [socket = "", pane = ""] = (
    await tmux(here, "-N", "display-message", "-p", "-t", target, format)
  ).stdout
    .trim()
    .split(" ");
  await tmux(elsewhere, "-f", "/dev/null", "new-session", "-d", "-s", "mine", "cat");
  const inside = { ...here, TMUX: socket, TMUX_PANE: pane, SVC_TMUX_SOCKET: await socketOf(elsewhere) };
  const self = await mgr(inside, "agents", "self", "identity", "--json");
  expect([self.exitCode, self.stderr, self.json()["agent_name"]]).toEqual([0, "", "dora"]);
  await mgr(elsewhere, ...one("dora", "stop"));
  await tmux(elsewhere, "-N", "kill-session", "-t", "=mine");
}, 120_000);

test("an agent is launched again where it was, also when that place has to be made again", async () => {
  await launch(swept, "fred");
  await mgr(swept, ...one("fred", "stop"));
  rmSync(swept["TMUX_TMPDIR"] ?? "", { recursive: true });
  const relaunched = await mgr(elsewhere, ...one("fred", "relaunch", "--json"));
  expect([relaunched.exitCode, relaunched.stderr]).toEqual([0, ""]);
  expect(await sessions(swept)).toEqual([String(relaunched.json()["tmux_session_name"])]);
}, 120_000);

test.each(["in a folder that is there", "in a folder that is not there"])(
  "an agent is not launched at a socket %s and that only its manifest names",
  async (where) => {
    const launched = (await launch(here, "gina")).json();
    await mgr(here, ...one("gina", "stop"));
    const manifest = String(launched["manifest_path"]);
    const folder = join(fixture.folder, "of-nobody");
    if (where.endsWith("is there")) mkdirSync(folder);
    const socket = join(folder, "planted");
    const text = readFileSync(manifest, "utf8");
    const read = JSON.parse(text);
    writeFileSync(manifest, JSON.stringify({ ...read, tmux: { ...read.tmux, socket } }));

    const refused = await mgr(here, ...one("gina", "relaunch"));
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringContaining(`SVC_TMUX_SOCKET=${socket}`),
    ]);
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
    const named = { ...here, SVC_TMUX_SOCKET: socket };
    const relaunched = await mgr(named, ...one("gina", "relaunch"));
    expect([relaunched.exitCode, relaunched.stderr]).toEqual([0, ""]);
    await mgr(named, ...one("gina", "stop"));
    await mgr(named, ...one("gina", "cleanup", "--yes"));
    await processes.run(["tmux", "-N", "-S", socket, "kill-server"]);
    rmSync(folder, { recursive: true });
  },
  120_000,
);

test("an agent of a version that did not record its server has it recorded by a relaunch in place", async () => {
  const launched = (await launch(here, "emil")).json();
  const manifest = String(launched["manifest_path"]);
  const registry = join(here["HOME"] ?? "", ".local/state/svc/registry/live_agents");
  const record = join(registry, String(launched["agent_id"]), "record.json");
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
  const { socket: _manifest, ...tmuxBefore } = read(manifest).tmux;
  const { socket: _record, ...terminalBefore } = read(record).terminal;
  writeFileSync(manifest, JSON.stringify({ ...read(manifest), tmux: tmuxBefore }));
  writeFileSync(record, JSON.stringify({ ...read(record), terminal: terminalBefore }));

  const relaunched = await mgr(here, ...one("emil", "relaunch", "--json"));
  expect([relaunched.exitCode, relaunched.json()["in_place"]]).toEqual([0, true]);
  const socket = await socketOf(here);
  expect([read(manifest).tmux.socket, read(record).terminal.socket]).toEqual([socket, socket]);
  expect((await mgr(elsewhere, ...one("emil", "stop"))).stdout).toBe('stopped "emil"\n');
}, 120_000);

test("a caller that launches is shown how to watch the agent from that very shell", async () => {
  const said = async (env: Record<string, string>, name: string) =>
    (await mgr(env, "agents", "launch", "--tool", "demo", "--agent-name", name)).stdout;
  expect(await said(elsewhere, "bert")).toMatch(/tmux attach -t '=SVC-bert-\d+'/);
  const path = join(here["TMUX_TMPDIR"] ?? "", "other");
  expect(await said({ ...here, SVC_TMUX_SOCKET: path }, "carl")).toContain(
    `tmux -S ${path} attach -t '=SVC-carl-`,
  );
  for (const name of ["bert", "carl"]) await mgr(elsewhere, ...one(name, "stop"));
}, 120_000);
