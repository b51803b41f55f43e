import { expect, test } from "bun:test";
import { DEFAULT_REQUEST_TIMEOUT_MSEC } from "@modelcontextprotocol/sdk/shared/protocol.js";
import { createCliFixture } from "../support/cli-fixture.ts";
import { randomFrom } from "../support/load.ts";
import { connect, envOf, gatewayPid, launchTwo, listed } from "../support/mcp-client.ts";
import { until } from "../support/until.ts";

test("a chain of agents that hand a task on ends", async () => {
  await using fixture = createCliFixture();
  await launchTwo(fixture);
  const server = await connect(
    [...fixture.command("svc"), "mcp"],
    await envOf(fixture, "lead"),
    fixture.workdir,
  );
  const body = (hops: number) => ({
    kind: "submit_prompt",
    payload: { prompt: "MENU Go on?" },
    submitted_by: { agent_id: "w", agent_name: "worker", hops },
  });
  const { gateway_base_url: url } = await listed(fixture, "lead");
  const post = (hops: number) =>
    fetch(`${url}/v1/requests`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body(hops)),
    });
  expect((await post(9)).status).toBe(422);
  expect((await post(8)).status).toBe(202);
  await until("the question", async () => ((await server.ask("status"))["asks"] as unknown[]).length === 1);
  const { failed, answer } = await server.call("prompt_agent", { agent: "worker", prompt: "go on" });
  expect([failed, answer["detail"]]).toEqual([true, expect.stringContaining("looks like a loop")]);
  await server.client.close();
}, 120_000);

test("mail of the tools counts its hops and the wake-ups of an hour, and both limits hold", async () => {
  await using fixture = createCliFixture();
  await launchTwo(fixture);
  const command = [...fixture.command("svc"), "mcp"];
  const [lead, worker] = await Promise.all(
    ["lead", "worker"].map(async (name) => connect(command, await envOf(fixture, name), fixture.workdir)),
  );
  if (!lead || !worker) throw new Error("no servers");
  const mgr = (...words: string[]) => fixture.mgr("agents", "single", "--agent-name", "worker", ...words);
  const limit = async (...flags: string[]) => {
    const { exitCode, stderr } = await mgr("gateway", "mail-notifier", "enable", ...flags);
    expect([exitCode, stderr]).toEqual([0, ""]);
  };
  const held = async () => (await mgr("gateway", "status", "--json")).json()["wakes_held"];
  const unread = async (server: typeof lead) =>
    until("mail", async () => ((await server.ask("read_mail"))["messages"] as { message_ref: string }[])[0]);

  await limit("--max-hops", "2", "--max-wakes-per-hour", "0");
  await lead.ask("send_mail", { to: ["worker"], subject: "one", body: "?" });
  for (const server of [worker, lead]) {
    const { message_ref } = await unread(server);
    await server.ask("read_mail", { message_ref });
    await server.ask("send_mail", { message_ref, body: "and you?" });
  }
  await until("the limit of hops", async () => (await held()) !== undefined);
  expect(await held()).toMatchObject({ reason: "max_hops", detail: expect.stringContaining("max_hops=2") });

  await limit("--max-hops", "0", "--max-wakes-per-hour", "1");
  await lead.ask("send_mail", { to: ["worker"], subject: "two", body: "?" });
  await until("the limit of an hour", async () => {
    const now = (await held()) as { reason?: string } | undefined;
    return now?.reason === "max_wakes_per_hour";
  });
  await Promise.all([lead.client.close(), worker.client.close()]);
}, 180_000);

test("wait ends before a client gives up, also when the gateway is deaf, and the next one goes on", async () => {
  await using fixture = createCliFixture();
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker"];
  // tmux wakes what stops in one of its panes.
  expect((await fixture.mgr(...launch, "--gateway-background")).exitCode).toBe(0);
  const server = await connect([...fixture.command("svc"), "mcp"], fixture.env, fixture.workdir);
  const { tools } = await server.client.listTools();
  const seconds = tools.find(({ name }) => name === "wait")?.inputSchema.properties?.["seconds"];
  const { maximum } = seconds as { maximum: number };
  expect((maximum + 5) * 1000).toBeLessThan(DEFAULT_REQUEST_TIMEOUT_MSEC);

  const task = await server.ask("prompt_agent", { agent: "worker", prompt: "SLOW 600000" });
  const wait = (limit: number) =>
    server.ask("wait", { agent: "worker", request_id: task["request_id"], seconds: limit });
  const again = { done: false, next: "wait again with the same arguments" };
  expect(await wait(0)).toMatchObject({ ...again, state: expect.any(String) });
  const pid = await gatewayPid(fixture, "worker");
  const waiting = wait(3);
  // The one before has found the gateway too.
  await wait(0);
  process.kill(pid, "SIGSTOP");
  const startedMs = performance.now();
  expect(await waiting).toMatchObject({ ...again, detail: expect.stringContaining("does not answer") });
  expect(performance.now() - startedMs).toBeLessThan(15_000);

  const patient = wait(50);
  process.kill(pid, "SIGCONT");
  await wait(0);
  process.kill(pid, "SIGKILL");
  const single = ["agents", "single", "--agent-name", "worker"];
  expect((await fixture.mgr(...single, "gateway", "attach", "--background")).exitCode).toBe(0);
  const interrupt = await fixture.mgr(...single, "interrupt");
  expect([interrupt.exitCode, interrupt.stderr]).toEqual([0, ""]);
  expect(await patient).toMatchObject({ done: true });
  await server.client.close();
}, 120_000);

test("no accepted task is lost where servers are killed at random moments", async () => {
  await using fixture = createCliFixture();
  const { exitCode } = await fixture.run("svc", ["new", "worker", "demo-acp", "-w"]);
  expect(exitCode).toBe(0);
  const random = randomFrom(7);
  const accepted: string[] = [];
  for (let round = 0; round < 15; round++) {
    const server = await connect([...fixture.command("svc"), "mcp"], fixture.env, fixture.workdir);
    const calls = Array.from({ length: 4 }, (_, at) =>
      server.ask("prompt_agent", { agent: "worker", prompt: `task ${round}.${at}` }).then(
        (task) => accepted.push(String(task["request_id"])),
        () => {},
      ),
    );
    const some = Math.floor(random() * 4);
    await Promise.all(calls.slice(0, some));
    process.kill(server.pid, "SIGKILL");
    await Promise.all(calls);
  }
  expect(accepted.length).toBeGreaterThan(0);
  const list = await fixture.mgr("agents", "single", "--agent-name", "worker", "requests", "list", "--json");
  expect([list.exitCode, list.stderr]).toEqual([0, ""]);
  const { requests } = list.json() as unknown as { requests: { request_id: string }[] };
  const known = requests.map(({ request_id }) => request_id);
  expect(accepted.filter((id) => !known.includes(id))).toEqual([]);
}, 120_000);
