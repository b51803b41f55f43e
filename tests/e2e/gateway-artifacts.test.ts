import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { GatewayEvent } from "../../src/protocol/events.ts";
import { renderJson } from "../../src/protocol/json.ts";
import { createGatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { createClock } from "../../src/system/clock.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

const token = "tok-5e1f-not-to-be-seen";
const prompt = "a prompt that must not be seen in any log";

/** Contract 2.8 and 2.7, while a gateway with diagnostics and a token serves. */
const living = [
  "attach.json",
  "desired-config.json",
  "events.jsonl",
  "gateway_manifest.json",
  "logs/diagnostics/gateway-diagnostic.log",
  "logs/gateway.log",
  "protocol-version.txt",
  "queue.sqlite",
  "queue.sqlite-shm",
  "queue.sqlite-wal",
  "run/challenge-key",
  "run/current-instance.json",
  "run/gateway.lock",
  "run/gateway.pid",
  "run/token",
  "state.json",
];
const live = ["run/challenge-key", "run/current-instance.json", "run/gateway.pid", "run/token"];

async function serve(fixture: CliFixture, umask: string, args: string[]) {
  const command = ["sh", "-c", `umask ${umask}; exec "$@"`, "sh", ...fixture.command("svc-gateway"), ...args];
  const child = Bun.spawn(command, {
    env: { ...fixture.env, SVC_GATEWAY_TOKEN: token },
    cwd: fixture.workdir,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  });
  return {
    child,
    async stop() {
      child.kill("SIGTERM");
      expect(await child.exited).toBe(0);
    },
  };
}

/** Every file and folder below, with what is wrong with its mode. */
function looseModes(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return [folder, ...entries.map((entry) => join(entry.parentPath, entry.name))].flatMap((path) => {
    // A living gateway replaces files by renaming temporary ones.
    const facts = lstatSync(path, { throwIfNoEntry: false });
    if (!facts || facts.isSocket()) return [];
    const mode = (facts.mode & 0o777).toString(8);
    const wanted = facts.isDirectory() ? "700" : "600";
    return mode === wanted ? [] : [`${relative(folder, path)} ${mode}`];
  });
}

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

describe.each(["000", "022", "077"])("what a gateway leaves on disk under umask %s", (umask) => {
  test("is all there, for its owner only, and says nothing it must not", async () => {
    await using fixture = createCliFixture();
    const launched = await fixture.mgr(
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      "worker",
      "--no-gateway",
      "--json",
    );
    expect(launched.exitCode).toBe(0);
    const sessionRoot = String(launched.json()["session_root"]);
    const gatewayRoot = join(sessionRoot, "gateway");
    const path = (name: string) => join(gatewayRoot, name);
    const json = (name: string) => JSON.parse(readFileSync(path(name), "utf8")) as Record<string, unknown>;

    const first = await serve(fixture, umask, ["serve", "--session-root", sessionRoot]);
    await until("the first gateway", () => existsSync(path("run/gateway.pid")));
    await first.stop();
    writeFileSync(
      path("desired-config.json"),
      renderJson({ ...json("desired-config.json"), desired_diagnostic_logging: { enabled: true } }),
    );

    const second = await serve(fixture, umask, ["serve", "--session-root", sessionRoot]);
    await until("the second gateway", () => existsSync(path("run/gateway.pid")));
    const { host, port } = json("run/current-instance.json");
    const client = createGatewayClient({
      clock: createClock(),
      baseUrl: `http://${String(host)}:${String(port)}`,
      token,
      respectProxyEnvironment: false,
    });
    const accepted = await client.call("submitRequest", {
      body: { kind: "submit_prompt", payload: { prompt: `${prompt}\nFAST` } },
    });
    expect(accepted.kind).toBe("ok");
    await until("an empty queue", async () => {
      const status = await client.call("status", {});
      return status.kind === "ok" && status.body.queue_depth === 0;
    });
    await client.call("listRequests", { query: { limit: "none" } });

    expect(filesBelow(gatewayRoot).sort()).toEqual(expect.arrayContaining(living));
    expect(looseModes(sessionRoot)).toEqual([]);
    expect([
      readFileSync(path("protocol-version.txt"), "utf8"),
      json("state.json")["gateway_health"],
    ]).toEqual(["v1\n", "healthy"]);
    await second.stop();

    for (const name of live) expect(existsSync(path(name))).toBe(false);
    expect(json("state.json")["gateway_health"]).toBe("not_attached");
    expect(looseModes(sessionRoot)).toEqual([]);
    expect(looseModes(join(fixture.env["HOME"] ?? "", ".local/state/svc"))).toEqual([]);
    for (const name of filesBelow(gatewayRoot).filter((name) => !name.startsWith("queue.sqlite"))) {
      const text = readFileSync(path(name), "utf8");
      expect([name, text.includes(token), text.includes(prompt)]).toEqual([name, false, false]);
    }

    const events = readFileSync(path("events.jsonl"), "utf8").trimEnd().split("\n");
    const seqs = events.map((line) => {
      const event: unknown = JSON.parse(line);
      expect(Value.Check(GatewayEvent, event)).toBe(true);
      return (event as GatewayEvent).seq;
    });
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(events.filter((line) => line.includes('"gateway_started"'))).toHaveLength(2);

    const logged = readFileSync(path("logs/gateway.log"), "utf8").trimEnd().split("\n");
    expect(logged.length).toBe(new Set(logged).size);
    for (const line of logged) expect(line).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+\+00:00 \S/);
    const diagnostics = readFileSync(path("logs/diagnostics/gateway-diagnostic.log"), "utf8");
    expect(diagnostics).toContain('"event":"gateway.http_request_completed"');
    expect(diagnostics).toContain('"event":"gateway.http_validation_failed"');
    expect(diagnostics).not.toContain(sessionRoot);
  }, 120_000);
});
