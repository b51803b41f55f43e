import { describe, expect, test } from "bun:test";
import type { CurrentInstance } from "../../../src/protocol/files.ts";
import { challengeAnswerHeader, challengeHeader } from "../../../src/protocol/wire.ts";
import { readGateway } from "../../../src/services/fleet/gateway-link.ts";
import { createLinks } from "../../../src/services/fleet/links.ts";
import { answerChallenge } from "../../../src/services/fleet/listener-proof.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { toOfflineStatus } from "../../../src/services/status/project.ts";
import { createClock } from "../../../src/system/clock.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";

const key = "key of the session";
const port = 40_000;
const identity = {
  attachIdentity: "session-1",
  backend: "local_interactive",
  tmuxSessionName: "SVC-worker-1",
  agentName: "worker",
  executionMode: "detached_process" as const,
};
const status = toOfflineStatus(identity, { instance: null, depth: 2, block: null }, null);
const snapshot = { schema_version: 1, status, terminal: null, requests: [] };

interface Listener {
  /** Paths at which it answers a challenge. */
  proves: readonly string[];
  hasSnapshots?: boolean;
}

function machine(listener: Listener, options: { token?: string } = {}) {
  const scratch = createScratch();
  const sessionRoot = scratch.path("session");
  const paths = sessionPaths(sessionRoot);
  const instance: CurrentInstance = {
    schema_version: 1,
    protocol_version: "v1",
    pid: 7,
    process_start: "start",
    host: "127.0.0.1",
    port,
    execution_mode: "detached_process",
    managed_agent_instance_epoch: 1,
  };
  scratch.files.ensureDirectory("x", paths.runRoot);
  scratch.files.write("x", paths.currentInstance, JSON.stringify(instance));
  scratch.files.write("x", paths.challengeKey, key);
  if (options.token) scratch.files.write("x", paths.token, options.token);
  const asked: string[] = [];
  let fails = false;
  let isAlive = true;
  const fetch = async (url: string, init: RequestInit) => {
    if (fails) throw new Error("broken");
    const { pathname } = new URL(url);
    const sent = new Headers(init.headers);
    asked.push(`${pathname}${sent.has("authorization") ? " with token" : ""}`);
    const challenge = sent.get(challengeHeader);
    const proof =
      challenge !== null && listener.proves.includes(pathname)
        ? { [challengeAnswerHeader]: answerChallenge(key, challenge, port) }
        : undefined;
    const reply = (body: unknown, code = 200) =>
      Response.json(body, { status: code, ...(proof ? { headers: proof } : {}) });
    if (pathname === "/health") return reply({ protocol_version: "v1", status: "ok" });
    if (pathname === "/v1/status") return reply(status);
    return listener.hasSnapshots === false ? reply({ detail: "no such route" }, 404) : reply(snapshot);
  };
  const deps = {
    files: scratch.files,
    clock: createClock(),
    env: {},
    processes: { alive: () => isAlive, startToken: () => "start" },
    network: { fetch, listenerOwner: () => "own" as const },
  };
  const session = { manifest: sampleManifest({ agentName: "worker", sessionId: "session-1" }), sessionRoot };
  return {
    asked,
    session,
    fail() {
      fails = true;
    },
    end() {
      isAlive = false;
    },
    links: createLinks({ ...deps, processes: deps.processes as never }),
    read: () => readGateway(deps, { sessionRoot, attachIdentity: "session-1" }, { limit: 20 }),
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

const everywhere = ["/health", "/v1/snapshot"];

test("a gateway without a token is read by one request, whose answer carries the proof", async () => {
  using at = machine({ proves: everywhere });
  expect(await at.read()).toMatchObject({ link: { state: "healthy", status: { queue_depth: 2 } }, snapshot });
  expect(at.asked).toEqual(["/v1/snapshot"]);
});

test("a listener that answers without the proof is not believed", async () => {
  using at = machine({ proves: [] });
  const { link, snapshot: read } = await at.read();
  expect(link).toMatchObject({ state: "stale", why: expect.stringContaining("did not prove") });
  expect(read).toBeNull();
});

test("a token is shown only after the proof", async () => {
  using at = machine({ proves: everywhere }, { token: "secret" });
  expect(await at.read()).toMatchObject({ link: { state: "healthy" }, snapshot });
  expect(at.asked).toEqual(["/health", "/v1/status with token", "/v1/snapshot with token"]);
});

test("a gateway of an earlier version is read as before", async () => {
  using at = machine({ proves: ["/health"], hasSnapshots: false });
  expect(await at.read()).toMatchObject({ link: { state: "healthy" }, snapshot: null });
  expect(at.asked).toEqual(["/v1/snapshot", "/health", "/v1/status"]);
});

describe("through a link", () => {
  const options = { limit: 20, timeoutMs: 1000 };

  test("a new one is proved by the request that reads, and a known one is asked once more", async () => {
    using at = machine({ proves: everywhere });
    const first = await at.links.read(at.session, options);
    expect(first).toMatchObject({ link: { state: "live" }, status, snapshot });
    expect(at.asked).toEqual(["/v1/snapshot"]);
    const again = await at.links.read(at.session, options);
    expect(again.link).toBe(first.link);
    expect(again).toMatchObject({ status, snapshot });
    expect(await at.links.to(at.session)).toBe(first.link);
    expect(at.asked).toEqual(["/v1/snapshot", "/v1/snapshot"]);
  });

  test("who asks for the link alone meanwhile gets the same", async () => {
    using at = machine({ proves: everywhere });
    const [read, link] = await Promise.all([at.links.read(at.session, options), at.links.to(at.session)]);
    expect(link).toBe(read.link);
    expect(at.asked).toEqual(["/v1/snapshot"]);
  });

  test("a gateway of an earlier version is linked and has no snapshot", async () => {
    using at = machine({ proves: ["/health"], hasSnapshots: false });
    const first = { link: { state: "live" }, status, snapshot: null };
    expect(await at.links.read(at.session, options)).toMatchObject(first);
    expect(await at.links.read(at.session, options)).toMatchObject(first);
  });

  test("a listener that answers without the proof is not linked", async () => {
    using at = machine({ proves: [] });
    expect(await at.links.read(at.session, options)).toMatchObject({
      link: { state: "silent" },
      snapshot: null,
    });
  });

  test("a gateway that stops to answer is silent, with why, and dead once its process is gone", async () => {
    using at = machine({ proves: everywhere });
    await at.links.read(at.session, options);
    at.fail();
    expect(await at.links.read(at.session, options)).toMatchObject({
      link: { state: "silent", why: expect.stringContaining("broken") },
      status: null,
    });
    at.end();
    expect(await at.links.read(at.session, options)).toMatchObject({ link: { state: "dead" } });
  });
});
