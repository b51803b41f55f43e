import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RegistryRecord } from "../../../src/protocol/files.ts";
import { chooseByName, chooseInTeam, findAgent, findRecord } from "../../../src/services/sessions/find.ts";
import { buildRecord, toStopped } from "../../../src/services/sessions/record.ts";
import { createRegistryFixture } from "../../support/session-deps.ts";
import { sampleManifest, sampleRecord } from "../../support/session-samples.ts";

const running = sampleRecord({ agentId: "one" });
const other = sampleRecord({ agentId: "two" });
const ended = toStopped(sampleRecord({ agentId: "three" }), "operator_stop", 0);
const older = toStopped(sampleRecord({ agentId: "four" }), "operator_stop", 0);

describe("which agent a name means", () => {
  test.each<{ id: string; records: RegistryRecord[]; want: ReturnType<typeof chooseByName> }>([
    { id: "the only one", records: [running], want: { record: running } },
    { id: "the running one before a stopped one", records: [ended, running], want: { record: running } },
    { id: "the stopped one when none runs", records: [ended], want: { record: ended } },
    {
      id: "nobody knows, of two running ones",
      records: [running, other],
      want: { agentIds: ["one", "two"] },
    },
    {
      id: "nobody knows, of two stopped ones",
      records: [ended, older],
      want: { agentIds: ["three", "four"] },
    },
    {
      id: "no one when no name fits whole",
      records: [{ ...running, agent_name: "worker2" }],
      want: { agentIds: [] },
    },
  ])("$id", ({ records, want }) => {
    expect(chooseByName(records, "worker")).toEqual(want);
  });
});

describe("which agent a name means in a team with a prefix", () => {
  const file = "/home/user/second/svc.yaml";
  const of = (name: string, owner: string | null, member = name) => {
    const record = { ...sampleRecord({ agentId: `id-${name}` }), agent_name: name };
    return owner === null ? record : { ...record, team: { file: owner, member } };
  };
  const stopped = (record: RegistryRecord) => toStopped(record, "operator_stop", 0);
  const first = of("reviewer", "/home/user/first/svc.yaml");
  const second = of("b-reviewer", file, "reviewer");
  const byHand = of("reviewer", null);
  const person = { file, isMember: false, prefixed: ["reviewer"] };
  const member = { ...person, isMember: true };
  const both = (own: RegistryRecord | null, foreign: RegistryRecord) => ({
    own,
    foreign,
    agentIds: [own, foreign].flatMap((one) => (one ? [one.agent_id] : [])),
  });

  test.each<{
    id: string;
    records: RegistryRecord[];
    name?: string;
    team: typeof person | null;
    want: ReturnType<typeof chooseInTeam>;
  }>([
    { id: "its own, to its agents", records: [first, second], team: member, want: { record: second } },
    {
      id: "its own, to its agents, also when that is stopped",
      records: [first, stopped(second)],
      team: member,
      want: { record: stopped(second) },
    },
    { id: "both, to a person", records: [first, second], team: person, want: both(second, first) },
    {
      id: "both, to a person, also one by hand",
      records: [byHand, second],
      team: person,
      want: both(second, byHand),
    },
    {
      id: "both, to a person, when only the other one runs",
      records: [first, stopped(second)],
      team: person,
      want: both(stopped(second), first),
    },
    {
      id: "its own, to a person, when only that runs",
      records: [stopped(first), second],
      team: person,
      want: { record: second },
    },
    {
      id: "its own, to a person, when no other has it",
      records: [second],
      team: person,
      want: { record: second },
    },
    { id: "never another's, to its agents", records: [first], team: member, want: both(null, first) },
    { id: "never another's, to a person", records: [first], team: person, want: both(null, first) },
    {
      id: "its own, by the whole name",
      records: [first, second],
      name: "b-reviewer",
      team: member,
      want: { record: second },
    },
    {
      id: "the one of the whole name, without a team",
      records: [first, second],
      team: null,
      want: { record: first },
    },
    {
      id: "another's, by a name that the team does not have",
      records: [of("helper", null), second],
      name: "helper",
      team: member,
      want: { record: of("helper", null) },
    },
    {
      id: "nobody, by an unknown name",
      records: [first],
      name: "nobody",
      team: person,
      want: { agentIds: [] },
    },
  ])("$id", ({ records, name = "reviewer", team, want }) => {
    expect(chooseInTeam(records, name, team)).toEqual(want);
  });

  test("a name that means two agents is refused with a command for each", async () => {
    using at = createRegistryFixture();
    for (const record of [first, second]) await at.registry.publish(record);
    const find = () => findRecord(at, { agentName: "reviewer", team: person });
    expect(find).toThrow("`--agent-name b-reviewer` is the one of this team");
    expect(find).toThrow('`--agent-id id-reviewer` is the agent "reviewer" of /home/user/first/svc.yaml');
    expect(findRecord(at, { agentName: "reviewer", team: member })).toMatchObject({
      agent_name: "b-reviewer",
    });
  });
});

describe("finding an agent", () => {
  async function published() {
    const at = createRegistryFixture();
    const manifest = sampleManifest();
    const manifestPath = join(at.folder, "manifest.json");
    writeFileSync(manifestPath, JSON.stringify(manifest));
    const record = buildRecord({ manifest, manifestPath, sessionRoot: at.folder, nowMs: 0 });
    await at.registry.publish(record);
    const deps = { files: at.system.files, registry: at.registry };
    return { at, deps, manifest, record, manifestPath, [Symbol.dispose]: () => at[Symbol.dispose]() };
  }

  test("by name and by id, blanks around them forgiven", async () => {
    using it = await published();
    const want = {
      record: it.record,
      manifest: it.manifest,
      manifestPath: it.manifestPath,
      sessionRoot: it.at.folder,
    };
    expect(findAgent(it.deps, { agentName: " worker " })).toEqual(want);
    expect(findAgent(it.deps, { agentId: "id-worker" })).toEqual(want);
  });

  test("an unknown one is not found", async () => {
    using it = await published();
    expect(() => findAgent(it.deps, { agentName: "nobody" })).toThrow('no agent named "nobody"');
    expect(() => findAgent(it.deps, { agentId: "nobody" })).toThrow("no agent with id nobody");
  });

  test("an ambiguous name lists the ids to choose from", async () => {
    using it = await published();
    await it.at.registry.publish({ ...it.record, agent_id: "id-2" });
    expect(() => findAgent(it.deps, { agentName: "worker" })).toThrow("--agent-id: id-2, id-worker");
  });

  test("a name that is another agent's id is refused with the command for each", async () => {
    using it = await published();
    await it.at.registry.publish({ ...it.record, agent_id: "worker", agent_name: "other" });
    const byName = () => findAgent(it.deps, { agentName: "worker" });
    expect(byName).toThrow('`--agent-id id-worker` is the agent named "worker"');
    expect(byName).toThrow('`--agent-id worker` is the agent named "other"');
    expect(findAgent(it.deps, { agentId: "id-worker" }).manifest.agent_id).toBe("id-worker");
  });

  test("a record that points to another agent's manifest is not followed", async () => {
    using it = await published();
    writeFileSync(it.manifestPath, JSON.stringify(sampleManifest({ agentId: "someone-else" })));
    expect(() => findAgent(it.deps, { agentName: "worker" })).toThrow("someone-else");
  });
});
