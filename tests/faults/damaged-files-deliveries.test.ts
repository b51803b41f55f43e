import { expect } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { type Damage, damages, everyDamage } from "../support/damaged-files.ts";
import { faultTest } from "../support/fault-table.ts";

const rules = [
  "version: 1",
  "rules:",
  "  desk:",
  "    reasons: [question]",
  "    command: { argv: [cat] }",
  "",
];
const deliveries = "/svc/attention/deliveries";
/** A new outbox takes the place of one that is gone; a server cannot tell an empty file from a new one. */
const replaced: readonly Damage[] = ["deleted", "emptied"];

async function seen(damage: Damage) {
  await using fixture = createCliFixture();
  const home = fixture.env["HOME"] ?? "";
  mkdirSync(join(home, ".config/svc"), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, ".config/svc/deliveries.yaml"), rules.join("\n"), { mode: 0o600 });
  await using first = await startCoordinator(fixture);
  expect((await first.ask(deliveries)).status).toBe(200);
  first.signal("SIGTERM");
  expect(await first.exited).toBe(0);
  const root = join(home, ".local/state/svc/deliveries");
  damages[damage](join(root, readdirSync(root)[0] ?? "", "deliveries.sqlite"));

  const listed = await fixture.mgr("attention", "deliveries");
  await using server = await startCoordinator(fixture);
  const agents = (await server.ask("/svc/agents")).status;
  const { status, body } = await server.ask(deliveries);
  return { listed: [listed.exitCode, listed.stderr], agents, asked: [status, body] };
}

faultTest(
  "a damaged outbox of deliveries keeps no agent from being served, and the fault names it",
  {
    area: "files",
    fault:
      "The outbox of deliveries, `deliveries.sqlite`, is deleted, emptied, cut off, overwritten or replaced by a folder",
    outcome: "agents are served; nothing is delivered until the file can be used again",
    seen: "`attention deliveries` and `GET /svc/attention/deliveries` name the file, the latter with 503",
    recovery: "a copy of the file in its place, or its removal: what still waits is delivered again",
  },
  async () => {
    const named = expect.stringContaining("deliveries.sqlite cannot be used: ");
    for (const damage of everyDamage) {
      expect({ damage, ...(await seen(damage)) }).toMatchObject({
        damage,
        listed: damage === "deleted" ? [0, ""] : [1, named],
        agents: 200,
        asked: replaced.includes(damage) ? [200, { deliveries: [] }] : [503, { detail: named }],
      });
    }
  },
  120_000,
);
