import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { after, pollWhileVisible } from "../browser/browser.ts";
import { agents, agentsKnown, reloadUnread, unreadPollMs, wantTile } from "../client/fleet.ts";
import { followScreens } from "../client/screens-stream.ts";
import { inbox, waitingItems } from "../client/store.ts";
import { go, replaceRoute, route } from "../client/ui.ts";
import { Picture } from "../parts/picture.tsx";
import { Condition, Empty, Key, Since } from "../parts/pieces.tsx";
import {
  type AgentRow,
  type AgentView,
  conditionOrder,
  hostOf,
  keepOrder,
  ownHost,
  toRows,
} from "../state/agents.ts";
import { brief, count, tokensInWords } from "../state/format.ts";
import { formatRoute, type WallRoute, wholeWall } from "../state/route.ts";
import { type GridWindow, gridWindow } from "../state/screen.ts";

const tile = { tileWidthPx: 260, tileHeightPx: 252, gapPx: 14 };
const screenRows = 8;
/**
 * How long tiles wait at most for the states of all agents: those that wait for a person are known without
 * them.
 */
const maxUndrawnMs = 500;

/** The order on the screen: it changes when the reader asks for it, never by itself. */
const order = signal<readonly string[]>([]);
const selected = signal(0);
/** How many tiles one line has, for the keys up and down. */
const layout = { columns: 1 };

const filterOf = (): WallRoute => (route.value.screen === "wall" ? route.value : wholeWall);

const sortedRows = (): AgentRow[] => toRows(agents.value.values(), waitingItems.value, filterOf());
const shownRows = (): AgentRow[] => keepOrder(sortedRows(), order.value);

function sortAgain(): void {
  order.value = toRows(agents.value.values(), waitingItems.value).map(({ id }) => id);
}

/** Keys of this screen. True when it took the key. */
export function takeWallKey(key: string): boolean {
  const list = shownRows();
  const move = (step: number) => {
    selected.value = Math.max(0, Math.min(list.length - 1, selected.value + step));
  };
  const row = list[selected.value];
  if (key === "s") sortAgain();
  else if (key === "j" || key === "ArrowRight") move(1);
  else if (key === "k" || key === "ArrowLeft") move(-1);
  else if (key === "ArrowDown") move(layout.columns);
  else if (key === "ArrowUp") move(-layout.columns);
  else if (key === "Enter" && row) go({ screen: "agent", agent: row.id, tab: "terminal" });
  else if (key === "/") document.querySelector<HTMLInputElement>("#wall-filter")?.focus();
  else return false;
  return true;
}

const isAsked = ({ identity, state, failure }: AgentView): boolean =>
  !identity.has_gateway || state !== null || failure !== null;

/** A headless agent has no terminal, and without a gateway nobody reads one. */
const hasScreen = ({ identity }: AgentView): boolean => identity.has_gateway && identity.transport === "tui";

