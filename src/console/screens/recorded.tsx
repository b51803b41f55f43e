import { useEffect, useState } from "preact/hooks";
import { after, clockTime, exactTime, offerFile, parseTime } from "../browser/browser.ts";
import { loadCast, loadMoment, loadSpan, type PastMoment, type RecordedSpan } from "../client/recording.ts";
import { announce, go } from "../client/ui.ts";
import { ScreenRows } from "../parts/picture.tsx";
import { Failure, useLoaded } from "../parts/pieces.tsx";
import { count, words } from "../state/format.ts";
import { choiceOf, factsOf, verdictOf } from "../state/recorded.ts";
import { formatRoute } from "../state/route.ts";

/** A bar over the time that the recorder of an agent kept, and what was so at the chosen moment. */

const maxRows = 200;
/** While the bar is moved, a moment is asked for when it rests so long. */
const restMs = 150;
const minuteMs = 60_000;
const jumps = [
  { label: "−1 min", ms: -minuteMs },
  { label: "−1 s", ms: -1000 },
  { label: "+1 s", ms: 1000 },
  { label: "+1 min", ms: minuteMs },
];
const lengths = [
  { label: "1 minute", ms: minuteMs },
  { label: "10 minutes", ms: 10 * minuteMs },
  { label: "1 hour", ms: 60 * minuteMs },
];

export function Recorded({ agent, name, at }: { agent: string; name: string; at: number | null }) {
  const { value: span, failure, reload } = useLoaded(agent, 0, () => loadSpan(agent));
  if (failure !== null) {
    return (
      <p class="recorded quiet">
        Its gateway, which reads its recordings, does not answer: {failure}
        <button type="button" class="plain" onClick={reload}>
          Try again
        </button>
      </p>
    );
  }
  if (span === null) return null;
  return (
    <section class="recorded" aria-label="Recording">
      <Scrub agent={agent} at={at} span={span} />
      {at === null ? (
        <p class="quiet">Move the bar, or choose an event, to see what it showed and what held it up.</p>
      ) : (
        <Then agent={agent} name={name} at={at} />
      )}
    </section>
  );
}

/** The bar moves by itself, and the address follows when it rests. */
function Scrub({ agent, at, span }: { agent: string; at: number | null; span: RecordedSpan }) {
  const fromMs = Math.floor(span.fromMs);
  const toMs = Math.max(fromMs, span.toMs, at ?? 0);
  const within = (ms: number) => Math.round(Math.min(toMs, Math.max(fromMs, ms)));
  const [movedMs, setMoved] = useState<number | null>(null);
  const shownMs = movedMs ?? within(at ?? toMs);
  const choose = (ms: number) => go({ screen: "timeline", agent, at: within(ms) });
  useEffect(() => {
    if (movedMs === null) return undefined;
    return after(restMs, () => {
      setMoved(null);
      choose(movedMs);
    });
  }, [movedMs]);
  return (
    <div class="scrub">
      <h2>Recording</h2>
      <input
        type="range"
        aria-label="Recorded time"
        aria-valuetext={exactTime(shownMs)}
        min={fromMs}
        max={toMs}
        step={1}
        value={shownMs}
        onInput={(event) => setMoved(event.currentTarget.valueAsNumber)}
      />
      <span class="ends quiet">
        <span title={exactTime(fromMs)}>{clockTime(fromMs)}</span>
        <output title={exactTime(shownMs)}>{clockTime(shownMs)}</output>
        <span title={exactTime(toMs)}>{clockTime(toMs)}</span>
      </span>
      <span class="buttons">
        {jumps.map(({ label, ms }) => (
          <button key={label} type="button" onClick={() => choose(shownMs + ms)}>
            {label}
          </button>
        ))}
      </span>
    </div>
  );
}

function Then({ agent, name, at }: { agent: string; name: string; at: number }) {
  const { value, failure, reload } = useMoment(agent, at);
  if (failure !== null) return <Failure detail={failure} retry={reload} />;
  if (value === null) return null;
  const { moment } = value;
  return (
    <>
      {moment.recorded === "gap" ? (
        <p class="notice" role="status">
          Nothing was recorded then: {moment.gap}. What follows is from before.
        </p>
      ) : null}
      <div class="then">
        <PastScreen past={value} name={name} />
        <Facts agent={agent} past={value} />
      </div>
      <Download agent={agent} name={name} at={at} />
    </>
  );
}

