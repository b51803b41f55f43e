import type { RegistryRecord } from "../../protocol/files.ts";
import type { Clock } from "../../system/clock.ts";
import { sleep } from "../../system/clock.ts";
import { createLoop, type Loop } from "../../system/lifecycle.ts";
import type { AgentSnapshot } from "./agent-snapshot.ts";
import type { Directory } from "./directory.ts";

/** What is known of one agent. */
interface Seen {
  record: RegistryRecord;
}

/** What is new about the agents that run. */
export interface FleetChange<Snapshot extends Seen = AgentSnapshot> {
  /** All of them, by name. */
  snapshots: readonly Snapshot[];
  appeared: readonly Snapshot[];
  changed: readonly Snapshot[];
  /** As they were last seen. */
  gone: readonly Snapshot[];
}

export interface FleetWatch extends Loop {
  /** Something may have happened at this agent. */
  hint(agentId: string): void;
}

const betweenLooksMs = 150;
const lookAtAllMs = 5000;
const lookForNewMs = 1000;

/**
 * Keeps one snapshot of each agent whose record says that it runs. Looks at an agent soon after a hint, at new ones
 * within a second and at all of them every 5 s, so that a hint that never came costs no more than that.
 * `onChange` gets only what differs; the first call comes also when there is no agent.
 */
export function createFleetWatch<Snapshot extends Seen>(deps: {
  directory: Pick<Directory, "agents">;
  /** A look at each of these, in their order. Never rejects. */
  look: (records: readonly RegistryRecord[]) => Promise<readonly Snapshot[]>;
  clock: Clock;
  onChange: (change: FleetChange<Snapshot>) => Promise<void>;
  onError: (error: unknown) => void;
}): FleetWatch {
  const { clock, directory } = deps;
  let known = new Map<string, Snapshot>();
  let lookedMs = Number.NEGATIVE_INFINITY;
  let first = true;
  const hinted = new Set<string>();

  async function turn(signal: AbortSignal): Promise<number> {
    const records = directory
      .agents()
      .map(({ record }) => record)
      .filter(({ lifecycle }) => lifecycle.state === "active" || lifecycle.state === "relaunching");
    const everyone = clock.monotonicMs() - lookedMs >= lookAtAllMs;
    if (everyone) lookedMs = clock.monotonicMs();
    const wanted = records.filter(
      (record) => everyone || hinted.has(record.agent_id) || known.get(record.agent_id)?.record !== record,
    );
    hinted.clear();
    const before = known;
    known = new Map(records.flatMap(({ agent_id: id }) => entryOf(id, before.get(id))));
    for (const snapshot of await deps.look(wanted)) known.set(snapshot.record.agent_id, snapshot);
    const snapshots = [...known.values()].sort(byName);
    const isOf = (map: ReadonlyMap<string, Snapshot>) => (snapshot: Snapshot) =>
      map.has(snapshot.record.agent_id);
    const appeared = snapshots.filter((snapshot) => !isOf(before)(snapshot));
    const changed = snapshots.filter(
      (snapshot) =>
        isOf(before)(snapshot) && factsOf(snapshot) !== factsOf(before.get(snapshot.record.agent_id)),
    );
    const gone = [...before.values()].filter((snapshot) => !isOf(known)(snapshot));
    if (signal.aborted) return 0;
    if (first || appeared.length + changed.length + gone.length > 0) {
      await deps.onChange({ snapshots, appeared, changed, gone });
    }
    first = false;
    await sleep(clock, betweenLooksMs, signal);
    return lookForNewMs;
  }

  const loop = createLoop({ clock, turn, onError: deps.onError });
  return {
    ...loop,
    hint(agentId) {
      hinted.add(agentId);
      loop.wake();
    },
  };
}

function entryOf<Snapshot>(id: string, snapshot: Snapshot | undefined): [string, Snapshot][] {
  return snapshot ? [[id, snapshot]] : [];
}

function factsOf(snapshot: Seen | undefined): string {
  return JSON.stringify(snapshot);
}

function byName(one: Seen, other: Seen): number {
  const [a, b] = [one, other].map(({ record }) => `${record.agent_name}\0${record.agent_id}`);
  return (a ?? "") < (b ?? "") ? -1 : 1;
}
