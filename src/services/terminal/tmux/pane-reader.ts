import type { Clock } from "../../../system/clock.ts";
import type { Processes, ProcessFacts } from "../../../system/processes.ts";
import { type Observation, type PaneFacts, parseScreen, type Row } from "../screen.ts";
import { agentPane, listPanes, parsePanes, type Tmux, type TmuxPane } from "./command.ts";
import type { ControlConnection } from "./control.ts";
import { showFormat, TmuxError, type TmuxTransport } from "./protocol.ts";

const TREE_MS = 1000;

async function panesOver(control: TmuxTransport, session: string): Promise<TmuxPane[]> {
  return parsePanes(await control.run([listPanes(session)]));
}

/**
 * As `panes` of `Tmux`, over the connection where it answers: a tmux command takes twenty times as long, and
 * more where the machine is busy.
 */
export async function panesOf(
  { control, tmux }: { control: ControlConnection; tmux: Pick<Tmux, "panes"> },
  session: string,
): Promise<TmuxPane[]> {
  const found = control.connected() ? await panesOver(control, session).catch(() => null) : null;
  return found ?? tmux.panes(session);
}

export function createPaneReader(deps: { control: ControlConnection; processes: Processes; clock: Clock }) {
  const { control, processes, clock } = deps;
  let tree: { root: number; atMs: number; found: ProcessFacts[] } | null = null;
  let screen: { raw: string; rows: Row[] } | null = null;

  async function processesOf(root: number, fresh: boolean): Promise<ProcessFacts[] | null> {
    const now = clock.monotonicMs();
    const usable = !fresh && tree?.root === root && now - tree.atMs < TREE_MS;
    if (tree && usable && tree.found.every(({ pid }) => processes.alive(pid))) return tree.found;
    try {
      const found = await processes.tree(root);
      const same = tree !== null && Bun.deepEquals(tree.found, found);
      tree = { root, atMs: now, found: same && tree ? tree.found : found };
    } catch {
      tree = null;
    }
    return tree?.found ?? null;
  }

  function rowsOf(raw: string): Row[] {
    if (screen?.raw !== raw) screen = { raw, rows: parseScreen(raw) };
    return screen.rows;
  }

  return {
    /** The agent's pane (see `agentPane`), or null when it is not there. */
    async find(session: string, recordedPaneId: string | null): Promise<TmuxPane | null> {
      return agentPane(await panesOver(control, session), recordedPaneId);
    },
    /**
     * One moment of the pane: facts and screen in one pipelined batch, then its processes. Null when the pane
     * is no more. `fresh`: the process tree is read again; otherwise one that is younger than a second and
     * whose processes all live will do. The same screen as before gives the same `rows` object, the same
     * processes the same `processes`.
     */
    async read({ paneId }: TmuxPane, fresh: boolean): Promise<Observation | null> {
      const pane = await readScreen(control, paneId);
      if (!pane) return null;
      return {
        ...pane,
        atMs: clock.nowMs(),
        rows: rowsOf(pane.raw),
        // Last: between question and answer a write to a slow disk may hold us up, and what was the tool be a
        // shell.
        processes: await processesOf(pane.pane.panePid, fresh),
      };
    },
  };
}

/** One moment of a pane without a connection, as `read` gives it with one. Null when the pane is no more. */
export async function readPaneOnce(
  { tmux, processes, clock }: { tmux: TmuxTransport; processes: Processes; clock: Clock },
  paneId: string,
): Promise<Observation | null> {
  const pane = await readScreen(tmux, paneId);
  if (!pane) return null;
  return {
    ...pane,
    atMs: clock.nowMs(),
    rows: parseScreen(pane.raw),
    processes: await processes.tree(pane.pane.panePid).catch(() => null),
  };
}

/** Facts and screen of the pane in one moment. Null when the pane is no more. */
async function readScreen(
  tmux: TmuxTransport,
  paneId: string,
): Promise<Pick<Observation, "raw" | "pane" | "cursor"> | null> {
  const commands = [
    showFormat(paneId, FACTS),
    showFormat(paneId, "#{window_name}"),
    showFormat(paneId, "#{pane_title}"),
    ["capture-pane", "-p", "-e", "-t", paneId],
  ];
  const answer = await tmux.run(commands).catch(nullWhenGone);
  if (answer === null) return null;
  const [facts = "", windowName = "", title = "", ...lines] = answer;
  const pane = parseFacts(facts, windowName, title);
  // tmux answers for a pane that is no more, too: with nothing in it.
  if (pane?.facts.paneId !== paneId) return null;
  return { raw: `${lines.join("\n")}\n`, pane: pane.facts, cursor: pane.cursor };
}

const FACTS = [
  "#{pane_id}",
  "#{pane_pid}",
  "#{?pane_dead,1,0}",
  "#{?pane_in_mode,1,0}",
  "#{pane_width}",
  "#{pane_height}",
  "#{?alternate_on,1,0}",
  "#{cursor_x}",
  "#{cursor_y}",
  "#{host}",
].join(" ");

function parseFacts(
  line: string,
  windowName: string,
  title: string,
): { facts: PaneFacts; cursor: { row: number; column: number } } | null {
  const [paneId = "", pid, dead, inMode, width, height, alternate, column, row, host] = line.split(" ");
  if (paneId === "" || host === undefined) return null;
  // A pane that nobody named carries the host's name.
  const named = title !== "" && title !== host && title !== host.split(".")[0];
  return {
    facts: {
      paneId,
      panePid: Number(pid),
      dead: dead === "1",
      inMode: inMode === "1",
      width: Number(width),
      height: Number(height),
      alternateScreen: alternate === "1",
      title: named ? title : null,
      windowName,
    },
    cursor: { row: Number(row), column: Number(column) },
  };
}

function nullWhenGone(error: unknown): null {
  if (error instanceof TmuxError && error.kind === "refused" && error.message.includes("can't find"))
    return null;
  throw error;
}

/** A caller that needs longer than this reads the terminal again. */
const goodForMs = 10;

/**
 * A read of the terminal that begins while a request is still being stored; `sample` reads. A prompt reaches an
 * idle agent 0.6 ms sooner, 8 % (decision 143).
 */
export function createReadAhead(deps: { clock: Clock; sample: () => Promise<unknown> }) {
  const { clock, sample } = deps;
  let begun: { atMs: number; seen: Promise<boolean> } | null = null;

  const counts = (one: typeof begun) => one !== null && clock.monotonicMs() - one.atMs <= goodForMs;

  return {
    /** Begins one, unless one is under way or waits to be taken. */
    begin(): void {
      if (counts(begun)) return;
      const seen = sample().then(
        () => true,
        () => false,
      );
      begun = { atMs: clock.monotonicMs(), seen };
    },
    /** The last read may be out of date. */
    invalidate(): void {
      begun = null;
    },
    /**
     * Waits for the read that was begun, and forgets it. False when there is none, or it failed, is out of date
     * or is too old.
     */
    async take(): Promise<boolean> {
      const mine = begun;
      if (mine === null || !counts(mine)) return false;
      const seen = await mine.seen;
      const holds = seen && begun === mine && counts(mine);
      begun = null;
      return holds;
    },
  };
}
