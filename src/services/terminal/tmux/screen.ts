import { quoteShell, shellWord } from "../../../system/shell-word.ts";
import { RECORDED_NAME, type Tmux } from "./command.ts";
import { showFormat, type TmuxTransport } from "./protocol.ts";

/** The last `rows` rows of a pane that are not blank, plain text; for people, never for a detector. */
export async function paneTail(tmux: Tmux, paneId: string, rows: number): Promise<string> {
  const filled = (await paneScreen(tmux, paneId)).filter((row) => row !== "");
  return filled.slice(-rows).join("\n");
}

/** The rows of a pane as it is, plain text; for people. Blank rows at the end are left out. */
export async function paneScreen(tmux: Tmux, paneId: string): Promise<string[]> {
  const lines = await tmux.run([["capture-pane", "-p", "-t", paneId]]);
  const rows = lines.map((row) => row.trimEnd());
  return rows.slice(0, rows.findLastIndex((row) => row !== "") + 1);
}

/**
 * The name by which we know the session that a pane belongs to. Throws TmuxError when there is no such pane.
 */
export async function sessionOfPane(tmux: Tmux, paneId: string): Promise<string> {
  return (await tmux.run([showFormat(paneId, RECORDED_NAME)])).join("\n").trim();
}

/** The folder in which a pane's program works now, absolute. Throws TmuxError when there is no such pane. */
export async function folderOfPane(tmux: Tmux, paneId: string): Promise<string> {
  return (await tmux.run([showFormat(paneId, "#{pane_current_path}")])).join("\n");
}

/**
 * The screen of a pane with colours, and up to `scrolledRows` rows that were scrolled out of its sight before
 * it. `height`: rows of the screen itself. Throws TmuxError.
 */
export async function captureWithScrollback(
  tmux: TmuxTransport,
  paneId: string,
  scrolledRows: number,
): Promise<{ text: string; height: number }> {
  const [height = "0", ...lines] = await tmux.run([
    showFormat(paneId, "#{pane_height}"),
    ["capture-pane", "-p", "-e", "-S", `-${scrolledRows}`, "-t", paneId],
  ]);
  return { text: `${lines.join("\n")}\n`, height: Number(height) };
}

/** A session and its server, as in a manifest. */
interface TmuxPlace {
  session_name: string;
  socket?: string | undefined;
}

/**
 * The command with which a person watches a session, for any shell. `bare`: the socket that a bare `tmux` of
 * that shell reaches, where it is known. Pure.
 */
export function tmuxAttachLine(tmux: TmuxPlace, bare?: string): string {
  return `tmux ${serverFlags(tmux.socket === bare ? undefined : tmux.socket)}attach -t ${quoteShell(`=${tmux.session_name}`)}`;
}

/** The command with which a person ends a session, for any shell. Pure. */
export function tmuxEndLine(tmux: TmuxPlace): string {
  return `tmux ${serverFlags(tmux.socket)}kill-session -t ${quoteShell(`=${tmux.session_name}`)}`;
}

function serverFlags(socket: string | undefined): string {
  return socket === undefined ? "" : `${socket.startsWith("/") ? "-S" : "-L"} ${shellWord(socket)} `;
}
