import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { exactTime, keepDraft, parseTime, recallDraft } from "../browser/browser.ts";
import type { Answer } from "../client/api.ts";
import { now } from "../client/store.ts";
import type { ConditionWords } from "../state/agents.ts";
import { duration, relative } from "../state/format.ts";

/** Small parts that every screen uses. */

/** A relative time with the exact one on hover. */
export function Ago({ at }: { at: string | number | null | undefined }) {
  const atMs = typeof at === "number" ? at : parseTime(at);
  if (atMs === null) return <span class="quiet">time not recorded</span>;
  return (
    <time class="ago" dateTime={typeof at === "string" ? at : undefined} title={exactTime(atMs)}>
      {relative(atMs, now.value)}
    </time>
  );
}

/** How long something lasts already. */
export function Since({ atMs }: { atMs: number }) {
  return <span title={`since ${exactTime(atMs)}`}>{duration(now.value - atMs)}</span>;
}

const shapes: Record<ConditionWords["kind"], string> = {
  waits: "M6 0 12 12 0 12Z",
  broken: "M1 1 11 11 M11 1 1 11",
  working: "M6 1A5 5 0 1 1 1 6",
  queued: "M1 3H11 M1 6H11 M1 9H7",
  idle: "M6 2A4 4 0 1 1 5.99 2Z",
  unknown: "M2 6H10",
  stopped: "M2 2H10V10H2Z",
};

/** A state by shape, colour and word. */
export function Condition({ condition }: { condition: ConditionWords }) {
  return (
    <span class={`condition ${condition.kind}`}>
      <svg class="shape" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        <path d={shapes[condition.kind]} />
      </svg>
      {condition.word}
    </span>
  );
}

export function Key({ children }: { children: ComponentChildren }) {
  return <kbd>{children}</kbd>;
}

/** `whole`: nothing else is on the screen, and a screen has one heading of the first level. */
export function Empty({
  title,
  whole = false,
  children,
}: {
  title: string;
  whole?: boolean;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      {whole ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children ? <p>{children}</p> : null}
    </div>
  );
}

export function Failure({ detail, retry }: { detail: string; retry?: () => void }) {
  return (
    <p class="failure" role="alert">
      {detail}
      {retry ? (
        <button type="button" class="plain" onClick={retry}>
          Try again
        </button>
      ) : null}
    </p>
  );
}

/** As `ref` of a field that a button opens: `autofocus` counts only while a page loads. */
export const focusWhenShown = (field: HTMLElement | null): void => field?.focus();

interface Loaded<T> {
  value: T | null;
  failure: string | null;
  reload: () => void;
}

/**
 * Loads something and loads it again when `key` or `revision` changes. What was loaded under the same key
 * stays until the newer one is there; an answer that is overtaken is dropped.
 */
export function useLoaded<T>(key: string, revision: number, load: () => Promise<Answer<T>>): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; failure: string | null }>({
    key,
    value: null,
    failure: null,
  });
  const [attempt, setAttempt] = useState(0);
  const newest = useRef(0);
  useEffect(() => {
    newest.current += 1;
    const mine = newest.current;
    void load().then((answer) => {
      if (mine !== newest.current) return;
      setState((before) =>
        answer.ok
          ? { key, value: answer.value, failure: null }
          : { key, value: before.key === key ? before.value : null, failure: answer.detail },
      );
    });
  }, [key, revision, attempt]);
  const current = state.key === key ? state : { value: null, failure: null };
  return { value: current.value, failure: current.failure, reload: () => setAttempt((count) => count + 1) };
}

/** The text of a field that outlives its form until it is sent. `name`: of the draft, within this tab. */
export function useDraft(name: string): [text: string, change: (text: string) => void] {
  const [text, setText] = useState(() => recallDraft(name));
  return [
    text,
    (next) => {
      keepDraft(name, next);
      setText(next);
    },
  ];
}

/** A screen whose code is loaded when it is first opened. Each has one, made once. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [ready, setReady] = useState(loaded !== null);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      // Another instance may have loaded it between this one's drawing and now.
      if (loaded !== null) setReady(true);
      else
        void load().then(
          (component) => {
            loaded = component;
            setReady(true);
          },
          () => setFailed(true),
        );
    }, []);
    if (failed)
      return (
        <Failure detail="This part could not be loaded. The server may have a newer version: load the page again." />
      );
    const Component = loaded;
    return ready && Component !== null ? <Component {...props} /> : null;
  };
}
