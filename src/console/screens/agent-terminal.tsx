import { useEffect, useRef, useState } from "preact/hooks";
import { recall, remember } from "../browser.ts";
import { Picture } from "../parts/picture.tsx";
import { Ago, Failure } from "../parts/pieces.tsx";
import { followScreens } from "../screens-stream.ts";
import type { LiveTerminal, TerminalState } from "../terminal.ts";
import { announce } from "../ui.ts";

const maxRows = 200;

/** The live terminal: read only until the reader takes the typing lease. */
export function AgentTerminal({ id, name }: { id: string; name: string }) {
  const box = useRef<HTMLDivElement>(null);
  const live = useRef<LiveTerminal | null>(null);
  const [state, setState] = useState<TerminalState>({
    ended: "Connecting…",
    lease: null,
    mine: false,
    refused: null,
  });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let wanted = true;
    void import("../terminal.ts").then(({ openTerminal }) => {
      if (wanted && box.current !== null) live.current = openTerminal(box.current, id, setState);
    });
    return () => {
      wanted = false;
      live.current?.close();
      live.current = null;
    };
  }, [id, attempt]);
  return (
    <div class={`terminal ${state.mine ? "typing" : ""}`}>
      <LeaseBar state={state} name={name} live={() => live.current} />
      {state.refused ? <Failure detail={state.refused} /> : null}
      {state.ended === null ? null : (
        <p class="lost" role="status">
          {state.ended}{" "}
          <button type="button" class="plain" onClick={() => setAttempt(attempt + 1)}>
            Connect again
          </button>
        </p>
      )}
      {state.ended === null ? null : <StillScreen id={id} />}
      <div ref={box} class="xterm-box" hidden={state.ended !== null} />
    </div>
  );
}

/** What the terminal shows, read only, while there is no live one. */
function StillScreen({ id }: { id: string }) {
  useEffect(() => followScreens([id]), [id]);
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
        <strong>You type.</strong> The queue of {name} waits. Ends by itself{" "}
        <Ago at={state.lease.until_utc} />.
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
        <button type="button" onClick={() => take(state.lease !== null)}>
          {state.lease ? "Take back" : "Type"}
        </button>
      </span>
    </div>
  );
}
