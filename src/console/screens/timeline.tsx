import { useEffect, useRef, useState } from "preact/hooks";
import { clockTime, exactTime } from "../browser.ts";
import { Empty } from "../parts/pieces.tsx";
import { nameOf } from "../state/agents.ts";
import { count } from "../state/format.ts";
import { type Moment, toSeries, toSpans } from "../state/history.ts";
import { formatRoute } from "../state/route.ts";
import { agents, moments, now, pastEvents, rows } from "../store.ts";
import { go } from "../ui.ts";

const mostShown = 400;
const buckets = 120;
const leastPeriodMs = 60_000;

/** What happened at one or all agents since the server keeps events, each moment with a link. */
export function Timeline({ agent, at }: { agent: string | null; at: number | null }) {
  const own = moments.value.filter((moment) => agent === null || moment.agentId === agent);
  const shown = (at === null ? own : own.filter(({ atMs }) => atMs <= at + 1_000))
    .slice(-mostShown)
    .toReversed();
  const chosen = at === null ? undefined : shown.find(({ atMs }) => atMs <= at + 999);
  return (
    <div class="timeline">
      <header>
        <h1>Timeline</h1>
        <p class="quiet">{count(own.length, "event")}</p>
        <select
          aria-label="Agent"
          value={agent ?? ""}
          onChange={(event) => go({ screen: "timeline", agent: event.currentTarget.value || null, at: null })}
        >
          <option value="">All agents</option>
          {rows.value.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
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
        <Empty title="No event yet">What happens at your agents from now on is listed here.</Empty>
      ) : null}
      {own.length === 0 ? null : <Chart agent={agent} at={at} />}
      <ol class="moments" aria-label="Events, newest first">
        {shown.map((moment) => (
          <li key={moment.key} class={`${moment.tone} ${moment === chosen ? "chosen" : ""}`}>
            <Line moment={moment} agent={agent} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function Line({ moment, agent }: { moment: Moment; agent: string | null }) {
  const view = moment.agentId === null ? undefined : agents.value.get(moment.agentId);
  return (
    <>
      <a
        class="when"
        href={formatRoute({ screen: "timeline", agent, at: moment.atMs })}
        title={`${exactTime(moment.atMs)}: link to this moment`}
      >
        {clockTime(moment.atMs)}
      </a>
      {moment.agentId === null || agent !== null ? null : (
        <a class="agent" href={formatRoute({ screen: "agent", agent: moment.agentId, tab: "terminal" })}>
          {view ? nameOf(view.identity) : (moment.agentName ?? moment.agentId)}
        </a>
      )}
      <span class="what">{moment.text}</span>
    </>
  );
}

/** How many turns ran and how many agents waited for a person, over the time that is known. */
function Chart({ agent, at }: { agent: string | null; at: number | null }) {
  const box = useRef<HTMLDivElement>(null);
  const draw = useRef<((data: ReturnType<typeof toSeries>, marked: number | null) => void) | null>(null);
  const [ready, setReady] = useState(false);
  const events = pastEvents.value.filter(({ agentId }) => agent === null || agentId === agent);
  const toMs = now.value;
  const fromMs = Math.min(events[0]?.atMs ?? toMs, toMs - leastPeriodMs);
  useEffect(() => {
    let wanted = true;
    let end = () => {};
    void import("../chart.ts").then(({ openChart }) => {
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
    draw.current?.(toSeries(toSpans(events).values(), { fromMs, toMs }, buckets), at);
  }, [ready, events.length, toMs, at]);
  return (
    <div
      ref={box}
      class="chart"
      role="img"
      aria-label="Turns that ran and agents that waited for a person, over time"
    />
  );
}
