import { expect, test } from "bun:test";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { promptsIn } from "../support/demo-log.ts";
import { until } from "../support/until.ts";

test("a day with an agent in few words", async () => {
  await using fixture = createCliFixture();
  const log = join(fixture.folder, "agent.log");
  const said = async (line: string, options = {}) => fixture.run("svc", line.split(" "), options);

  const nobody = await fixture.run("svc", []);
  expect([nobody.exitCode, nobody.stdout]).toEqual([0, expect.stringMatching(/^no agents run\. Launch one/)]);
  const made = await fixture.run("svc", ["new", "worker", "demo", "-m", "-w", "--", "--log", log]);
  expect(made.stderr).toBe("");
  expect(made.exitCode).toBe(0);
  expect(made.stdout).toMatch(/\nready after [\d.]+ s\n$/);
  expect((await said("new other demo --no-such")).exitCode).toBe(2);

  const answered = await fixture.run("svc", ["ask", "worker", "say", "hello"]);
  expect(answered.exitCode).toBe(0);
  expect(promptsIn(log)).toEqual(["say hello"]);
  const piped = await said("ask --json worker", { input: "from a pipe" });
  expect(piped.json()).toMatchObject({ request: { state: "completed" } });
  expect(promptsIn(log)).toEqual(["say hello", "from a pipe"]);

  expect((await fixture.run("svc", ["ok"])).stdout).toBe("nobody asks anything\n");
  expect((await fixture.run("svc", ["tell", "worker", "MENU Go on?"])).stdout).toMatch(/^accepted gwreq-/);
  await until("the question", async () =>
    (await said("ok worker")).stdout.startsWith("worker asks: Go on?\n"),
  );
  const shown = await said("ok");
  expect(shown.stdout).toMatch(
    /^worker asks: Go on\?\n {2}1\. .+\n(?: {2}\d\. .+\n)+ {2}Answer: svc ok worker NUMBER\n$/,
  );
  const asked = (await said("ok --json")).json();
  expect(asked["questions"]).toMatchObject([{ agent_name: "worker", question: "Go on?" }]);
  // On a full machine a gateway may answer too late for a list, which then says so.
  const listed = await until("a list with an answer of the gateway", async () => {
    const run = await fixture.run("svc", ["ls"]);
    return run.stdout.includes("no answer within") ? null : run;
  });
  expect(listed.stdout).toMatch(/^1 thing waits for you; .*"worker" asks: Go on\?: 1\. .*\n\nNAME +TOOL /s);
  expect((await said("--json")).json()).toMatchObject({ agents: [{ agent_name: "worker" }] });
  expect((await fixture.run("svc", ["ok", "worker", "always"])).stdout).toBe("answered 3. Always\n");
  await until("the end of it", async () => (await said("ok worker")).stdout === '"worker" asks nothing\n');

  const idle = await fixture.run("svc", ["int", "worker"]);
  expect(idle.exitCode).toBe(0);
  const typo = await said("tell worke hello");
  expect(typo.exitCode).toBe(1);
  expect(typo.stderr).toContain('there is no agent named "worke"; did you mean "worker"?');
  expect((await said("tel worker hello")).stderr).toContain('did you mean "tell"?');

  const me = "ann@svc.localhost";
  const unknown = await said(`mail worker hello text --from ${me}`);
  expect(unknown.exitCode).not.toBe(0);
  await fixture.mgr("mailbox", "register", "--address", me, "--principal-id", "SVC-ann");
  const sent = await fixture.run("svc", ["mail", "worker", "the build", "is", "red", "--from", me]);
  expect([sent.stderr, sent.exitCode]).toEqual(["", 0]);
  const box = await fixture.mgr("agents", "single", "--agent-name", "worker", "mail", "list", "--json");
  expect(box.stdout).toContain('"subject": "the build"');

  const again = await fixture.run("svc", ["restart", "worker"]);
  expect([again.stderr, again.exitCode]).toEqual(["", 0]);
  expect((await said("restart worker")).stdout).toContain("a new conversation: demo is not known to");
  expect((await fixture.run("svc", ["fix", "worker"])).exitCode).toBe(0);
  const bare = await fixture.mgr("agents", "single", "--agent-name", "worker", "attach");
  expect(bare.exitCode).toBe(1);
  const off = await fixture.run("svc", ["attach", "worker"]);
  expect(off.exitCode).toBe(1);
  expect(off.stderr).toMatch(
    /^Error: this is no terminal\. In one, run: tmux .+ attach-session -t .=SVC-worker-/,
  );
  expect((await fixture.run("svc", ["stop", "worker"])).exitCode).toBe(0);
  expect((await fixture.run("svc", ["completion", "bash"])).stdout).toContain("svc complete --line");
  // Of commands that only svc-mgr has too.
  expect((await fixture.run("svc", ["complete", "--line", "svc budget "])).stdout).toMatch(/^set\t/);
  expect((await fixture.run("svc", ["complete", "--line", "svc wh"])).stdout).toMatch(/^why\t/);
}, 120_000);

