import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { ScreenEvent } from "../../src/protocol/console.ts";
import { createEventSource } from "../../src/services/fleet/event-stream.ts";
import { awaitOutcome } from "../support/await-outcome.ts";
import { createBuiltFixture } from "../support/built-agent.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

const dist = join(import.meta.dir, "../../dist");
const html = { headers: { accept: "text/html" } };

const get = (url: string, init: RequestInit = {}) => fetch(url, { ...init, proxy: false } as RequestInit);

async function launch(fixture: CliFixture, name: string): Promise<string> {
  const launched = await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", name, "--json");
  if (launched.exitCode !== 0) throw new Error(launched.stderr);
  return String(launched.json()["agent_id"]);
}

/** Reads a stream of screens until `wanted` holds for what came so far. */
async function readScreens(
  url: string,
  wanted: (events: ScreenEvent[]) => boolean,
  after?: () => Promise<unknown>,
) {
  const leave = new AbortController();
  const response = await get(url, { signal: leave.signal });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const source = createEventSource(ScreenEvent);
  const events: ScreenEvent[] = [];
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let acted = false;
  while (!wanted(events)) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the stream ended");
    for (const event of source.push(value)) {
      expect(Value.Check(ScreenEvent, event)).toBe(true);
      events.push(event);
    }
    if (!acted && events.length > 0) {
      acted = true;
      await after?.();
    }
  }
  leave.abort();
  return events;
}

describe("the console", () => {
  test("`svc console` starts a server when none runs, and finds it again", async () => {
    await using fixture = createBuiltFixture(dist);
    const first = await fixture.run("svc", ["console"]);
    expect([first.exitCode, first.stderr]).toEqual([0, ""]);
    const url = first.stdout.trim();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    try {
      const page = await (await get(url, html)).text();
      const script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? "";
      expect((await get(new URL(script, url).href)).status).toBe(200);
      const again = await fixture.mgr("console", "--json");
      expect(again.json()).toEqual({
        schema_version: 1,
        url,
        expires_at_utc: null,
        started_coordinator: false,
      });
    } finally {
      await get(`${url}svc/coord/shutdown`, { method: "POST" });
    }
  });

  test("`svc console --stop` ends the server that `svc console` started, and no other", async () => {
    await using fixture = createBuiltFixture(dist);
    const svc = (...words: string[]) => fixture.run("svc", ["console", ...words]);
    const none = { exitCode: 0, stdout: "no server runs that `svc console` started\n" };
    expect(await svc("--stop")).toMatchObject(none);
    const url = (await svc()).stdout.trim();
    // Two at once end one server.
    const ends = await Promise.all([svc("--stop"), fixture.mgr("console", "--stop")]);
    const ended = ends.filter(({ stdout }) => stdout === `ended the server at ${url.slice(0, -1)}\n`);
    expect([ends.map(({ exitCode }) => exitCode), ended.length > 0]).toEqual([[0, 0], true]);
    expect(await awaitOutcome(get(url))).toThrow();
    expect(await svc("--stop")).toMatchObject(none);

    await using server = await startCoordinator(fixture, {});
    const left = await svc("--stop", "--json");
    expect(left.json()).toEqual({ schema_version: 1, stopped: [], others: [server.baseUrl] });
    expect((await svc("--stop")).stdout).toEndWith(
      `${server.baseUrl} was started by another command and goes on\n`,
    );
    expect((await get(`${server.baseUrl}/health`)).status).toBe(200);
    expect((await svc("--stop", "--open")).exitCode).toBe(2);
  }, 120_000);

  test("where a token is asked for, the link signs in once and is written nowhere", async () => {
    await using fixture = createBuiltFixture(dist);
    await using server = await startCoordinator(fixture, { env: { SVC_COORD_TOKEN: "a-secret-token" } });
    const said = await fixture.mgr("console", "--json");
    const { url, expires_at_utc } = said.json() as Record<string, string>;
    expect(url).toStartWith(`${server.baseUrl}/svc/console/sign-in?code=`);
    expect(expires_at_utc).toBeString();
    const code = new URL(url ?? "").searchParams.get("code") ?? "";
    const answer = await get(url ?? "", html);
    const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
    const own = { cookie, origin: server.baseUrl, "sec-fetch-site": "same-origin" };
    expect((await server.request("/svc/agents", { headers: own })).status).toBe(200);
    expect((await get(url ?? "", html)).status).toBe(403);
    const secrets = [code, cookie.split("=")[1] ?? "", "a-secret-token"];
    const written = readdirSync(fixture.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(log|jsonl)$/.test(entry.name))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    expect(written.length).toBeGreaterThan(0);
    for (const secret of secrets) expect(written.some((text) => text.includes(secret))).toBe(false);
    // The commands still find it by the token alone.
    expect((await server.request("/svc/agents", { headers: { cookie } })).status).toBe(401);
  });

  test("the screens of agents come as rows, through their gateways and a restart of one", async () => {
    await using fixture = createBuiltFixture(dist);
    const [one, other] = await Promise.all([launch(fixture, "one"), launch(fixture, "other")]);
    await using server = await startCoordinator(fixture);
    const url = `${server.baseUrl}/svc/console/screens/events?agents=${one},${other},nobody`;
    const textOf = (events: ScreenEvent[], id: string) =>
      JSON.stringify(events.filter((event) => event.kind === "screen" && event.agent_id === id));
    const events = await readScreens(
      url,
      (seen) => textOf(seen, one ?? "").includes("heard-me") && textOf(seen, other ?? "").includes("runs"),
      () => fixture.mgr("agents", "single", "--agent-name", "one", "prompt", "--prompt", "say heard-me"),
    );
    const wholes = events.filter((event) => event.kind === "screen" && event.whole);
    expect(wholes.map((event) => event.agent_id).sort()).toEqual([one, other].sort());
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "screen_absent", agent_id: "nobody" }) as ScreenEvent,
    );
    const single = ["agents", "single", "--agent-name", "other"];
    const detach = () => fixture.mgr(...single, "gateway", "detach");
    await readScreens(
      `${server.baseUrl}/svc/console/screens/events?agents=${other}`,
      (seen) => seen.some(({ kind }) => kind === "screen_absent"),
      detach,
    );
    await fixture.mgr(...single, "gateway", "attach");
    await until("the screen to be there again", async () => {
      const seen = await readScreens(
        `${server.baseUrl}/svc/console/screens/events?agents=other`,
        (all) => all.length > 0,
      );
      return seen.some((event) => event.kind === "screen" && event.whole);
    });
  });
});