export function Wall() {
  const filter = filterOf();
  const sorted = sortedRows();
  const list = keepOrder(sorted, order.value);
  const known = agentsKnown.value;
  const settled = known && inbox.value.shown !== null && [...agents.value.values()].every(isAsked);
  const [drawn, setDrawn] = useState(false);
  // Tiles are drawn in an order that lasts: one that moves is another one under the hand that clicks.
  useLayoutEffect(() => {
    const draw = () => {
      sortAgain();
      setDrawn(true);
    };
    if (known && !drawn && !settled) return after(maxUndrawnMs, draw);
    if (known && !drawn) draw();
    return undefined;
  }, [known, settled, drawn]);
  useEffect(
    () => () => {
      order.value = [];
      selected.value = 0;
    },
    [],
  );
  const moved = list.filter((row, index) => sorted[index]?.id !== row.id).length;
  const identities = [...agents.value.values()].map(({ identity }) => identity);
  const tools = [...new Set(identities.map(({ tool }) => tool))].sort();
  const hosts = [...new Set(identities.map(hostOf))].sort();
  const change = (part: Partial<WallRoute>) => {
    selected.value = 0;
    replaceRoute({ ...filter, ...part });
  };
  return (
    <div class="wall">
      <header>
        <h1>Wall</h1>
        <p class="quiet">{count(list.length, "agent")}</p>
        <div class="filters">
          <input
            id="wall-filter"
            type="search"
            placeholder="Filter by name"
            aria-label="Filter by name"
            value={filter.text}
            onInput={(event) => change({ text: event.currentTarget.value })}
            onKeyDown={(event) => {
              // Back to the keys of the wall, as Escape does once nothing is left to clear.
              const leaves = event.key === "Enter" || (event.key === "Escape" && filter.text === "");
              if (leaves) event.currentTarget.blur();
            }}
          />
          <select
            aria-label="Tool"
            value={filter.tool}
            onChange={(event) => change({ tool: event.currentTarget.value })}
          >
            <option value="">All tools</option>
            {tools.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          {hosts.length > 1 || filter.host !== "" ? (
            <select
              aria-label="Host"
              value={filter.host}
              onChange={(event) => change({ host: event.currentTarget.value })}
            >
              <option value="">All hosts</option>
              {hosts.map((name) => (
                <option key={name} value={name}>
                  {name === ownHost ? "this one" : name}
                </option>
              ))}
            </select>
          ) : null}
          <select
            aria-label="State"
            value={filter.state}
            onChange={(event) => change({ state: event.currentTarget.value })}
          >
            <option value="">All states</option>
            {conditionOrder.map((kind) => (
              <option key={kind} value={kind}>
                {kind === "waits" ? "waits for you" : kind}
              </option>
            ))}
          </select>
          {moved > 0 ? (
            <button type="button" class="arrived" onClick={sortAgain}>
              Sort again <Key>s</Key>
            </button>
          ) : null}
          <a class="button" href="#/launch">
            New agent
          </a>
        </div>
      </header>
      {drawn && agents.value.size === 0 ? (
        <Empty title="No agents yet">
          Launch one from your terminal: <code>svc new worker claude</code>
        </Empty>
      ) : null}
      {drawn && agents.value.size > 0 && list.length === 0 ? (
        <Empty title="No agent matches this filter" />
      ) : null}
      {drawn ? <Grid rows={list} /> : <Empty title="Looking at your agents…" />}
    </div>
  );
}

function Grid({ rows }: { rows: AgentRow[] }) {
  const element = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ widthPx: 1000, heightPx: 800, scrollPx: 0 });
  const measure = () => {
    const box = element.current;
    // Without the padding of the box: tiles lie in what it holds.
    const widthPx = box?.firstElementChild?.clientWidth ?? 0;
    if (box) setSize({ widthPx, heightPx: box.clientHeight, scrollPx: box.scrollTop });
  };
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  const view: GridWindow = gridWindow({ count: rows.length, ...size, ...tile });
  layout.columns = view.columns;
  const visible = rows.slice(view.from, view.to);
  const ids = visible.filter(({ view }) => hasScreen(view)).map(({ id }) => id);
  useEffect(() => {
    for (const { id } of visible) wantTile(id);
    const endScreens = followScreens(ids);
    const endMail = pollWhileVisible(unreadPollMs, () => {
      for (const { id } of visible) reloadUnread(id);
    });
    return () => {
      endScreens();
      endMail();
    };
  }, [ids.join()]);
  useEffect(() => {
    const line = Math.trunc(selected.value / view.columns);
    const step = tile.tileHeightPx + tile.gapPx;
    const box = element.current;
    if (box && (line * step < box.scrollTop || (line + 1) * step > box.scrollTop + box.clientHeight))
      box.scrollTop = line * step;
  }, [selected.value]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section ref={element} class="grid" onScroll={measure} tabIndex={0} aria-label="Agents">
      <div style={{ height: `${view.totalPx}px` }}>
        <ul
          style={{
            transform: `translateY(${view.offsetPx}px)`,
            gridTemplateColumns: `repeat(${view.columns}, minmax(0, 1fr))`,
          }}
        >
          {visible.map((row, index) => (
            <li key={row.id} aria-setsize={rows.length} aria-posinset={view.from + index + 1}>
              <Tile row={row} selected={view.from + index === selected.value} />
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function Tile({ row, selected: isSelected }: { row: AgentRow; selected: boolean }) {
  const { view, condition, name } = row;
  const { queue_depth: depth = 0, tokens } = view.state?.gateway ?? {};
  return (
    <a
      class={`tile ${condition.kind} ${isSelected ? "selected" : ""}`}
      href={formatRoute({ screen: "agent", agent: row.id, tab: "terminal" })}
    >
      <span class="top">
        <strong>{name}</strong>
        <span class="quiet">
          {view.identity.tool}
          {view.identity.host === undefined ? "" : ` @ ${view.identity.host}`}
        </span>
      </span>
      <span class="state">
        <Condition condition={condition} />
        {condition.kind === "working" && view.workingSinceMs !== null ? (
          <Since atMs={view.workingSinceMs} />
        ) : null}
        {depth > 0 ? <span class="number">queue {depth}</span> : null}
        {view.unread ? <span class="number">mail {view.unread}</span> : null}
      </span>
      {hasScreen(view) ? (
        <Picture id={row.id} max={screenRows} />
      ) : (
        <span class="picture absent">no terminal to show</span>
      )}
      <span class="bottom">
        <span class="answer">{condition.detail || view.lastAnswer || " "}</span>
        {tokens ? (
          <span class="number" title={`${tokensInWords(tokens)}, in ${count(tokens.turns, "turn")}`}>
            {brief(tokens.input_tokens + tokens.output_tokens)} tokens
          </span>
        ) : null}
      </span>
    </a>
  );
}