test("at a terminal a person attaches to the agent, answers its question, and watches", async () => {
  await using fixture = createCliFixture();
  await fixture.run("svc", ["new", "worker", "demo", "-w"]);
  // A terminal of another server than the agent's.
  const person = join(fixture.folder, "person");
  const tmux = async (...args: string[]) => {
    const child = Bun.spawn(["tmux", "-S", person, "-f", "/dev/null", ...args], {
      env: fixture.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return (await new Response(child.stdout).text()).trimEnd();
  };
  const pane = () => tmux("capture-pane", "-p", "-t", "me");
  const enter = (line: string) => tmux("send-keys", "-t", "me", line, "Enter");
  const svc = fixture.command("svc").join(" ");
  try {
    await tmux("new-session", "-d", "-s", "me", "-x", "150", "-y", "40", "sh");
    const width = () =>
      fixture.tmux("list-windows", "-a", "-f", "#{==:#{window_name},agent}", "-F", "#{window_width}");
    await enter(`${svc} attach worker`);
    await until("the agent's session", async () => /\[SVC-worke/.test(await pane()));
    await until("the size of the terminal", async () => (await width()) === "150");
    expect((await fixture.run("svc", ["ask", "worker", "at 150 columns\nFAST"])).exitCode).toBe(0);
    await tmux("resize-window", "-t", "me", "-x", "60", "-y", "20");
    await until("the size of a small terminal", async () => (await width()) === "60");
    expect((await fixture.run("svc", ["ask", "worker", "at 60 columns\nFAST"])).exitCode).toBe(0);
    await tmux("resize-window", "-t", "me", "-x", "120", "-y", "40");
    await tmux("send-keys", "-t", "me", "C-b", "d");
    await until("the person's own shell", async () =>
      (await pane()).includes("[detached (from session SVC-worker"),
    );

    await until("the former size", async () => (await width()) === "120");

    await fixture.run("svc", ["tell", "worker", "MENU Go on?"]);
    await until("the question", async () =>
      (await fixture.run("svc", ["ok"])).stdout.startsWith("worker asks:"),
    );
    await enter(`clear; ${svc} ok`);
    await until("to be asked", async () => (await pane()).includes("nothing leaves it open:"));
    await enter("2");
    await until("the answer", async () => /answered 2\. /.test(await pane()));

    await enter(`clear; ${svc} watch`);
    await until("the table", async () => (await pane()).includes("1 agent"));
    await tmux("send-keys", "-t", "me", "C-c");
  } finally {
    await tmux("kill-server");
  }
}, 120_000);

test("in a pane of the agent's own server its client shows the agent", async () => {
  await using fixture = createCliFixture();
  await fixture.run("svc", ["new", "worker", "demo", "-w"]);
  await fixture.startSession("me", ["sh"]);
  const svc = `SVC_TMUX_SOCKET=${fixture.socket} ${fixture.command("svc").join(" ")}`;
  const pane = () => fixture.tmux("capture-pane", "-p", "-J", "-t", "=me:");
  const enter = (line: string) => fixture.tmux("send-keys", "-t", "=me:", line, "Enter");
  await enter(`${svc} attach worker`);
  // The gateway's own connection is a client too, and is left alone.
  await until("a refusal", async () => (await pane()).includes("Error: no terminal shows this pane."));

  const person = join(fixture.folder, "person");
  const outer = (...args: string[]) =>
    Bun.spawn(["tmux", "-S", person, "-f", "/dev/null", ...args], { env: fixture.env }).exited;
  await outer("new-session", "-d", "-x", "100", "-y", "30", `tmux -S ${fixture.socket} attach -t =me`);
  try {
    const shows = () => fixture.tmux("list-clients", "-F", "#{client_control_mode} #{session_name}");
    await until("a terminal on the pane", async () => (await shows()).includes("0 me"));
    await enter(`clear; ${svc} attach worker`);
    await until("the agent in it", async () => (await shows()).includes("0 SVC-worker-"));
  } finally {
    await outer("kill-server");
  }
}, 120_000);
