import { expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { checkOrphans } from "../../../src/cli/checks/agents.ts";
import { adviseInManager } from "../../../src/cli/command-line/remedies.ts";
import { refuseOrphanName } from "../../../src/services/sessions/orphans.ts";
import { planRoots } from "../../../src/services/sessions/roots.ts";
import { createRegistryFixture } from "../../support/session-deps.ts";
import { sampleManifest, sampleRecord } from "../../support/session-samples.ts";

/** A machine on which launches were cut short behind the manifests of these agents, by session. */
function withOrphans(orphans: Readonly<Record<string, { agentName: string; agentId: string } | null>>) {
  const fixture = createRegistryFixture();
  const { system, folder, living } = fixture;
  const roots = { ...planRoots({ flags: {}, env: {}, home: folder, overlay: null }), runtimeRoot: folder };
  const marks = Object.entries(orphans).map(([name, agent]) => {
    const path = join(folder, name, "manifest.json");
    const tmux = { sessionName: name, windowName: "agent", windowId: "@0", paneId: "%0", socket: null };
    system.files.ensureDirectory("x", dirname(path));
    if (agent) {
      const manifest = sampleManifest({ ...agent, generationId: `of-${name}`, tmux });
      system.files.write("x", path, JSON.stringify(manifest));
    }
    living.add(name);
    return { name, mark: `1 not-its-start ${path}` };
  });
  const tmux = { socket: "svc", sessionMarks: async () => marks };
  return {
    ...fixture,
    check: (fix: boolean) =>
      checkOrphans({ ...system, roots, registry: fixture.registry, tmux } as never, fix, adviseInManager),
    names: () => fixture.registry.list().records.map((record) => record.agent_name),
  };
}

const agent = (name: string) => ({ agentName: name, agentId: `id-${name}` });

test("an orphan whose place is taken keeps none behind it from being found again", async () => {
  using at = withOrphans({
    "SVC-anna-1": agent("anna"),
    "SVC-worker-2": agent("worker"),
    "SVC-Anna-3": agent("Anna"),
    "SVC-zoe-4": agent("zoe"),
    "SVC-bare-5": null,
  });
  at.living.add("SVC-worker-1");
  await at.registry.publish(sampleRecord());
  const check = await at.check(true);
  expect(at.names().sort()).toEqual(["Anna", "worker", "zoe"]);
  expect(check.verdict).toBe("damaged");
  const { detail, remedy } = check;
  expect(detail).toContain("found again: Anna, zoe");
  expect(detail).toContain('no record names "anna" in SVC-anna-1 (');
  expect(detail).toContain('"bare" in SVC-bare-5');
  expect(detail).toMatch(/SVC-anna-1 \(the name "anna" differs from that of agent "Anna"/);
  expect(detail).toMatch(/SVC-worker-2 \(agent "worker" already runs in tmux session SVC-worker-1/);
  expect(remedy).toMatch(/end SVC-anna-1 with: .*kill-session -t '=SVC-anna-1', or .* doctor --fix/);
  expect(remedy).toMatch(/end SVC-worker-2 with: .*kill-session -t '=SVC-worker-2', or .* doctor --fix/);
  expect(remedy).toMatch(/end SVC-bare-5 with: .*kill-session -t '=SVC-bare-5'/);
});

test("orphans are reported without being touched, and are gone once they are found again", async () => {
  using at = withOrphans({ "SVC-zoe-4": agent("zoe") });
  expect(await at.check(false)).toMatchObject({
    verdict: "damaged",
    detail: 'no record names "zoe" in SVC-zoe-4',
    remedy: 'find "zoe" again with: svc-mgr doctor --fix',
  });
  expect(at.names()).toEqual([]);
  expect(await at.check(true)).toMatchObject({ verdict: "ok", detail: "found again: zoe" });
  expect(await at.check(true)).toMatchObject({ verdict: "ok", detail: "none" });
});

test("a name whose session has lost its folder is refused with both remedies", async () => {
  using fixture = createRegistryFixture();
  const { system, folder, registry } = fixture;
  const mark = `1 not-its-start ${join(folder, "gone", "manifest.json")}`;
  const tmux = { socket: "svc", sessionMarks: async () => [{ name: "SVC-anna-1", mark }] };
  const wanted = { agentName: "anna", agentId: "id-anna", inSession: null };
  const refused = refuseOrphanName({ ...system, runtimeRoot: folder, registry, tmux } as never, wanted);
  await expect(refused).rejects.toMatchObject({
    message: expect.stringMatching(/It can be ended with `.*kill-session -t '=SVC-anna-1'`$/),
    data: { remedy: { code: "join_session", session: "SVC-anna-1", agent_name: "anna" } },
  });
});

test("a session that can only be ended needs a hand and keeps nobody from working", async () => {
  using at = withOrphans({ "SVC-bare-5": null });
  expect(await at.check(true)).toMatchObject({
    verdict: "warning",
    remedy: expect.stringContaining("end SVC-bare-5"),
  });
});
