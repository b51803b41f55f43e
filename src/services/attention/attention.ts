import type {
  AttentionAnswered,
  AttentionAnswerRequest,
  AttentionEvent,
  AttentionItem,
  AttentionList,
  AttentionQuery,
} from "../../protocol/attention.ts";
import type { Advise } from "../../protocol/remedy.ts";
import { maxListed } from "../../protocol/wire.ts";
import { type Clock, timestampNow, withinTime } from "../../system/clock.ts";
import { messageOf, runStep, stepError } from "../../system/errors.ts";
import { createLoop, orAborted } from "../../system/lifecycle.ts";
import { askEach } from "../fleet/ask-each.ts";
import { type AttentionFacts, unusableFacts } from "../fleet/attention-facts.ts";
import type { Directory, KnownAgent } from "../fleet/directory.ts";
import type { FleetEvents } from "../fleet/fleet-events.ts";
import { createFleetWatch } from "../fleet/fleet-watch.ts";
import type { Answer, GatewayClient } from "../fleet/gateway-client.ts";
import { isRunning } from "../sessions/find.ts";
import { movedOn, sendAnswer } from "./answer.ts";
import { decideAttention, filterAttention } from "./decide.ts";
import type { PeopleMail, PersonMail } from "./people-mail.ts";

export type AttentionStreamItem = { item: "event"; event: AttentionEvent } | { item: "heartbeat" };

/** What waits for a person, over all agents that run, and the unread mail of people. */
export type Attention = ReturnType<typeof createAttention>;

interface AttentionDeps {
  directory: Pick<Directory, "agents" | "resolve">;
  /** `sinceMs`: by the monotonic clock; a look that somebody began since then will do. */
  look: (agent: KnownAgent, sinceMs: number) => Promise<AttentionFacts>;
  /** The client of the agent's live gateway; throws `unavailable` without one. */
  gatewayOf: (agent: KnownAgent) => Promise<Pick<GatewayClient, "call">>;
  events: Pick<FleetEvents, "follow">;
  people: PeopleMail;
  /** How remedies are worded. */
  advise: Advise;
  clock: Clock;
  onError: (error: unknown) => void;
}

const deadlineMs = 1500;
const heartbeatMs = 15_000;
const mailPollIntervalMs = 5000;
/** How long a reader that is expected is looked for. */
const expectedMs = 10_000;

const runs = ({ record }: KnownAgent) => isRunning(record);

/** What looks at all agents, for those who follow. */
interface Watch {
  /** What waits; null before the first look at all agents and the first reading of mail. */
  items: AttentionItem[] | null;
  end: () => Promise<void>;
}

/**
 * Looks at agents only while somebody asks, follows or is about to follow. `watching`:
 *
 * ```
 *   null ──a reader follows or is expected──> items null ──first look──> items
 *     ^                                          │                        │
 *     └───────the last reader left, or none came in time──────────────────┘
 * ```
 *
 * A reader that is expected while nobody follows gets a new watch, for what another saw may be seconds old.
 */