/** The moment before stays until the next one is there. */
function useMoment(agent: string, at: number) {
  const [before, setBefore] = useState<PastMoment | null>(null);
  const loaded = useLoaded(`${agent} ${at}`, 0, () => loadMoment(agent, at));
  useEffect(() => {
    if (loaded.value !== null) setBefore(loaded.value);
  }, [loaded.value]);
  return { ...loaded, value: loaded.value ?? before };
}

function PastScreen({ past, name }: { past: PastMoment; name: string }) {
  const { screen } = past;
  const at = parseTime(past.moment.at_utc) ?? 0;
  return (
    <figure>
      <figcaption>
        {screen === null ? "Its screen is not recorded" : `Its screen at ${clockTime(at)}`}
      </figcaption>
      {screen === null ? null : (
        // A screen is wider than a phone: its keys scroll it.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <div class="still" role="img" aria-label={`The screen of ${name} at ${exactTime(at)}`} tabIndex={0}>
          <ScreenRows view={screen} max={maxRows} />
        </div>
      )}
    </figure>
  );
}

function Facts({ agent, past }: { agent: string; past: PastMoment }) {
  const { terminal, terminal_since_utc, decision, decision_since_utc, queue } = past.moment;
  return (
    <div>
      <h3>
        {verdictOf(terminal)} <MomentLink agent={agent} at={terminal_since_utc} />
      </h3>
      <ul class="facts" aria-label="Facts that a queued prompt asks for">
        {factsOf(terminal).map((fact) => (
          <li key={fact.name} class={fact.holds ? "holds" : "fails"}>
            <span class="mark">{fact.holds ? "holds" : "fails"}</span>
            <span>
              <code>
                {fact.name}={fact.value}
              </code>
              {fact.holds ? null : `, wanted ${fact.wanted}. ${fact.words ?? ""}`}
              {fact.kept ? <strong> It kept the agent from being ready.</strong> : null}
            </span>
          </li>
        ))}
      </ul>
      <h3>
        {count(queue.queue_depth, "request")} in the queue{" "}
        <MomentLink agent={agent} at={decision_since_utc} />
      </h3>
      <p>{choiceOf(decision)}</p>
      <ul>
        {queue.requests.map((request) => (
          <li key={request.request_id}>
            <code>{request.request_id}</code> {words(request.request_kind)}, {request.state}{" "}
            <MomentLink agent={agent} at={request.accepted_at_utc} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Since when something was so, as a link to that moment. */
function MomentLink({ agent, at }: { agent: string; at: string | null }) {
  const atMs = parseTime(at);
  if (atMs === null) return null;
  return (
    <a
      class="when"
      href={formatRoute({ screen: "timeline", agent, at: atMs })}
      title={`${exactTime(atMs)}: link to this moment`}
    >
      since {clockTime(atMs)}
    </a>
  );
}

function Download({ agent, name, at }: { agent: string; name: string; at: number }) {
  const [lengthMs, setLength] = useState(minuteMs);
  const [state, setState] = useState<"idle" | "busy" | { failure: string }>("idle");
  async function download(): Promise<void> {
    setState("busy");
    const answer = await loadCast(agent, { fromMs: at, untilMs: at + lengthMs });
    if (!answer.ok) return setState({ failure: `No recording was written. ${answer.detail}` });
    offerFile(`${name}-${new Date(at).toISOString().replaceAll(":", "")}.cast`, answer.value.cast);
    const early = "It ends early, because it became too large: svc replay --cast writes all of it.";
    setState(answer.value.whole ? "idle" : { failure: early });
    announce("The recording is downloaded");
  }
  return (
    <div class="download">
      <label>
        From this moment{" "}
        <select value={String(lengthMs)} onChange={(event) => setLength(Number(event.currentTarget.value))}>
          {lengths.map(({ label, ms }) => (
            <option key={label} value={String(ms)}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <button type="button" disabled={state === "busy"} onClick={() => void download()}>
        Download the asciicast
      </button>
      {typeof state === "object" ? <Failure detail={state.failure} /> : null}
    </div>
  );
}
