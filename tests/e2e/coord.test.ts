import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { type CoordServer, startCoordinator } from "../support/coord-server.ts";
import { sparePorts } from "../support/spare-ports.ts";
import { until } from "../support/until.ts";

type Launched = Record<string, string>;

async function launch(fixture: CliFixture, name: string, ...flags: string[]): Promise<Launched> {
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, ...flags, "--json"];
  const run = await fixture.mgr(...words);
  if (run.exitCode !== 0) throw new Error(`launch ${name}: ${run.stderr}`);
  return run.json() as Launched;
}

const gatewayPid = ({ session_root }: Launched) =>
  Number(JSON.parse(readFileSync(join(session_root ?? "", "gateway/run/current-instance.json"), "utf8")).pid);

/** A screen that is not yet stable refuses a direct prompt. */
const ready = (at: CoordServer, ref: string) =>
  until(`${ref} to be ready`, async () => {
    const { turn } = (await at.ask(`/svc/agents/${ref}/state`)).body as { turn?: { phase: string } };
    const { detail } = (await at.ask(`/svc/agents/${ref}/state/detail`)).body as {
      detail?: { stability?: { stable: boolean } };
    };
    return turn?.phase === "ready" && detail?.stability?.stable === true;
  });

describe("one server over all agents", () => {
  test("agents with and without a gateway, headless, stopped and abandoned are each reported as they are", async () => {
    await using fixture = createCliFixture();
    await using at = await startCoordinator(fixture);
    expect(await at.ask("/svc/agents")).toEqual({ status: 200, body: { agents: [] } });

    const one = await launch(fixture, "one", "--mailbox");
    await launch(fixture, "two", "--mailbox");
    await launch(fixture, "bare", "--no-gateway");
    await launch(fixture, "batch", "--headless", "--no-gateway");
    await launch(fixture, "old", "--no-gateway");
    const left = await launch(fixture, "left", "--gateway-background", "--mailbox");
    expect((await at.ask("/svc/agents/old/stop", null)).status).toBe(200);
    fixture.kill(gatewayPid(left));
    await until("the gateway to be gone", async () => !fixture.alive(gatewayPid(left)));

    const { body } = await at.ask("/svc/agents");
    const told = (body["agents"] as Record<string, unknown>[]).map((agent) => [
      agent["agent_name"],
      agent["transport"],
      agent["lifecycle_state"],
      agent["liveness"],
      agent["has_gateway"],
    ]);
    expect(told.sort()).toEqual([
      ["bare", "tui", "active", "alive", false],
      ["batch", "headless", "active", "alive", false],
      ["left", "tui", "active", "alive", false],
      ["old", "tui", "stopped", "gone", false],
      ["one", "tui", "active", "alive", true],
      ["two", "tui", "active", "alive", true],
    ]);

    const identity = (await at.ask("/svc/agents/one")).body;
    for (const key of ["tracked_agent_id", "terminal_id", "session_name", "runtime_session_id", "agent_id"]) {
      const found = await at.ask(`/svc/agents/${identity[key]}`);
      expect([key, found.status, found.body["agent_name"]]).toEqual([key, 200, "one"]);
    }
    expect((await at.ask("/svc/agents/SVC-one")).body).toEqual(identity);

    await ready(at, "one");
    await ready(at, "bare");
    const states = await Promise.all(
      ["one", "bare", "batch", "old", "left"].map(async (name) => {
        const state = (await at.ask(`/svc/agents/${name}/state`)).body;
        const gateway = state["gateway"] as Record<string, unknown>;
        return [name, state["availability"], gateway["gateway_health"]];
      }),
    );
    expect(states).toEqual([
      ["one", "available", "healthy"],
      ["bare", "available", "not_attached"],
      ["batch", "available", "not_attached"],
      ["old", "unavailable", "not_attached"],
      ["left", "available", "not_attached"],
    ]);
    for (const name of ["one", "bare", "left", "batch"]) {
      const { status, body: detail } = await at.ask(`/svc/agents/${name}/state/detail`);
      expect([name, status, detail["tracked_agent_id"]]).toEqual([name, 200, expect.any(String)]);
    }

    // Through the gateway: a prompt, keys, mail, the notifier.
    const prompt = { schema_version: 2, prompt: "SAY forwarded" };
    expect(await at.ask("/svc/agents/one/gateway/control/prompt", prompt)).toMatchObject({
      status: 200,
      body: { sent: true },
    });
    const mail = { to: ["two@svc.localhost"], subject: "hello", body_content: "from one" };
    expect((await at.ask("/svc/agents/one/mail/send", mail)).status).toBe(200);
    const listed = await at.ask("/svc/agents/two/mail/list", { box: "inbox" });
    expect(listed.body).toMatchObject({ message_count: 1, messages: [{ subject: "hello" }] });
    expect((await at.ask("/svc/agents/two/gateway/mail-notifier")).body).toMatchObject({ enabled: false });
    const bound = await at.ask("/svc/agents/two/mail/resolve-live");
    expect(bound.body).toMatchObject({
      address: "two@svc.localhost",
      gateway: { source: expect.any(String) },
    });
    const none = await at.ask("/svc/agents/left/gateway/mail-notifier");
    expect([none.status, none.body["detail"]]).toEqual([503, expect.stringContaining("gateway attach")]);

    // Without one, the terminal is driven directly.
    const submitted = { request_kind: "submit_prompt", prompt: "SAY direct" };
    expect(await at.ask("/svc/agents/bare/requests", submitted)).toMatchObject({
      status: 200,
      body: {
        success: true,
        disposition: "accepted",
        request_id: expect.stringMatching(/^mreq-[0-9a-f]{12}$/),
      },
    });
    await until("the prompt to be seen", async () => {
      const { body: seen } = await at.ask("/svc/agents/bare/state/detail");
      return JSON.stringify(seen).includes("direct");
    });
    await ready(at, "bare");
    expect((await at.ask("/svc/agents/bare/requests", { request_kind: "interrupt" })).body).toMatchObject({
      disposition: "no_op",
    });

    // A turn of the headless agent, whose gateway comes with it.
    const turn = (await at.ask("/svc/agents/batch/turns", { prompt: "SAY turned" })).body;
    expect(turn).toMatchObject({ success: true, turn_index: 1, status: "active" });
    const path = `/svc/agents/batch/turns/${turn["turn_id"]}`;
    await until("the turn to end", async () => (await at.ask(path)).body["status"] === "completed");
    const events = (await at.ask(`${path}/events`)).body["entries"] as { kind: string }[];
    expect(events.map(({ kind }) => kind)).toContain("assistant");
    expect(await (await at.request(`${path}/artifacts/stdout`)).text()).toContain("turned");
    expect((await at.ask("/svc/agents/batch/history")).body["entries"]).toMatchObject([
      { turn_id: turn["turn_id"], last_turn_result: "success" },
    ]);
    expect((await at.ask("/svc/agents/batch/requests", { request_kind: "interrupt" })).body).toMatchObject({
      success: true,
      disposition: "no_op",
    });
    expect(one["agent_name"]).toBe("one");
    expect(at.complaints()).toBe("");
  }, 120_000);

  test("a gateway that hangs costs its own request a timeout and no other request anything", async () => {
    await using fixture = createCliFixture();
    await using at = await startCoordinator(fixture);
    const hanging = await launch(fixture, "hanging", "--gateway-background");
    await launch(fixture, "well");
    const known = await at.ask("/svc/agents/hanging/gateway/tui/state");
    expect(known.status).toBe(200);
    const pid = gatewayPid(hanging);
    process.kill(pid, "SIGSTOP");
    try {
      const stuck = at.ask("/svc/agents/hanging/gateway/tui/state");
      let answered = false;
      const settled = stuck.finally(() => (answered = true));
      // Had one of these to wait for the gateway that hangs, it were told after the one that does.
      for (let count = 0; count < 10; count++) {
        expect((await at.ask("/svc/agents/well/gateway/tui/state")).status).toBe(200);
        expect((await at.ask("/svc/agents")).status).toBe(200);
      }
      expect(answered).toBe(false);
      const answer = await settled;
      expect([answer.status, answer.body["detail"]]).toEqual([
        503,
        'the gateway of "hanging": no answer within 5000 ms',
      ]);
      // It claims the agent: nothing is done in its place.
      const prompt = { request_kind: "submit_prompt", prompt: "x" };
      expect((await at.ask("/svc/agents/hanging/requests", prompt)).status).toBe(503);
      const state = (await at.ask("/svc/agents/hanging/state")).body;
      expect([state["gateway"], state["diagnostics"]]).toEqual([
        null,
        [expect.objectContaining({ kind: "gateway_unreachable" })],
      ]);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await until("it to answer again", async () => {
      return (await at.ask("/svc/agents/hanging/gateway/tui/state")).status === 200;
    });
  }, 120_000);

  test("the stream of all agents reports agents and gateways that come, and resumes", async () => {
    await using fixture = createCliFixture();
    await using at = await startCoordinator(fixture);
    const left = new AbortController();
    const reply = await at.request("/svc/events", { signal: left.signal });
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    const reading = (async () => {
      for (;;) {
        const part = await reader.read();
        if (part.done) return;
        text += new TextDecoder().decode(part.value);
      }
    })().catch(() => {});
    await until("the stream to be open", async () => text.includes(": connected"));
    const agent = await launch(fixture, "seen", "--gateway-background");
    await until("the agent and its gateway to be told", async () =>
      ["agent_seen", "gateway_connected", "terminal_state"].every((kind) =>
        text.includes(`event: ${kind}\n`),
      ),
    );
    fixture.kill(gatewayPid(agent));
    await until("the loss to be told", async () => text.includes("event: gateway_lost\n"));
    const again = await fixture.mgr(
      "agents",
      "single",
      "--agent-name",
      "seen",
      "gateway",
      "attach",
      "--background",
    );
    expect(again.exitCode).toBe(0);
    await until("its return to be told", async () => text.split("event: gateway_connected\n").length > 2);
    left.abort();
    await reading;

    const ids = [...text.matchAll(/^id: (\S+)$/gm)].map((match) => match[1] ?? "");
    expect(new Set(ids).size).toBe(ids.length);
    const resumed = await at.request("/svc/events", { headers: { "last-event-id": ids[0] ?? "" } });
    const second = (resumed.body as ReadableStream<Uint8Array>).getReader();
    let told = "";
    while (!told.includes(`id: ${ids.at(-1)}\n`)) {
      told += new TextDecoder().decode((await second.read()).value);
    }
    await second.cancel();
    expect([...told.matchAll(/^id: (\S+)$/gm)].map((match) => match[1]).slice(0, ids.length - 1)).toEqual(
      ids.slice(1),
    );

    const odd = await at.request("/svc/events?after=elsewhere-5");
    const third = (odd.body as ReadableStream<Uint8Array>).getReader();
    let gap = "";
    while (!gap.includes("event: ")) gap += new TextDecoder().decode((await third.read()).value);
    await third.cancel();
    expect(gap).toContain("event: stream_gap\n");
  }, 120_000);
});

describe("the server itself", () => {
  test("says where it is, is alone at its port, and leaves no record behind", async () => {
    await using fixture = createCliFixture();
    const at = await startCoordinator(fixture);
    const record = join(at.ready["server_root"] ?? "", "run/current-instance.json");
    // By its start clients tell this process from another with its id; it is of no use over HTTP.
    const { process_start: start, ...rest } = JSON.parse(readFileSync(record, "utf8"));
    expect(start).toEqual(expect.any(String));
    expect(rest).toEqual((await at.ask("/svc/coord/current-instance")).body);
    const port = new URL(at.baseUrl).port;
    const second = await fixture.run("svc-coord", ["serve", "--port", port]);
    expect([second.exitCode, second.stderr]).toEqual([1, expect.stringContaining("already in use")]);
    expect(await at.ask("/svc/coord/shutdown", null)).toEqual({ status: 200, body: { status: "ok" } });
    expect(await at.exited).toBe(0);
    expect(existsSync(record)).toBe(false);
  }, 120_000);

  test("asks for the token it was given and keeps it where only its user reads", async () => {
    await using fixture = createCliFixture();
    await using at = await startCoordinator(fixture, { env: { SVC_COORD_TOKEN: "secret" } });
    expect((await at.request("/svc/agents")).status).toBe(401);
    expect((await at.request("/health")).status).toBe(200);
    const headers = { authorization: "Bearer secret" };
    expect((await at.request("/svc/agents", { headers })).status).toBe(200);
    const token = join(at.ready["server_root"] ?? "", "run/token");
    expect([readFileSync(token, "utf8"), statSync(token).mode & 0o777]).toEqual(["secret\n", 0o600]);
    const elsewhere = { authorization: "Bearer secret", host: "evil.example" };
    expect((await at.request("/svc/agents", { headers: elsewhere })).status).toBe(421);
  }, 120_000);

  test("--token makes one, which our own programs find, and asks for it after a restart without the flag", async () => {
    await using fixture = createCliFixture();
    const ask = async (at: Awaited<ReturnType<typeof startCoordinator>>) => {
      const token = readFileSync(join(at.ready["server_root"] ?? "", "run/token"), "utf8").trim();
      expect(token).toMatch(/^[0-9a-f]{64}$/);
      expect((await at.request("/svc/agents")).status).toBe(401);
      expect(
        (await at.request("/svc/agents", { headers: { authorization: `Bearer ${token}` } })).status,
      ).toBe(200);
      const own = await fixture.run("svc-coord", ["hosts", "--json"]);
      expect([own.exitCode, own.stderr]).toEqual([0, ""]);
      at.signal("SIGTERM");
      expect(await at.exited).toBe(0);
    };
    const [port = 0] = await sparePorts(1);
    await ask(await startCoordinator(fixture, { port, flags: ["--token"] }));
    await ask(await startCoordinator(fixture, { port }));
    const both = await fixture.run("svc-coord", ["serve", "--token", "--no-token"]);
    expect([both.exitCode, both.stderr]).toEqual([
      2,
      expect.stringContaining("--no-token contradicts --token"),
    ]);
  }, 120_000);

  test("refuses an open address without a token", async () => {
    await using fixture = createCliFixture();
    const run = await fixture.run("svc-coord", ["serve", "--host", "0.0.0.0", "--port", "0"]);
    expect([run.exitCode, run.stderr]).toEqual([1, expect.stringContaining("SVC_COORD_TOKEN")]);
  }, 120_000);

  test("makes a headless agent from its definition, and refuses what does not fit before anything is made", async () => {
    await using fixture = createCliFixture();
    await using at = await startCoordinator(fixture);
    const definition = join(fixture.folder, "definition");
    mkdirSync(join(definition, "roles/reviewer"), { recursive: true });
    writeFileSync(join(definition, "roles/reviewer/system-prompt.md"), "You review.\n");
    const brain = join(definition, "brain.yaml");
    writeFileSync(brain, "schema_version: 3\ninputs:\n  tool: demo\n");
    const good = {
      tool: "demo",
      working_directory: fixture.workdir,
      agent_def_dir: definition,
      brain_manifest_path: brain,
      role_name: "reviewer",
      agent_name: "made",
    };
    const launchWith = (change: object) => at.ask("/svc/agents/headless/launches", { ...good, ...change });
    const odd = join(definition, "odd.yaml");
    writeFileSync(odd, "schema_version: 2\ninputs: {tool: demo}\n");
    for (const change of [
      { working_directory: join(fixture.folder, "none") },
      { agent_def_dir: brain },
      { brain_manifest_path: join(definition, "none.yaml") },
      { brain_manifest_path: odd },
      { role_name: "writer" },
      { role_name: "../reviewer" },
      { tool: "claude" },
      { agent_name: "svc-made" },
      { mailbox: { address: "no address" } },
      { gateway_port: 1 },
    ]) {
      expect([change, (await launchWith(change)).status]).toEqual([change, 422]);
    }
    expect((await at.ask("/svc/agents")).body).toEqual({ agents: [] });

    const mailbox = { filesystem_root: join(fixture.folder, "mail"), address: "review@svc.localhost" };
    const made = await launchWith({ mailbox });
    expect(made).toMatchObject({ status: 200, body: { success: true, identity: { transport: "headless" } } });
    const manifest = JSON.parse(readFileSync(String(made.body["manifest_path"]), "utf8"));
    expect(manifest).toMatchObject({
      role_name: "reviewer",
      brain_manifest_path: brain,
      system_prompt: { text: "You review.\n" },
      gateway_authority: { control: { api_base_url: at.baseUrl } },
    });
    expect((await at.ask("/svc/agents/made/mail/resolve-live")).body).toMatchObject({
      address: "review@svc.localhost",
      gateway: null,
    });
    expect((await launchWith({})).status).toBe(409);
    const turn = (await at.ask("/svc/agents/made/turns", { prompt: "SAY reviewed" })).body;
    const turnPath = `/svc/agents/made/turns/${turn["turn_id"]}`;
    await until("the turn to end", async () => (await at.ask(turnPath)).body["status"] === "completed");
    const folder = `${made.body["session_root"]}/manifest.turn-artifacts/${turn["turn_id"]}`;
    expect(JSON.parse(readFileSync(`${folder}/request.json`, "utf8"))).toMatchObject({
      role_prompt: "You review.\n",
    });
    const box = await at.ask("/svc/agents/made/mail/list", { box: "inbox" });
    expect([box.status, box.body["message_count"]]).toEqual([200, 0]);
    const stopped = await at.ask(`/svc/agents/${made.body["tracked_agent_id"]}/stop`, null);
    expect([stopped.status, stopped.body["success"]]).toEqual([200, true]);
  }, 120_000);
});
