import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { coordinatorPaths } from "../../src/services/fleet/coordinator-files.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { type CoordServer, startCoordinator } from "../support/coord-server.ts";
import { copyOf, type Damage, damages, everyDamage } from "../support/damaged-files.ts";
import { coordinatorRows } from "../support/damaged-rows.ts";
import { createSickFixture } from "../support/sick-agent.ts";
import { sparePorts } from "../support/spare-ports.ts";

/**
 * Every file of a coordination server, damaged in every way, while it serves and before it starts: it never
 * serves without the token that it was started with, and `doctor` names what others cannot use. Each file has
 * a server of its own.
 */

const token = "a-token-of-this-test";
let fixture: CliFixture;
let ports: number[] = [];
const withToken = { headers: { authorization: `Bearer ${token}` } };

beforeAll(async () => {
  fixture = createSickFixture();
  ports = await sparePorts(coordinatorRows.length);
});
afterAll(() => fixture?.[Symbol.asyncDispose]());

const portOf = (at: number) => ports[at] ?? 0;
function pathOf(at: number): string {
  const paths = coordinatorPaths(
    join(fixture.env["HOME"] ?? "", ".local/state/svc/runtime"),
    "127.0.0.1",
    portOf(at),
  );
  return join(paths.root, coordinatorRows[at]?.file.split("<port>/")[1] ?? "");
}

/** With the token that only the first start is given. */
const serve = (at: number, first: boolean) =>
  startCoordinator(fixture, { port: portOf(at), ...(first ? { env: { SVC_COORD_TOKEN: token } } : {}) });

interface Seen {
  served: unknown[];
  doctor: string;
  port: string;
  restarted: unknown[] | string;
}

async function seeAll(damage: Damage): Promise<Seen[]> {
  const servers = await Promise.all(coordinatorRows.map((_, at) => serve(at, true)));
  for (const { ready } of servers) expect(ready["event"]).toBe("ready");
  const copies = coordinatorRows.map((_, at) => {
    const path = pathOf(at);
    const copy = copyOf(path);
    expect([path, existsSync(path)]).toEqual([path, true]);
    return copy;
  });
  for (const [at] of coordinatorRows.entries()) damages[damage](pathOf(at));
  const { checks } = (await fixture.mgr("doctor", "--json")).json() as {
    checks: { name: string; verdict: string }[];
  };
  const seen = await Promise.all(
    servers.map(async (server, at) => ({
      served: await callers(server),
      doctor: checks.find(({ name }) => name === `svc-coord on port ${portOf(at)}`)?.verdict ?? "ok",
    })),
  );
  const ends: Seen[] = [];
  for (const [at, server] of servers.entries()) {
    server.signal("SIGTERM");
    const port = `exit ${await server.exited}`;
    mkdirSync(dirname(pathOf(at)), { recursive: true });
    // What a clean end removed is there as one that was killed leaves it.
    if (!existsSync(pathOf(at))) {
      copies[at]?.restore();
      if (existsSync(pathOf(at))) damages[damage](pathOf(at));
    }
    ends.push({ ...(seen[at] as Omit<Seen, "port" | "restarted">), port, restarted: await again(at) });
    copies[at]?.restore();
  }
  return ends;
}

async function callers(server: CoordServer): Promise<unknown[]> {
  const allowed = await server.request("/svc/agents", withToken);
  const refused = await server.request("/svc/agents");
  return [allowed.status, refused.status];
}

async function again(at: number): Promise<unknown[] | string> {
  try {
    await using server = await serve(at, false);
    const refused = await server.request("/svc/agents");
    const path = join(server.ready["server_root"] ?? "", "run/token");
    const own = existsSync(path) ? readFileSync(path, "utf8").trim() : "none";
    const allowed = await server.request("/svc/agents", { headers: { authorization: `Bearer ${own}` } });
    return [allowed.status, refused.status];
  } catch (error) {
    return String(error);
  }
}

describe.each(everyDamage)("a file of a coordination server that is %s", (damage) => {
  let seen: Seen[];
  beforeAll(async () => {
    seen = await seeAll(damage);
  }, 120_000);

  test.each(coordinatorRows.map((row, at) => ({ ...row, at })))("$file is reported", ({ at, ...row }) => {
    const found = seen[at];
    expect({ ...found, restarted: null }).toEqual({
      served: [200, 401],
      doctor: damage === "a folder" ? "damaged" : (row.doctor ?? "ok"),
      port: "exit 0",
      restarted: null,
    });
    const want = row.restart?.[damage] ?? [200, 401];
    expect(found?.restarted).toEqual(typeof want === "string" ? expect.stringContaining(want) : want);
    // No fault is shown as the system's own words.
    expect(String(found?.restarted)).not.toMatch(/illegal operation|internal error|SQLITE|\n\s+at /);
  });
});
