import { expect, test } from "bun:test";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { promptsIn } from "../support/demo-log.ts";
import { until } from "../support/until.ts";

test("all words after the name are the prompt, and flags come before it", async () => {
  await using fixture = createCliFixture();
  const log = join(fixture.folder, "agent.log");
  const svc = (...words: string[]) => fixture.run("svc", words);
  expect((await svc("new", "q", "demo", "-w", "--", "--log", log)).exitCode).toBe(0);

  const asked = await svc("ask", "q", "fix", "the", "--json", "flag\nFAST");
  expect([asked.exitCode, asked.stderr]).toEqual([0, expect.not.stringContaining("part of the prompt")]);
  expect(() => asked.json()).toThrow();
  expect((await svc("ask", "--json", "q", "--", "--plan", "it\nFAST")).json()).toMatchObject({
    success: true,
  });
  expect((await svc("tell", "q", "-x", "--help", "is", "text\nFAST")).exitCode).toBe(0);
  await until("the third", () => promptsIn(log).length === 3);
  expect(promptsIn(log)).toEqual(["fix the --json flag\nFAST", "--plan it\nFAST", "-x --help is text\nFAST"]);
  // Where a flag of ours ends the prompt, it may not be what the person wanted.
  const mistaken = await svc("tell", "q", "FAST", "--json");
  expect([mistaken.exitCode, mistaken.stderr]).toEqual([
    0,
    expect.stringContaining("--json is part of the prompt: flags of svc come before the name"),
  ]);
  expect((await svc("ask", "--help")).stdout).toContain("svc ask [options] <name> [<text>]");
  expect((await svc("ask", "--no-such", "q", "x")).exitCode).toBe(2);
}, 120_000);

test("who asks hears what the prompt comes to, and why an agent that exits gives no answer", async () => {
  await using fixture = createCliFixture();
  const svc = (...words: string[]) => fixture.run("svc", words);
  expect((await svc("new", "q", "demo", "-w")).exitCode).toBe(0);
  const slow = await svc("ask", "q", "SLOW 2500");
  expect([slow.exitCode, slow.stderr]).toEqual([0, expect.stringMatching(/^(?:q waits.*\n)*q works\n$/)]);

  const late = await svc("ask", "--timeout", "1", "q", "SLOW 600000");
  expect([late.exitCode, late.stdout, late.stderr]).toEqual([
    1,
    "",
    expect.stringContaining("after 1 s; it goes on without us"),
  ]);
  const behind = await svc("ask", "--timeout", "3", "q", "FAST");
  expect(behind.stderr).toMatch(/^q waits: it is busy$/m);
  expect((await svc("int", "q")).exitCode).toBe(0);
  expect((await svc("ask", "q", "FAST")).exitCode).toBe(0);

  const asking = svc("ask", "q", "SLOW 600000");
  await until("its turn", async () => (await svc("ls")).stdout.includes(" busy "));
  // The pane's own process is the shell that it falls back to.
  const agentWindow = ["-a", "-f", "#{==:#{window_name},agent}"];
  await fixture.shell(
    `pkill -KILL -P ${await fixture.tmux("list-panes", ...agentWindow, "-F", "#{pane_pid}")}`,
  );
  const exits = await asking;
  expect([exits.exitCode, exits.stdout]).toEqual([1, ""]);
  expect(exits.stderr).toMatch(
    /Error: "q" exited before it had answered: .*\. Start it again with: svc restart q\n$/,
  );
}, 120_000);

test("at a terminal one line shows for how long, and makes room for the answer", async () => {
  await using fixture = createCliFixture();
  expect((await fixture.run("svc", ["new", "q", "demo", "-w"])).exitCode).toBe(0);
  await fixture.startSession("me", ["sh"]);
  const pane = () => fixture.tmux("capture-pane", "-p", "-t", "=me:");
  const line = `${fixture.command("svc").join(" ")} ask q SLOW 4000`;
  await fixture.tmux("send-keys", "-t", "=me:", `SVC_TMUX_SOCKET=${fixture.socket} ${line}`, "Enter");
  await until("its seconds", async () => /^q works [1-9]\d* s$/m.test(await pane()));
  const shown = await until("the answer", async () => {
    const text = await pane();
    return text.includes("q works") ? null : text;
  });
  expect(shown).not.toContain("request");
}, 120_000);
