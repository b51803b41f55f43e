import type { Processes } from "../../system/processes.ts";
import type { Tmux } from "./tmux-command.ts";
import type { TmuxMutex } from "./tmux-mutex.ts";
import { exactSession } from "./tmux-protocol.ts";

/**
 * Ends the control clients that dead gateways of `session` left: tmux 3.3a may keep one for ever whose output
 * nobody reads any more, and the agent would in time hang on it. Only for whoever holds the session's gateway lock
 * and has not attached yet: then every client that attached in our way is such a one. Returns their pids.
 */
export async function endStrayClients(
  deps: { tmux: Tmux; mutex: TmuxMutex; processes: Processes },
  session: string,
): Promise<number[]> {
  const { tmux, mutex, processes } = deps;
  if (!(await tmux.hasSession(session))) return [];
  const clients = await controlClients(tmux, session);
  if (clients.length === 0) return [];
  const release = await mutex.take();
  try {
    const ended: number[] = [];
    for (const pid of clients) {
      const [client] = await processes.tree(pid);
      const argv = client?.argv ?? [];
      const ours =
        argv.includes("-C") &&
        argv.includes("ignore-size,no-output") &&
        argv.at(-1) === exactSession(session);
      if (ours && processes.signal(pid, "SIGKILL")) ended.push(pid);
    }
    // tmux has heard of their end when it lists them no more.
    for (let looks = 0; ended.length > 0 && looks < MOST_LOOKS; looks++) {
      const left = await controlClients(tmux, session).catch(() => []);
      if (!left.some((pid) => ended.includes(pid))) break;
    }
    return ended;
  } finally {
    release();
  }
}

/** Each is a process of its own, which takes some milliseconds. */
const MOST_LOOKS = 20;

async function controlClients(tmux: Tmux, session: string): Promise<number[]> {
  const format = "#{client_pid} #{client_control_mode}";
  const listed = await tmux.run(["list-clients", "-t", exactSession(session), "-F", format]);
  return listed.split("\n").flatMap((line) => {
    const [pid, control] = line.split(" ");
    return control === "1" ? [Number(pid)] : [];
  });
}
