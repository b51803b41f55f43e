import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { agentPane, instanceId } from "../../../src/services/terminal/tmux/command.ts";
import { createLauncher } from "../../../src/services/terminal/tmux/launch.ts";
import type { TmuxCommand } from "../../../src/services/terminal/tmux/protocol.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createTmux } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

async function setup() {
  const t = await createTmux();
  const folder = join(t.folder, "scripts");
  const workdir = join(t.folder, "a #{pane_id} 'dir';");
  t.files.ensureDirectory("test", folder);
  t.files.ensureDirectory("test", workdir);
  const launcher = createLauncher({ ...t, folder });
  const out = join(t.folder, "out");
  const request = (session: string, script: string, env: Record<string, string> = {}) => ({
    session,
    workdir,
    command: ["sh", "-c", script, "sh", out, "it's; $HOME;"],
    env: Object.keys(env).length > 0 ? { PATH: process.env["PATH"] ?? "", ...env } : {},
    sessionEnv: { SVC_AGENT_NAME: "a; $b 'c' \"d\" é" },
  });
  return {
    t,
    launcher,
    folder,
    workdir,
    out,
    request,
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

const words = (path: string) =>
  until("output of the program", () => existsSync(path) && readFileSync(path, "utf8"));

test("a launched agent gets its arguments, folder and environment exactly", async () => {
  await using s = await setup();
  const big = `${"x".repeat(40_000)}'\n"$(date)é`;
  const pane = await s.launcher.launch(
    s.request(
      "SVC-a-1",
      'printf "%s|%s|%s|%s" "$2" "$PWD" "$SECRET" "$TMUX_PANE" > "$1.tmp"; mv "$1.tmp" "$1"; exec cat',
      {
        SECRET: big,
      },
    ),
  );
  expect(await words(s.out)).toBe(`it's; $HOME;|${s.workdir}|${big}|${pane.paneId}`);
  expect(pane).toMatchObject({ windowIndex: 0, windowName: "agent", width: 120, height: 36, dead: false });
  expect(agentPane(await s.t.tmux.panes("SVC-a-1"), pane.paneId)).toEqual(pane);
});

test.each([
  { id: "of 2 x 1", client: "2,1" },
  { id: "of 50 x 14", client: "50,14" },
])("a window has its size although a client $id is attached to the server", async ({ client }) => {
  await using s = await setup();
  await s.t.newSession("theirs", ["sleep", "600"]);
  const person = s.t.processes.pipe(["tmux", "-S", s.t.socket, "-C", "attach-session", "-t", "=theirs"]);
  const width = client.split(",")[0] ?? "";
  await until("the client", async () => {
    // A client that is only just attached has no window to size yet.
    person.write(`refresh-client -C ${client}\n`);
    return (await s.t.run("list-windows", "-t", "=theirs", "-F", "#{window_width}")).includes(width);
  });
  const pane = await s.launcher.launch(s.request("SVC-a-1", "exec cat"));
  expect(pane).toMatchObject({ width: 120, height: 36 });
  expect(await s.t.tmux.panes("SVC-a-1")).toEqual([pane]);
  person.kill();
});

test("its window has the size of the terminal that shows it, and its own again when none does", async () => {
  await using s = await setup();
  await using terminal = await createTmux();
  const pane = await s.launcher.launch(s.request("SVC-a-1", "exec cat"));
  const size = () => s.t.run("display-message", "-p", "-t", pane.paneId, "#{window_width}x#{window_height}");
  const attach = `env -u TMUX tmux -S ${s.t.socket} attach -t =SVC-a-1`;
  const show = (columns: number) =>
    terminal.run("new-session", "-d", "-s", "me", "-x", String(columns), "-y", "40", attach);
  // A gateway's connection shows nothing to anybody.
  await s.t.control("SVC-a-1");
  expect(await size()).toBe("120x36");

  await show(150);
  await until("the size of the terminal", async () => (await size()).startsWith("150x"));
  await terminal.run("resize-window", "-t", "=me:", "-x", "90", "-y", "25");
  await until("the next size", async () => (await size()).startsWith("90x"));
  await terminal.run("kill-session", "-t", "=me");
  await until("its former size", async () => (await size()) === "120x36");

  // What a person sets by hand stays while nobody looks.
  await s.t.run("resize-window", "-t", pane.paneId, "-x", "140", "-y", "40");
  await s.t.control("SVC-a-1");
  expect(await size()).toBe("140x40");
  await show(100);
  await until("the size of the second terminal", async () => (await size()).startsWith("100x"));
  await s.t.run("detach-client", "-s", "=SVC-a-1");
  await until("its former size again", async () => (await size()) === "120x36");
});

test.each([
  "style #[fg=red]",
  "signs ##[fg=red] and ###[x",
  "plain # and ##",
  "format #{pane_id} #(id) #h #,",
  "time %H and end ;",
])("tmux starts the pane in the folder %p itself, also the shell behind the program", async (name) => {
  await using s = await setup();
  const workdir = join(s.t.folder, name);
  s.t.files.ensureDirectory("test", workdir);
  const request = { ...s.request("SVC-a-1", "exec cat"), workdir };
  const { paneId } = await s.launcher.launch(request);
  const folderOf = () => s.t.run("display-message", "-p", "-t", paneId, "#{pane_start_path}");
  expect((await folderOf()).trimEnd()).toBe(workdir);
  await s.launcher.respawn(paneId, request);
  expect((await folderOf()).trimEnd()).toBe(workdir);
});

test("the launch script is private and removes itself", async () => {
  await using s = await setup();
  const modes: number[] = [];
  const steps = {
    before: (label: string) => {
      if (label !== "launch.session") return;
      for (const name of readdirSync(s.folder)) modes.push(statSync(join(s.folder, name)).mode & 0o777);
    },
    after() {},
  };
  const launcher = createLauncher({ ...s.t, steps, folder: s.folder });
  await launcher.launch(s.request("SVC-a-1", "exec cat", { SECRET: "s3cret" }));
  expect(modes).toEqual([0o600]);
  await until("the script is gone", () => readdirSync(s.folder).length === 0);
});

test("only SVC_ variables enter the session, and no value of the program stays behind", async () => {
  await using s = await setup();
  await s.launcher.launch(s.request("SVC-a-1", "exec cat", { SECRET: "s3cret" }));
  expect(await s.t.tmux.environment("SVC-a-1")).toEqual({ SVC_AGENT_NAME: "a; $b 'c' \"d\" é" });
  expect(
    await awaitOutcome(s.launcher.launch({ ...s.request("SVC-b-1", "exec cat"), sessionEnv: { HOME: "/" } })),
  ).toThrow("not an SVC_ variable");
  await s.t.tmux.setEnvironment("test", "SVC-a-1", { SVC_AGENT_NAME: null, SVC_X: "1" });
  expect(await s.t.tmux.environment("SVC-a-1")).toEqual({ SVC_X: "1" });
});

test("when the program ends the pane falls back to a shell that does not know its environment", async () => {
  await using s = await setup();
  await s.t.run("set-option", "-g", "remain-on-exit", "on");
  const pane = await s.launcher.launch(s.request("SVC-a-1", "exit 7", { SECRET: "s3cret" }));
  await until("the exit is told", async () => (await s.t.screen(pane.paneId)).includes("exit status 7"));
  await s.t.run(
    "send-keys",
    "-t",
    pane.paneId,
    "-l",
    "--",
    `printf 'got:%s' "$SECRET" > ${s.out}.tmp; mv ${s.out}.tmp ${s.out}`,
  );
  await s.t.run("send-keys", "-t", pane.paneId, "Enter");
  expect(await words(s.out)).toBe("got:");
  expect((await s.t.tmux.panes("SVC-a-1"))[0]).toEqual(pane);
});

test("an interrupt key during start does not end the pane", async () => {
  await using s = await setup();
  const pane = await s.launcher.launch(
    s.request("SVC-a-1", 'echo up > "$1.tmp"; mv "$1.tmp" "$1"; exec sleep 600'),
  );
  await words(s.out);
  await s.t.run("send-keys", "-t", pane.paneId, "C-c");
  await until("the exit is told", async () => (await s.t.screen(pane.paneId)).includes("exit status 130"));
  expect((await s.t.tmux.panes("SVC-a-1"))[0]).toEqual(pane);
});

test("a pane is respawned over a connection as by a tmux process, and its script is gone", async () => {
  await using s = await setup();
  const first = await s.launcher.launch(s.request("SVC-a-1", "exec cat"));
  await until("the first script has begun", () => readdirSync(s.folder).length === 0);
  const { mutex } = s.t;
  const control = await s.t.control("SVC-a-1");
  let lines = 0;
  const counted = {
    connected: control.connected,
    run: (commands: readonly TmuxCommand[]) => {
      lines += 1;
      return control.run(commands);
    },
  };
  const over = createLauncher({ ...s.t, folder: s.folder, over: { control: counted, mutex } });
  const script = 'printf "%s|%s|%s" "$2" "$PWD" "$SECRET" > "$1.tmp"; mv "$1.tmp" "$1"; exec cat';
  const program = { ...s.request("SVC-a-1", script, { SECRET: "s3cret" }), afterwards: "wait" as const };
  const second = await over.respawn(first.paneId, program);
  expect(lines).toBe(1);
  expect(await words(s.out)).toBe(`it's; $HOME;|${s.workdir}|s3cret`);
  expect(second).toEqual({ ...first, panePid: second.panePid });
  expect(second.panePid).not.toBe(first.panePid);
  await until("the script is gone", () => readdirSync(s.folder).length === 0);
  expect(await awaitOutcome(over.respawn("%77", program))).toThrow(
    expect.objectContaining({ kind: "refused" }),
  );
  expect(readdirSync(s.folder)).toEqual([]);
  await control.stop();
  const third = await over.respawn(first.paneId, program);
  expect({ lines, panePid: third.panePid === second.panePid }).toEqual({ lines: 2, panePid: false });
});

test("a server whose windows count from 1 still gives the agent window 0", async () => {
  await using s = await setup();
  for (const option of ["base-index", "pane-base-index"]) await s.t.run("set-option", "-g", option, "1");
  const pane = await s.launcher.launch(s.request("SVC-a-1", "exec cat"));
  const panes = await s.t.tmux.panes("SVC-a-1");
  expect(panes).toEqual([pane]);
  expect(agentPane(panes, null)).toEqual(pane);
});

test("a taken name is a conflict, and a failed launch leaves neither session nor script", async () => {
  await using s = await setup();
  await s.launcher.launch(s.request("SVC-a-1", "exec cat"));
  expect(await awaitOutcome(s.launcher.launch(s.request("SVC-a-1", "exec cat")))).toThrow(
    expect.objectContaining({
      reason: "conflict",
    }),
  );
  expect(await awaitOutcome(s.launcher.launch(s.request("SVC:b", "exec cat")))).toThrow(
    expect.objectContaining({
      reason: "invalid_request",
    }),
  );
  const refusing = { ...s.t.tmux, setEnvironment: () => Promise.reject(new Error("no")) };
  const launcher = createLauncher({ ...s.t, tmux: refusing, folder: s.folder });
  expect(await awaitOutcome(launcher.launch(s.request("SVC-c-1", "exec cat")))).toThrow("no");
  expect((await s.t.tmux.sessions()).map((session) => session.name)).toEqual(["SVC-a-1"]);
  await until("scripts are gone", () => readdirSync(s.folder).length === 0);
});

test("a relaunch in place and a session made again are each a new instance", async () => {
  await using s = await setup();
  const first = await s.launcher.launch(s.request("SVC-a-1", "exec cat"));
  const second = await s.launcher.respawn(first.paneId, s.request("SVC-a-1", "exec cat"));
  expect(second.paneId).toBe(first.paneId);
  expect(await s.t.tmux.killSession("test", "SVC-a-1")).toBe(true);
  const third = await s.launcher.launch(s.request("SVC-a-1", "exec cat"));
  expect(new Set([first, second, third].map(instanceId)).size).toBe(3);
});

test("a session is never confused with one whose name begins alike", async () => {
  await using s = await setup();
  await s.t.newSession("SVC-a-10", ["cat"]);
  expect(await s.t.tmux.hasSession("SVC-a-1")).toBe(false);
  expect(await s.t.tmux.panes("SVC-a-1")).toEqual([]);
  expect(await s.t.tmux.environment("SVC-a-1")).toBeNull();
  expect(await s.t.tmux.killSession("test", "SVC-a-1")).toBe(false);
  expect(await awaitOutcome(s.t.tmux.setEnvironment("test", "SVC-a-1", { SVC_X: "1" }))).toThrow(
    expect.objectContaining({
      kind: "refused",
    }),
  );
  expect(await s.t.tmux.hasSession("SVC-a-10")).toBe(true);
});

test("without a server there are no sessions, and looking starts none", async () => {
  await using s = await setup();
  await s.t.killServer();
  expect(await s.t.tmux.sessions()).toEqual([]);
  expect(await s.t.tmux.hasSession("SVC-a-1")).toBe(false);
  expect(await s.t.tmux.killSession("test", "SVC-a-1")).toBe(false);
  expect(await awaitOutcome(s.t.run("list-sessions"))).toThrow(expect.objectContaining({ kind: "refused" }));
});
