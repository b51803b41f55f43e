import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AttentionItem } from "../../protocol/attention.ts";
import { clockTime, nowMs } from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { call } from "../client/api.ts";
import { agents } from "../client/fleet.ts";
import { followScreens, screenOf } from "../client/screens-stream.ts";
import { inbox } from "../client/store.ts";
import { announce, replaceRoute, route } from "../client/ui.ts";
import { Picture } from "../parts/picture.tsx";
import { Ago, Empty, Key } from "../parts/pieces.tsx";
import { clip, count, words } from "../state/format.ts";
import { hold, identical, neighbour, reveal } from "../state/inbox.ts";
import { formatRoute } from "../state/route.ts";

/** The option that is marked, by item: Enter sends it. */
const marked = signal<{ item: string; answer: string } | null>(null);
const all = signal(false);
const sending = signal(false);

interface Receipt {
  item: string;
  ok: boolean;
  text: string;
}
/** What was answered on this page, by item. */
const answered = new Map<string, string>();

/** What came of the last answer. */
const receipt = signal<Receipt | null>(null);

const selectedId = (): string | null => (route.value.screen === "needs-you" ? route.value.item : null);

/** The item on the right: the selected one, the one that is there already, or the first that waits. */
function current(): AttentionItem | null {
  const shown = inbox.value.shown ?? [];
  const { gone, held } = inbox.value;
  const find = (wanted: string | null) => shown.find(({ id }) => id === wanted);
  return find(selectedId()) ?? find(held) ?? shown.find(({ id }) => !gone.has(id)) ?? null;
}

function select(item: string): void {
  if (item !== marked.value?.item) marked.value = null;
  if (item !== selectedId()) all.value = false;
  replaceRoute({ screen: "needs-you", item });
}

function move(step: number): void {
  const next = neighbour(inbox.value, current()?.id ?? null, step);
  if (next !== null) select(next);
}

/** Keys of this screen. True when it took the key. */
export function takeNeedsYouKey(key: string): boolean {
  const item = current();
  if (key === "j" || key === "ArrowDown") move(1);
  else if (key === "k" || key === "ArrowUp") move(-1);
  else if (key === ".") revealAll();
  else if (key === "a" && item && identical(inbox.value, item).length > 0) all.value = !all.value;
  else if (/^[1-9]$/.test(key) && item) mark(item, Number(key) - 1);
  else if (key === "Enter" && item && marked.value?.item === item.id) void send(item);
  else return false;
  return true;
}

const whoOf = ({ agent_name, address }: AttentionItem): string => agent_name ?? address ?? "?";

function mark(item: AttentionItem, index: number): void {
  const option = item.answers[index];
  if (option === undefined) return;
  if (inbox.value.gone.has(item.id)) {
    announce("This waits no more.");
    return;
  }
  select(item.id);
  marked.value = { item: item.id, answer: option.answer };
  announce(`${option.label} is marked. Enter sends it.`);
}

function revealAll(): void {
  const kept = current();
  inbox.value = reveal(inbox.value);
  // Who reads the list alone, as on a phone, stays there.
  if (selectedId() !== null && kept && inbox.value.shown?.some(({ id }) => id === kept.id)) select(kept.id);
}

async function send(item: AttentionItem): Promise<void> {
  const answer = marked.value?.answer;
  if (answer === undefined || sending.value) return;
  const label = item.answers.find((one) => one.answer === answer)?.label ?? answer;
  const targets = [item, ...(all.value ? identical(inbox.value, item) : [])];
  sending.value = true;
  const done: string[] = [];
  const failed: string[] = [];
  for (const target of targets) {
    const body = { answer, ...(target.epoch === null ? {} : { epoch: target.epoch }) };
    const sent = await call("answerAttention", { params: { attention_id: target.id }, body });
    if (sent.ok) {
      done.push(whoOf(target));
      answered.set(target.id, `You answered “${label}” at ${clockTime(nowMs())}.`);
    } else if (sent.why === "stale") failed.push(`${whoOf(target)}: nothing was pressed. ${sent.detail}`);
    else failed.push(`${whoOf(target)}: ${sent.detail}`);
  }
  sending.value = false;
  marked.value = null;
  all.value = false;
  const text = [
    ...(done.length > 0
      ? [
          `Answered “${label}” for ${done.join(", ")} at ${clockTime(nowMs())}. The gateway read the same question before it pressed the keys.`,
        ]
      : []),
    ...failed,
  ].join(" ");
  receipt.value = { item: item.id, ok: failed.length === 0, text };
  announce(text);
  // Who went elsewhere meanwhile stays there.
  if (failed.length === 0 && route.value.screen === "needs-you" && current()?.id === item.id) leave(item.id);
}

