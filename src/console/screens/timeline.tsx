import { useEffect, useRef, useState } from "preact/hooks";
import { clockTime, exactTime } from "../browser/browser.ts";
import { agents } from "../client/fleet.ts";
import { followLog, now, pastEvents, rows } from "../client/store.ts";
import { go } from "../client/ui.ts";
import { Empty, lazy } from "../parts/pieces.tsx";
import { nameOf } from "../state/agents.ts";
import { brief, count } from "../state/format.ts";
import {
  addEvents,
  type PastEvent,
  type Series,
  toMoment,
  toSeries,
  toSpans,
  toSpent,
} from "../state/history.ts";
import { formatRoute } from "../state/route.ts";

const Recorded = lazy(async () => (await import("./recorded.tsx")).Recorded);

const maxShown = 400;
const buckets = 120;
const leastPeriodMs = 60_000;

/**
 * What happened at all agents since the page was opened, or at one since its log began; each moment has a
 * link.
 */
export function Timeline({ agent, at }: { agent: string | null; at: number | null }) {
  const [log, setLog] = useState<readonly PastEvent[]>([]);
  useEffect(() => {
    setLog([]);
    return agent === null
      ? undefined
      : followLog(agent, (events) => setLog((before) => addEvents(before, events)));
  }, [agent]);
  const own = agent === null ? pastEvents.value : log;
  const until = at === null ? own : own.filter(({ atMs }) => atMs <= at + 999);
  const spent = toSpent(until).reduce((sum, { tokens }) => sum + tokens, 0);
  const shown = until.slice(-maxShown).toReversed();
  return (
    <div class="timeline">
      <header>
        <h1>Timeline</h1>
        <p class="quiet">
          {count(until.length, "event")}
          {spent > 0 ? `, ${brief(spent)} tokens` : ""}
        </p>
        <select
          aria-label="Agent"
          value={agent ?? ""}
          onChange={(event) => go({ screen: "timeline", agent: event.currentTarget.value || null, at: null })}
        >
          <option value="">All agents, since this page was opened</option>
          {rows.value.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}, its whole log
            </option>
          ))}
        </select>
        {at === null ? null : (
          <a class="button" href={formatRoute({ screen: "timeline", agent, at: null })}>
            Back to now
          </a>
        )}
      </header>
      {own.length === 0 ? (
        <Empty title="No event yet">
          What happens from now on is listed here. Choose an agent to see its log.
        </Empty>
      ) : (
        <Chart events={own} agent={agent} at={at} />
      )}
      {agent === null ? null : <Recorded agent={agent} name={nameFor(agent)} at={at} />}
      <ol class="moments" aria-label="Events, newest first">
        {shown.map((past, index) => (
          <Line key={past.key} past={past} agent={agent} chosen={at !== null && index === 0} />
        ))}
      </ol>
    </div>
  );
}

function nameFor(agent: string): string {
  const view = agents.value.get(agent);
  return view ? nameOf(view.identity) : agent;
}

function Line({ past, agent, chosen }: { past: PastEvent; agent: string | null; chosen: boolean }) {
  const { atMs, agentId, event } = past;
  const view = agentId === null ? undefined : agents.value.get(agentId);
  const { text, tone, detail } = toMoment(event);
  return (
    <li class={`${tone} ${chosen ? "chosen" : ""}`}>
      <a
        class="when"
        href={formatRoute({ screen: "timeline", agent, at: atMs })}
        title={`${exactTime(atMs)}: link to this moment`}
      >
        {clockTime(atMs)}
      </a>
      {agentId === null || agent !== null ? null : (
        <a class="agent" href={formatRoute({ screen: "agent", agent: agentId, tab: "terminal" })}>
          {view ? nameOf(view.identity) : (event.agent_name ?? agentId)}
        </a>
      )}
      <span class="what" title={detail}>
        {text}
      </span>
    </li>
  );
}

/** How many turns ran, how many agents waited for a person, and the tokens, over the time that is known. */
function Chart({
  events,
  agent,
  at,
}: {
  events: readonly PastEvent[];
  agent: string | null;
  at: number | null;
}) {
  const box = useRef<HTMLDivElement>(null);
  const draw = useRef<((data: Series, marked: number | null) => void) | null>(null);
  const [ready, setReady] = useState(false);
  const toMs = now.value;
  const fromMs = Math.min(events[0]?.atMs ?? toMs, toMs - leastPeriodMs);
  useEffect(() => {
    let wanted = true;
    let end = () => {};
    void import("../parts/chart.ts").then(({ openChart }) => {
      if (!wanted || box.current === null) return;
      const chart = openChart(box.current, (atMs) => go({ screen: "timeline", agent, at: Math.round(atMs) }));
      draw.current = chart.draw;
      end = chart.close;
      setReady(true);
    });
    return () => {
      wanted = false;
      draw.current = null;
      end();
    };
  }, [agent]);
  useEffect(() => {
    const history = { spans: toSpans(events).values(), spent: toSpent(events) };
    draw.current?.(toSeries(history, { fromMs, toMs }, buckets), at);
  }, [ready, events.length, toMs, at]);
  return (
    <div
      ref={box}
      class="chart"
      role="img"
      aria-label="Turns that ran, agents that waited for a person, and tokens, over time"
    />
  );
}