export function createAttention(deps: AttentionDeps) {
  const { directory, clock } = deps;
  /** Which agent an item that was listed is of. */
  const owners = new Map<string, string>();
  const readers = new Set<() => void>();
  /** Of those who wait for the first list. */
  const waiting: (() => void)[] = [];
  const closed = new AbortController();
  let watching: Watch | null = null;
  let cancelExpected: (() => void) | null = null;
  const waitingItems = () => watching?.items ?? null;

  function silent(agent: KnownAgent, why: string): AttentionFacts {
    return {
      ...unusableFacts(agent.record, { state: "refused", why: "" }),
      unusable: null,
      session: "alive",
      gateway: { state: "silent", why },
    };
  }

  function lookAt(agents: readonly KnownAgent[]): Promise<AttentionFacts[]> {
    const sinceMs = clock.monotonicMs();
    return askEach(agents, {
      clock,
      eachMs: deadlineMs,
      async ask(agent) {
        try {
          return await deps.look(agent, sinceMs);
        } catch (error) {
          return silent(agent, messageOf(error));
        }
      },
      late: (agent) => silent(agent, `no answer within ${deadlineMs / 1000} s`),
    });
  }

  function itemsOf(facts: readonly AttentionFacts[], mail: readonly PersonMail[] = []): AttentionItem[] {
    const items = decideAttention(deps.advise, facts, clock.nowMs(), mail).slice(0, maxListed);
    for (const { id, agent_id, kind } of items)
      if (agent_id !== null && kind !== "mail") owners.set(id, agent_id);
    while (owners.size > maxListed) owners.delete(owners.keys().next().value ?? "");
    return items;
  }

  /** What runs now under this id; the item may have been listed by an earlier server. */
  async function find(
    id: string,
  ): Promise<{ agent: KnownAgent; item: AttentionItem; facts: AttentionFacts }> {
    const owner = owners.get(id);
    const agents = directory.agents().filter(runs);
    const wanted = agents.filter(({ record }) => owner === undefined || record.agent_id === owner);
    for (const [index, facts] of (await lookAt(wanted)).entries()) {
      const item = itemsOf([facts]).find((one) => one.id === id);
      const agent = wanted[index];
      if (item && agent) return { agent, item, facts };
    }
    throw movedOn(id);
  }

  function startWatching(): Watch {
    const over = new AbortController();
    let facts: AttentionFacts[] | null = null;
    let mail: PersonMail[] | null = null;
    const firstLook = Promise.withResolvers<void>();
    const show = () => {
      if (facts !== null) firstLook.resolve();
      if (facts === null || mail === null) return;
      watch.items = itemsOf(facts, mail);
      for (const wake of [...readers, ...waiting.splice(0)]) wake();
    };
    const mailLoop = createLoop({
      clock,
      onError: deps.onError,
      async turn(signal) {
        const unread = await runStep("mail of people", deps.people.unread);
        if (!signal.aborted && JSON.stringify(unread) !== JSON.stringify(mail)) {
          mail = unread;
          show();
        }
        return mailPollIntervalMs;
      },
    });
    const fleet = createFleetWatch<{ record: KnownAgent["record"]; facts: AttentionFacts }>({
      directory,
      clock,
      onError: deps.onError,
      async look(agents) {
        const facts = await lookAt(agents);
        return agents.flatMap(({ record }, index) => {
          const found = facts[index];
          return found ? [{ record, facts: found }] : [];
        });
      },
      async onChange({ snapshots }) {
        facts = snapshots.map((snapshot) => snapshot.facts);
        show();
      },
    });
    const hints = (async () => {
      // A connection to each gateway: the first look, for which somebody waits, comes before them.
      await orAborted(firstLook.promise, over.signal);
      for await (const { item, ...rest } of deps.events.follow({ after: null, signal: over.signal })) {
        const id = item === "event" && "event" in rest ? rest.event.agent_id : null;
        if (id !== null) fleet.hint(id);
      }
    })().catch((error) => deps.onError(stepError("events of agents", error)));
    const watch: Watch = {
      items: null,
      async end() {
        over.abort();
        await Promise.all([fleet.stop(), mailLoop.stop(), hints]);
      },
    };
    fleet.start();
    mailLoop.start();
    return watch;
  }

  async function endWatching(): Promise<void> {
    const ended = watching;
    watching = null;
    await ended?.end();
  }

  const failToEnd = (error: unknown) => deps.onError(stepError("end of a watch", error));

  function endExpectation(): void {
    cancelExpected?.();
    cancelExpected = null;
  }

  /** What was seen for an earlier reader may be seconds old: an expected one gets a new look. */
  function lookForExpected(): void {
    const isUnderWay = watching !== null && waitingItems() === null;
    if (readers.size > 0 || cancelExpected === null || isUnderWay) return;
    endWatching().catch(failToEnd);
    watching = startWatching();
  }

  function expectReader(): void {
    if (closed.signal.aborted) return;
    endExpectation();
    cancelExpected = clock.after(expectedMs, () => {
      cancelExpected = null;
      if (readers.size === 0) endWatching().catch(failToEnd);
    });
    lookForExpected();
  }

  function event(kind: AttentionEvent["kind"], items: AttentionItem[]): AttentionStreamItem {
    return { item: "event", event: { kind, at_utc: timestampNow(clock), items } };
  }

  return {
    /** Looked at now. Throws `not_found` and `ambiguous` for the agent of the query. */
    async list({ agent, kind }: AttentionQuery): Promise<AttentionList> {
      const only = agent === undefined ? null : new Set([directory.resolve(agent).record.agent_id]);
      const wanted = directory
        .agents()
        .filter((one) => runs(one) && (only?.has(one.record.agent_id) ?? true));
      const [facts, mail] = await Promise.all([lookAt(wanted), deps.people.unread()]);
      const items = itemsOf(facts, mail);
      return { schema_version: 1, items: filterAttention(items, { ...(kind ? { kind } : {}) }, only) };
    },
    /** What a reader that begins to follow now is given first. Never rejects. */
    async firstList(): Promise<AttentionItem[]> {
      if (watching === null) expectReader();
      while (waitingItems() === null && !closed.signal.aborted) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      }
      return waitingItems() ?? [];
    },
    /**
     * Everything that waits, then what changes, and a heartbeat in each silent span of 15 s, until `signal`
     * aborts. Reading slowly costs nothing: what came and went meanwhile is left out.
     */
    async *follow(options: { signal: AbortSignal }): AsyncGenerator<AttentionStreamItem> {
      const signal = AbortSignal.any([options.signal, closed.signal]);
      let wake = () => {};
      const rouse = () => wake();
      endExpectation();
      readers.add(rouse);
      watching ??= startWatching();
      let before: Map<string, AttentionItem> | null = null;
      try {
        while (!signal.aborted) {
          const woken = new Promise<true>((resolve) => {
            wake = () => resolve(true);
          });
          const now = waitingItems();
          if (now !== null) {
            const changes =
              before === null
                ? [event("attention_list", now)]
                : changesBetween(before, now).map(({ kind, item }) => event(kind, [item]));
            before = new Map(now.map((item) => [item.id, item]));
            yield* changes;
            if (waitingItems() !== now) continue;
          }
          const some = await withinTime(clock, heartbeatMs, woken, signal);
          if (some === null && !signal.aborted) yield { item: "heartbeat" };
        }
      } finally {
        readers.delete(rouse);
        if (readers.size === 0) {
          await endWatching();
          // A page that is loaded again leaves once its successor has come.
          if (watching === null) lookForExpected();
        }
      }
    },
    /**
     * Begins to look for a reader that is about to follow: it then waits less for its first list. Idempotent.
     */
    expectReader,
    /**
     * Answers a question through its agent's gateway. Throws `precondition_failed` when nothing waits under
     * this id now, `invalid_request` for an answer that the item does not have; nothing is pressed then.
     */
    async answer(id: string, given: AttentionAnswerRequest): Promise<Answer<AttentionAnswered>> {
      if (id.startsWith("mail-")) {
        const mail = itemsOf([], await deps.people.unread()).find((one) => one.id === id);
        if (!mail) throw movedOn(id);
        return sendAnswer({ item: mail, decision: null }, given, () => Promise.reject(movedOn(id)));
      }
      const { agent, item, facts } = await find(id);
      return sendAnswer({ item, decision: facts.decision }, given, () => deps.gatewayOf(agent));
    },
    async stop(): Promise<void> {
      closed.abort();
      for (const wake of waiting.splice(0)) wake();
      endExpectation();
      await endWatching();
    },
  };
}

interface Change {
  kind: AttentionEvent["kind"];
  item: AttentionItem;
}

/** What is news to a reader that saw `before`. Ages grow by themselves. Pure. */
function changesBetween(before: ReadonlyMap<string, AttentionItem>, now: readonly AttentionItem[]): Change[] {
  const text = (item: AttentionItem) => JSON.stringify({ ...item, age_seconds: null });
  const still = new Set(now.map(({ id }) => id));
  const gone = [...before.values()].filter(({ id }) => !still.has(id));
  const changes: Change[] = gone.map((item) => ({ kind: "attention_gone", item }));
  for (const item of now) {
    const old = before.get(item.id);
    if (old === undefined) changes.push({ kind: "attention_added", item });
    else if (text(old) !== text(item)) changes.push({ kind: "attention_changed", item });
  }
  return changes;
}
