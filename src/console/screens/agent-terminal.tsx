import { useEffect, useRef, useState } from "preact/hooks";
import { recall, remember } from "../browser/browser.ts";
import { followScreens, screenOf } from "../client/screens-stream.ts";
import { announce } from "../client/ui.ts";
import { Picture } from "../parts/picture.tsx";
import { Ago, Failure } from "../parts/pieces.tsx";
import type { LiveTerminal, TerminalState } from "../parts/terminal.ts";

const maxRows = 200;
/** The live terminal: read only until the reader takes the typing lease. */
export function AgentTerminal({ id, name }: { id: string; name: string }) {
  const box = useRef<HTMLDivElement>(null);
  const live = useRef<LiveTerminal | null>(null);
  const [state, setState] = useState(notYet);
  useEffect(() => {
    let wanted = true;
    void import("../parts/terminal.ts").then(({ openTerminal }) => {
      if (wanted && box.current !== null) live.current = openTerminal(box.current, id, notYet, setState);
    });
    return () => {
      wanted = false;
      live.current?.close();
      live.current = null;
    };
  }, [id]);
  return (
    <div class={`terminal ${state.mine ? "typing" : ""} ${state.ended === null ? "" : "past"}`}>
      <LeaseBar state={state} name={name} live={() => live.current} />
      {state.refused ? <Failure detail={state.refused} /> : null}
      {state.ended ? (
        <p class="lost" role="status">
          {state.ended} {state.hasPicture ? "This picture is from before. " : ""}Trying again by itself.
        </p>
      ) : null}
      {state.lostTyping ? (
        <p class="notice" role="status">
          The connection broke while you typed. What you typed since did not arrive.
        </p>
      ) : null}
      {state.hasPicture ? null : <StillScreen id={id} />}
      <div ref={box} class="xterm-box" hidden={!state.hasPicture} />
    </div>
  );
}

const notYet: TerminalState = {
  ended: "",
  hasPicture: false,
  lease: null,
  mine: false,
  lostTyping: false,
  refused: null,
};

/** What the terminal shows, read only, while there is no live one. */
function StillScreen({ id }: { id: string }) {
  useEffect(() => followScreens([id]), [id]);
  const { rows, absent } = screenOf(id).value;
  if (rows.size === 0 && absent === null) return null;
  return (
    <div class="still">
      <Picture id={id} max={maxRows} />
    </div>
  );
}

function LeaseBar({
  state,
  name,
  live,
}: {
  state: TerminalState;
  name: string;
  live: () => LiveTerminal | null;
}) {
  const [holder, setHolder] = useState(recall("holder") ?? "");
  const take = (takeOver: boolean) => {
    const as = holder.trim() === "" ? "a person at the console" : holder.trim();
    remember("holder", holder.trim());
    live()?.takeLease(as, takeOver);
    announce(`You ask to type into the terminal of ${name}.`);
  };
  if (state.mine && state.lease)
    return (
      <div class="lease mine" role="status">
        <span>
          <strong>You type.</strong> The queue of {name} waits. Without a key it ends by itself{" "}
          <Ago at={state.lease.until_utc} />.
        </span>
        <button type="button" onClick={() => live()?.releaseLease()}>
          Stop typing
        </button>
      </div>
    );
  return (
    <div class="lease">
      {state.lease ? (
        <span>
          <strong>{state.lease.holder}</strong> types since <Ago at={state.lease.since_utc} />. The queue
          waits.
        </span>
      ) : (
        <span>Read only. Typing takes a lease: the queue waits while you have it.</span>
      )}
      <span class="take">
        <input
          aria-label="Your name"
          placeholder="Your name"
          value={holder}
          onInput={(event) => setHolder(event.currentTarget.value)}
        />
        <button type="button" disabled={state.ended !== null} onClick={() => take(state.lease !== null)}>
          {state.lease ? "Take back" : "Type"}
        </button>
      </span>
    </div>
  );
}
