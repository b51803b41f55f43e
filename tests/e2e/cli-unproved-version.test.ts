import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RequestRecord } from "../../src/protocol/gateway.ts";
import { demoProfile } from "../../src/services/terminal/profiles/demo.ts";
import { launchedIn } from "../support/cli-agent.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { requestEnd } from "../support/gateway-events.ts";
import { until } from "../support/until.ts";

const agent = "agents single --agent-name worker";

/** An agent whose banner names another version than the profile was proved on. */
function unproved(...flags: string[]) {
  const fixture = createCliFixture();
  const profiles = join(fixture.folder, "profiles.json");
  const profile = { ...demoProfile, banner: "^svc (demo) agent" };
  writeFileSync(profiles, JSON.stringify({ schema_version: 1, profiles: [profile] }));
  fixture.env["SVC_TOOL_PROFILES"] = profiles;
  return launchedIn(fixture, ...flags);
}

test("without reports a queued prompt of an unproved version waits for a still screen, says so, and goes", async () => {
  await using at = await unproved("--no-signals");
  await at.ready();
  expect(
    (await at.type(`${agent} prompt --delivery immediate --wait --json`, "--prompt", "now FAST")).json(),
  ).toMatchObject({
    success: true,
  });
  const { request_id: id } = (await at.type(`${agent} prompt --json`, "--prompt", "later FAST")).json();
  const request = async () =>
    (await at.type(`${agent} requests show --json`, String(id))).json() as unknown as RequestRecord;
  const missing = "second_witness=none (version demo is not proved, the tool reported no rest";
  await until("the reason why it waits", async () => (await request()).waiting?.detail?.includes(missing));
  const explained = await at.type(`${agent} gateway tui explain`);
  expect(explained.stdout).toContain("a prompt with --delivery immediate needs no second witness");
  await requestEnd(at.baseUrl, String(id));
  expect((await request()).state).toBe("completed");
  expect(at.heard()).toEqual(["now FAST", "later FAST"]);
}, 60_000);

test("the tool's own report is the second witness where it reports", async () => {
  await using at = await unproved("--", "--signals");
  await at.ready();
  for (const text of ["one FAST", "two FAST"]) {
    const run = await at.type(`${agent} prompt --wait --json`, "--prompt", text);
    expect(run.json()).toMatchObject({ success: true });
  }
  await until("the tool to be the witness", async () => {
    const { second_witness: witness } = (await at.type(`${agent} gateway tui explain --json`)).json();
    return (witness as { by?: string } | undefined)?.by === "turn_ended";
  });
  expect(at.heard()).toEqual(["one FAST", "two FAST"]);
}, 60_000);
