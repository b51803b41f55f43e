import { expect, test } from "bun:test";
import type { RegistryRecord } from "../../../src/protocol/files.ts";
import { compareByWork, findGoneAgents, type GoneAgent } from "../../../src/services/fleet/gone-agents.ts";
import { toStopped } from "../../../src/services/sessions/record.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleRecord } from "../../support/session-samples.ts";

const of = (name: string): RegistryRecord => {
  const record = sampleRecord({ agentName: name, agentId: `id-${name}` });
  return { ...record, terminal: { ...record.terminal, current_session_name: `SVC-${name}` } };
};
const inTeam = (name: string) => ({ ...of(name), team: { file: "/project/svc.yaml", member: name } });
const stopped = (record: RegistryRecord, reason: string) => toStopped(record, reason, 0);
const fixed = (record: RegistryRecord) => ({
  ...record,
  lifecycle: { ...record.lifecycle, relaunchable: false },
});

const records = [
  of("alive"),
  of("gone"),
  fixed(of("gone-joined")),
  inTeam("gone-member"),
  stopped(of("seen-gone"), "session_gone"),
  stopped(of("stopped"), "operator_stop"),
  stopped(fixed(of("stopped-joined")), "operator_stop"),
  stopped(inTeam("stopped-member"), "operator_stop"),
];

test.each([
  {
    id: "those that a person did not stop",
    given: { isStoppedToo: false, teamFile: null },
    want: [["gone", "gone-joined", "gone-member", "seen-gone"], 2, 0],
  },
  {
    id: "the stopped ones too, but for one that nobody can start",
    given: { isStoppedToo: true, teamFile: null },
    want: [["gone", "gone-joined", "gone-member", "seen-gone", "stopped", "stopped-member"], 0, 0],
  },
  {
    id: "those of a team",
    given: { isStoppedToo: false, teamFile: "/project/svc.yaml" },
    want: [["gone-member"], 1, 3],
  },
  {
    id: "all of a team",
    given: { isStoppedToo: true, teamFile: "/project/svc.yaml" },
    want: [["gone-member", "stopped-member"], 0, 3 + 1],
  },
])("$id", async ({ given, want }) => {
  using scratch = createScratch();
  const deps = {
    files: scratch.files,
    registry: { list: () => ({ records, ignored: [] }) },
    tmuxFor: () => ({ sessions: async () => [{ name: "SVC-alive" }] }),
  } as unknown as Parameters<typeof findGoneAgents>[0];
  const { agents, leftStopped, leftElsewhere } = await findGoneAgents(deps, given);
  expect([agents.map(({ record }) => record.agent_name), leftStopped, leftElsewhere]).toEqual(want as never);
});

test("an agent whose tmux cannot be asked is among them: the relaunch asks again and says why", async () => {
  using scratch = createScratch();
  const deps = {
    files: scratch.files,
    registry: { list: () => ({ records: [of("alive")], ignored: [] }) },
    tmuxFor: () => ({ sessions: () => Promise.reject(new Error("no tmux")) }),
  } as unknown as Parameters<typeof findGoneAgents>[0];
  const { agents } = await findGoneAgents(deps, { isStoppedToo: false, teamFile: null });
  expect(agents).toHaveLength(1);
});

test("first come those for whom prompts wait, the oldest first, then those that were at work", () => {
  const agent = (name: string, work: Partial<GoneAgent>): GoneAgent => ({
    record: of(name),
    isStopped: false,
    waiting: 0,
    waitingSinceUtc: null,
    hadTurn: false,
    ...work,
  });
  const at = (time: string) => ({ waiting: 1, waitingSinceUtc: `2026-11-29T${time}.000+00:00` });
  const ordered = [
    agent("b", {}),
    agent("a", {}),
    agent("working", { hadTurn: true }),
    agent("later", at("05:00:00")),
    agent("earlier", at("04:00:00")),
  ].sort(compareByWork);
  expect(ordered.map(({ record }) => record.agent_name)).toEqual(["earlier", "later", "working", "a", "b"]);
});
