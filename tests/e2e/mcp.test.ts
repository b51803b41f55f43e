import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { type Answer, connect, envOf, launchTwo } from "../support/mcp-client.ts";
import { until } from "../support/until.ts";

test("an agent hands a task on, waits, reads the answer and mails, with the server killed in between", async () => {
  await using fixture = createCliFixture();
  await launchTwo(fixture);
  const command = [...fixture.command("svc"), "mcp"];
  const env = await envOf(fixture, "lead");
  const first = await connect(command, env, fixture.workdir);
  expect((await first.client.listTools()).tools.map(({ name }) => name)).toEqual([
    "agents",
    "status",
    "prompt_agent",
    "wait",
    "withdraw",
    "read_answer",
    "answer",
    "send_mail",
    "read_mail",
  ]);
  expect(await first.ask("agents")).toMatchObject({ agents: [{ name: "lead" }, { name: "worker" }] });
  expect(await first.ask("status")).toMatchObject({ name: "lead", address: "lead@svc.localhost", asks: [] });

  const task = await first.ask("prompt_agent", { agent: "worker", prompt: "MENU Go on?" });
  const requestId = String(task["request_id"]);
  await until("the question", async () => {
    const waited = await first.ask("wait", { agent: "worker", request_id: requestId, seconds: 1 });
    return (waited["asks"] as unknown[] | undefined)?.length === 1;
  });
  const marked = await fixture.mgr(
    "agents",
    "single",
    "--agent-name",
    "worker",
    "requests",
    "show",
    requestId,
  );
  expect(marked.stdout).toMatch(/^from agent +lead$/m);
  process.kill(first.pid, "SIGKILL");

  const second = await connect(command, env, fixture.workdir);
  const status = await second.ask("status", { agent: "worker" });
  const [asks] = status["asks"] as { id: string; answers: { answer: string; label: string }[] }[];
  expect(asks?.answers.length).toBeGreaterThan(1);
  // The same question from the session of the agent that asks it, through each of its ways.
  const own = await envOf(fixture, "worker");
  const self = await connect(command, own, fixture.workdir);
  const byItself = await self.call("answer", { id: asks?.id, answer: "1" });
  expect([byItself.failed, byItself.answer["detail"]]).toEqual([
    true,
    expect.stringContaining("its own question"),
  ]);
  await self.client.close();
  for (const line of [
    ["ok", "worker", "1"],
    ["attention", "answer", String(asks?.id), "1"],
    ["agents", "single", "--agent-name", "worker", "gateway", "tui", "decide", "--option", "1"],
    ["agents", "single", "--agent-name", "worker", "gateway", "send-keys", "--sequence", "1<[Enter]>"],
  ]) {
    const { exitCode, stderr } = await fixture.run(line[0] === "ok" ? "svc" : "svc-mgr", line, { env: own });
    expect([line[0], exitCode, stderr]).toEqual([line[0], 1, expect.stringContaining("its own question")]);
  }
  // What waits behind the question is taken back by who gave it.
  const given = await second.ask("prompt_agent", { agent: "worker", prompt: "never mind" });
  const ofPerson = await fixture.run("svc", ["tell", "--json", "worker", "mine"]);
  const { request_id: personal } = JSON.parse(ofPerson.stdout) as { request_id: string };
  const withdraw = async (request_id: unknown, who = second) =>
    who.call("withdraw", { agent: "worker", request_id });
  expect(await withdraw(personal)).toMatchObject({
    failed: true,
    answer: { detail: expect.stringContaining(`no agent submitted ${personal}`) },
  });
  const outside = await connect(command, fixture.env, fixture.workdir);
  expect(await withdraw(given["request_id"], outside)).toMatchObject({
    failed: true,
    answer: { detail: expect.stringContaining("only the session of an agent") },
  });
  await outside.client.close();
  expect(await withdraw(given["request_id"])).toMatchObject({
    failed: false,
    answer: { withdrawn: given["request_id"] },
  });
  expect((await fixture.run("svc", ["drop", "worker", "--all"])).stdout).toMatch(/^withdrew \d+: mine$/m);
  await second.ask("answer", { id: asks?.id, answer: "1" });
  const done = await second.ask("wait", { agent: "worker", request_id: requestId });
  expect(done).toMatchObject({ done: true, state: "ended" });
  const read = await second.ask("read_answer", { agent: "worker", request_id: requestId });
  expect(read["answer"]).toBe(done["answer"]);

  const sent = await second.ask("send_mail", { to: ["worker"], subject: "thanks", body: "well done" });
  expect(sent["sent"]).toMatchObject({ from: "lead@svc.localhost", to: ["worker@svc.localhost"] });
  await second.client.close();
  await until("the end of the server", async () => !existsSync(`/proc/${second.pid}`));

  const other = await connect(command, await envOf(fixture, "worker"), fixture.workdir);
  const unread = await other.ask("read_mail");
  expect(unread).toMatchObject({ unread: 1, messages: [{ from: "lead@svc.localhost", subject: "thanks" }] });
  const [message] = unread["messages"] as { message_ref: string }[];
  expect(await other.ask("read_mail", { message_ref: message?.message_ref })).toMatchObject({
    body: "well done",
  });
  await other.ask("send_mail", { message_ref: message?.message_ref, body: "any time" });
  expect(await other.ask("read_mail")).toMatchObject({ unread: 0 });
  await other.client.close();
}, 120_000);