/** What was answered makes room for the next one, or for whatever comes. */
function leave(id: string): void {
  const next = nextOpen(id);
  if (next !== null) {
    select(next);
    return;
  }
  inbox.value = hold(inbox.value, null);
  replaceRoute({ screen: "needs-you", item: null });
}

const nextOpen = (id: string): string | null => {
  const shown = inbox.value.shown ?? [];
  const at = shown.findIndex((item) => item.id === id);
  const open = [...shown.slice(at + 1), ...shown.slice(0, at)].find((item) => !inbox.value.gone.has(item.id));
  return open?.id ?? null;
};

export function NeedsYou() {
  const { shown, arrived, gone } = inbox.value;
  const item = current();
  // A link to an item that arrived while another list was shown: the reader asks for it.
  const isAwaited = arrived.some(({ id }) => id === selectedId());
  useEffect(() => {
    if (isAwaited) inbox.value = reveal(inbox.value);
  }, [isAwaited]);
  const id = item?.id ?? null;
  useEffect(() => {
    inbox.value = hold(inbox.value, id);
  }, [id]);
  useEffect(
    () => () => {
      inbox.value = hold(inbox.value, null);
    },
    [],
  );
  if (shown === null) return <Empty title="Looking at your agents…" whole />;
  return (
    <div class={`needs-you ${selectedId() === null ? "" : "chosen"}`}>
      {/* On a phone the list makes room for the item, and the page keeps its heading. */}
      <h1 class="hidden">Needs you</h1>
      <section class="list" aria-label="What needs you">
        <header>
          <h2 class="title">Needs you</h2>
          {arrived.length > 0 ? (
            <button type="button" class="arrived" onClick={revealAll}>
              {arrived.length} new <Key>.</Key>
            </button>
          ) : null}
        </header>
        {shown.length === 0 ? null : (
          <ul>
            {shown.map((one) => (
              <li key={one.id}>
                <Line item={one} selected={one.id === item?.id} gone={gone.has(one.id)} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <section class="item" aria-label="The selected item">
        {receipt.value === null ? null : (
          <p class={receipt.value.ok ? "receipt done" : "receipt failed"}>{receipt.value.text}</p>
        )}
        {item === null ? <Nobody /> : <Item key={item.id} item={item} gone={gone.has(item.id)} />}
      </section>
    </div>
  );
}

function Nobody() {
  const { emptySinceMs } = inbox.value;
  return (
    <div class="empty">
      <h2>Nobody waits for you</h2>
      <p>
        {emptySinceMs === null ? null : (
          <>
            Since <Ago at={emptySinceMs} />, as far as this page has seen.{" "}
          </>
        )}
        {atGateway ? (
          <a href="#/agents">Back to the agent</a>
        ) : (
          <>
            {count(agents.value.size, "agent")} {agents.value.size === 1 ? "is" : "are"} on the{" "}
            <a href="#/wall">wall</a>.
          </>
        )}
      </p>
    </div>
  );
}

function Line({ item, selected, gone }: { item: AttentionItem; selected: boolean; gone: boolean }) {
  return (
    <a
      class={`line ${toneOf(item)} ${gone ? "gone" : ""}`}
      href={formatRoute({ screen: "needs-you", item: item.id })}
      aria-current={selected ? "true" : undefined}
    >
      <span class="who">
        {whoOf(item)}
        <Ago at={item.since_utc} />
      </span>
      <span class="what">{gone ? "waits no more" : clip(item.question || item.reason, 140)}</span>
      <span class="kind">{words(item.kind)}</span>
    </a>
  );
}

const toneOf = ({ kind }: AttentionItem): string =>
  ["question", "permission", "usage_limit", "draft", "mail"].includes(kind) ? "waits" : "broken";

function Item({ item, gone }: { item: AttentionItem; gone: boolean }) {
  const same = identical(inbox.value, item);
  const choice = item.answers.find(
    ({ answer }) => marked.value?.item === item.id && answer === marked.value.answer,
  );
  useEffect(() => {
    announce(`${whoOf(item)}: ${item.question || item.reason}`);
  }, [item.id]);
  return (
    <article class={gone ? "gone" : ""}>
      <header>
        <a class="back" href="#/needs-you">
          All
        </a>
        <span class={`tag ${toneOf(item)}`}>{words(item.kind)}</span>
        {item.agent_id === null ? (
          <span class="agent">{whoOf(item)}</span>
        ) : (
          <a class="agent" href={formatRoute({ screen: "agent", agent: item.agent_id, tab: "terminal" })}>
            {whoOf(item)}
          </a>
        )}
        <Ago at={item.since_utc} />
      </header>
      <h2>{item.question || item.reason}</h2>
      {item.subject === null || item.subject.text === item.question ? null : (
        <div class="subject">
          {item.subject.action ? <span>{item.subject.action}</span> : null}
          {item.subject.text ? <code>{item.subject.text}</code> : null}
        </div>
      )}
      {gone ? (
        <p class="notice">
          This waits no more. {answered.get(item.id) ?? "It was answered elsewhere, or the agent went on."}{" "}
          {nextOpen(item.id) === null ? (
            "Nobody else waits."
          ) : (
            <button type="button" class="plain" onClick={() => leave(item.id)}>
              Show the next one
            </button>
          )}
        </p>
      ) : null}
      {item.answers.length > 0 && !gone ? (
        <fieldset class="answers">
          <legend class="hidden">Answers</legend>
          {item.answers.map((option, index) => (
            <button
              key={option.answer}
              type="button"
              aria-pressed={choice?.answer === option.answer}
              onClick={() => mark(item, index)}
            >
              <Key>{index + 1}</Key>
              <span>
                {option.label}
                {option.description === undefined ? null : <small> {option.description}</small>}
              </span>
            </button>
          ))}
          {same.length > 0 ? (
            <label>
              <input
                type="checkbox"
                checked={all.value}
                onChange={() => {
                  all.value = !all.value;
                }}
              />
              Also answer {count(same.length, "identical question")} <Key>a</Key>:{" "}
              {same.map(whoOf).join(", ")}
            </label>
          ) : null}
          <p class="will">
            {choice
              ? `Sends answer ${choice.answer} to ${all.value ? `${count(same.length + 1, "agent")}: each` : `${whoOf(item)}: its`} gateway reads the screen again and presses “${choice.label}” only if the same question is there.`
              : "Choose an answer. Nothing is pressed before you send it."}
          </p>
          <button
            type="button"
            class="primary"
            disabled={!choice || sending.value}
            onClick={() => void send(item)}
          >
            {sending.value ? "Sending…" : "Send"} <Key>Enter</Key>
          </button>
        </fieldset>
      ) : null}
      {gone || item.answers.length > 0 ? null : (
        <div class="next">
          <p>{item.next}</p>
          {item.command ? <code class="command">{item.command}</code> : null}
        </div>
      )}
      {item.evidence.length === 0 ? null : (
        <details open={item.answers.length === 0}>
          <summary>Evidence</summary>
          <ul>
            {item.evidence.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </details>
      )}
      {item.agent_id === null ? null : <LastLines id={item.agent_id} />}
    </article>
  );
}

/** What the terminal of the agent shows last. */
function LastLines({ id }: { id: string }) {
  useEffect(() => followScreens([id]), [id]);
  if (screenOf(id).value.absent !== null) return null;
  return (
    <figure class="screen-lines">
      <figcaption>Last lines of its terminal</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <Picture id={id} max={14} />
      </pre>
    </figure>
  );
}
