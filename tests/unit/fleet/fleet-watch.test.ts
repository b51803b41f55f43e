import { describe, expect, test } from "bun:test";
import type { RegistryRecord } from "../../../src/protocol/files.ts";
import type { KnownAgent } from "../../../src/services/fleet/directory.ts";
import {
  compareSnapshots,
  next,
  nothingWatched,
  planLook,
  type WatchState,
} from "../../../src/services/fleet/fleet-watch.ts";
import { sampleKnown } from "../../support/fleet-fakes.ts";

interface Snapshot {
  record: RegistryRecord;
  facts: string;
}

const nowMs = 100_000;
const a = sampleKnown("a");
const b = sampleKnown("b");
const snapshotOf = ({ record }: typeof a, facts = "as before"): Snapshot => ({ record, facts });
const snapshotsOf = (...all: Snapshot[]) => new Map(all.map((one) => [one.record.agent_id, one]));
const recently: WatchState<Snapshot> = {
  snapshots: snapshotsOf(snapshotOf(a)),
  lookedAtAllMs: nowMs - 4999,
  isReported: true,
};

describe("which agents a watch looks at", () => {
  const cases: {
    id: string;
    state: WatchState<Snapshot>;
    agents: readonly KnownAgent[];
    hints: string[];
    want: string[];
  }[] = [
    { id: "nobody between two looks at all", state: recently, agents: [a], hints: [], want: [] },
    { id: "a new agent", state: recently, agents: [a, b], hints: [], want: ["b"] },
    { id: "an agent with a hint", state: recently, agents: [a], hints: ["id-a"], want: ["a"] },
    {
      id: "an agent whose record is another",
      state: recently,
      agents: [{ ...a, record: { ...a.record } }],
      hints: [],
      want: ["a"],
    },
    {
      id: "all after 5 s",
      state: { ...recently, lookedAtAllMs: nowMs - 5000 },
      agents: [a],
      hints: [],
      want: ["a"],
    },
    { id: "all at first", state: nothingWatched, agents: [a, b], hints: [], want: ["a", "b"] },
  ];
  test.each(cases)("$id", ({ state, agents, hints, want }) => {
    const isDue = planLook<Snapshot>(state, hints, nowMs);
    expect(agents.filter(isDue).map(({ record }) => record.agent_name)).toEqual(want);
  });
});

describe("the state of a watch", () => {
  test("keeps the snapshot of an agent that was not looked at, and drops one that runs no more", () => {
    const state = next<Snapshot>(
      { ...recently, snapshots: snapshotsOf(snapshotOf(a), snapshotOf(b)) },
      { kind: "looked", nowMs, agents: [a], found: [] },
    );
    expect([...state.snapshots.keys()]).toEqual(["id-a"]);
    expect(state.lookedAtAllMs).toBe(recently.lookedAtAllMs);
  });

  test("takes in what a look at all found", () => {
    const found = [snapshotOf(a, "other"), snapshotOf(b)];
    const state = next<Snapshot>(nothingWatched, { kind: "looked", nowMs, agents: [a, b], found });
    expect(state).toEqual({ snapshots: snapshotsOf(...found), lookedAtAllMs: nowMs, isReported: false });
  });

  test("a report is the first one once", () => {
    expect(next<Snapshot>(nothingWatched, { kind: "reported" }).isReported).toBe(true);
  });
});

describe("what is new between two looks", () => {
  const cases: { id: string; before: Snapshot[]; now: Snapshot[]; want: Record<string, string[]> }[] = [
    { id: "nothing", before: [snapshotOf(a)], now: [snapshotOf(a)], want: {} },
    { id: "an agent that appeared", before: [], now: [snapshotOf(a)], want: { appeared: ["a"] } },
    { id: "an agent that is gone", before: [snapshotOf(a)], now: [], want: { gone: ["a"] } },
    {
      id: "an agent that changed",
      before: [snapshotOf(a), snapshotOf(b)],
      now: [snapshotOf(a, "other"), snapshotOf(b)],
      want: { changed: ["a"] },
    },
  ];
  test.each(cases)("$id", ({ before, now, want }) => {
    const { snapshots, ...change } = compareSnapshots(snapshotsOf(...before), snapshotsOf(...now));
    const names = (all: readonly Snapshot[]) => all.map(({ record }) => record.agent_name);
    expect(snapshots).toHaveLength(now.length);
    const named = Object.entries(change).map(([kind, all]) => [kind, names(all)]);
    expect(Object.fromEntries(named)).toEqual({ appeared: [], changed: [], gone: [], ...want });
  });

  test("lists the agents by name", () => {
    const { snapshots } = compareSnapshots(new Map(), snapshotsOf(snapshotOf(b), snapshotOf(a)));
    expect(snapshots.map(({ record }) => record.agent_name)).toEqual(["a", "b"]);
  });
});