test("what cannot be done is refused with the reason, and a stranger has no mailbox", async () => {
  await using fixture = createCliFixture();
  await launchTwo(fixture);
  const person = await connect([...fixture.command("svc"), "mcp"], fixture.env, fixture.workdir);
  const refused = async (name: string, args: Answer) => {
    const { failed, answer } = await person.call(name, args);
    expect(failed).toBe(true);
    return String(answer["detail"]);
  };
  expect(await refused("prompt_agent", { agent: "worke", prompt: "hello" })).toContain(
    'did you mean "worker"?',
  );
  expect(await refused("prompt_agent", { agent: "worker" })).toContain("prompt");
  expect(await refused("prompt_agent", { agent: "worker", prompt: "x", from: "lead" })).toContain("from");
  expect(await refused("wait", { agent: "worker", request_id: "none" })).toContain("no request with this id");
  expect(await refused("send_mail", { to: ["worker"], subject: "x", body: "y" })).toContain(
    "this is not the session of an agent",
  );
  expect(await refused("prompt_agent", { agent: "worker", prompt: " \n" })).toBe("prompt: it shows nothing");
  expect(await refused("send_mail", { subject: "x", body: "y" })).toContain("to: name who gets it");
  // Data, not words of a command line.
  for (const words of [
    { id: "--help", answer: "1" },
    { id: "question-1", answer: "--json" },
  ])
    expect(await refused("answer", words)).toContain("only the session of an agent that svc runs can answer");
  expect(await refused("answer", { id: "question-1", answer: "1" })).toContain(
    "only the session of an agent",
  );
  expect(await refused("no_such_tool", {})).toContain("no_such_tool");
  expect(await person.ask("status", { agent: "worker" })).toMatchObject({ name: "worker" });
  await person.client.close();
}, 120_000);

test("install for a project writes through no link of the project", async () => {
  await using fixture = createCliFixture();
  const home = fixture.env["HOME"] ?? "";
  const own = join(home, ".gemini", "settings.json");
  mkdirSync(join(home, ".gemini"));
  writeFileSync(own, "{}\n");
  symlinkSync(join(home, ".gemini"), join(fixture.workdir, ".gemini"));
  symlinkSync(join(home, "opencode.json"), join(fixture.workdir, "opencode.json"));
  for (const [tool, path] of [
    ["gemini", ".gemini/settings.json"],
    ["opencode", "opencode.json"],
    // One that is refused keeps the others from being written.
    ["claude,gemini", ".gemini/settings.json"],
  ] as const) {
    const refused = await fixture.run("svc-mgr", ["mcp", "install", "--scope", "project", "--tool", tool]);
    expect([tool, refused.exitCode, refused.stdout]).toEqual([tool, 1, ""]);
    expect(refused.stderr).toContain(`${join(fixture.workdir, path)} was left as it is: `);
    expect(refused.stderr).toContain("link");
  }
  expect(readFileSync(own, "utf8")).toBe("{}\n");
  expect([existsSync(join(home, "opencode.json")), existsSync(join(fixture.workdir, ".mcp.json"))]).toEqual([
    false,
    false,
  ]);
  const words = ["mcp", "install", "--scope", "project", "--tool", "claude,codex"];
  expect((await fixture.run("svc-mgr", words)).exitCode).toBe(0);
  expect(existsSync(join(fixture.workdir, ".codex", "config.toml"))).toBe(true);
}, 60_000);

test("install and uninstall write each tool's configuration and nothing else", async () => {
  await using fixture = createCliFixture();
  const home = fixture.env["HOME"] ?? "";
  mkdirSync(join(home, ".gemini"));
  writeFileSync(join(home, ".gemini/settings.json"), '{\n  "theme": "dark"\n}\n');
  const installed = await fixture.run("svc", ["mcp", "install", "--json"]);
  expect(installed.exitCode).toBe(0);
  const { results, command } = installed.json() as {
    results: { tool: string; path: string; outcome: string }[];
    command: string[];
  };
  expect(results.map(({ tool, outcome }) => [tool, outcome])).toEqual([
    ["claude", "written"],
    ["codex", "written"],
    ["gemini", "written"],
    ["opencode", "written"],
  ]);
  expect(JSON.parse(readFileSync(join(home, ".gemini/settings.json"), "utf8"))).toMatchObject({
    theme: "dark",
    mcpServers: { svc: { command: command[0] } },
  });
  const server = await connect(command, fixture.env, fixture.workdir);
  expect(await server.ask("agents")).toEqual({ agents: [] });
  await server.client.close();
  const again = await fixture.run("svc", ["mcp", "install"]);
  expect(again.stdout.match(/unchanged/g)?.length).toBe(4);
  expect((await fixture.run("svc", ["mcp", "uninstall", "claude,gemini"])).exitCode).toBe(0);
  expect(readFileSync(join(home, ".gemini/settings.json"), "utf8")).not.toContain("svc");
  writeFileSync(join(home, ".claude.json"), "{");
  const broken = await fixture.run("svc", ["mcp", "install"]);
  expect(broken.exitCode).toBe(1);
  expect(broken.stderr).toContain(".claude.json was left as it is");
  expect((await fixture.run("svc", ["mcp", "install", "vim"])).stderr).toContain('"vim" is none of claude');
}, 60_000);
