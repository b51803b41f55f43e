import type { Processes } from "../../system/processes.ts";
import type { Tmux } from "./tmux-command.ts";
import { exactSession } from "./tmux-protocol.ts";

/**
 * Ends the control clients that dead gateways of `session` left: tmux 3.3a may keep one for ever whose output
 * nobody reads any more, and the agent would in time hang on it. Only for whoever holds the session's gateway lock
 * and has not attached yet: then every client that attached in our way is such a one. Returns their pids.
 */
export async function endStrayClients(
  deps: { tmux: Tmux; processes: Processes },
  session: string,
): Promise<number[]> {
  const { tmux, processes } = deps;
  if (!(await tmux.hasSession(session))) return [];
  const format = "#{client_pid} #{client_control_mode}";
  const listed = await tmux.run(["list-clients", "-t", exactSession(session), "-F", format]);
  const pids = listed.split("\n").flatMap((line) => {
    const [pid, control] = line.split(" ");
    return control === "1" ? [Number(pid)] : [];
  });
  const ended: number[] = [];
  for (const pid of pids) {
    const [client] = await processes.tree(pid);
    const argv = client?.argv ?? [];
    const ours =
      argv.includes("-C") && argv.includes("ignore-size,no-output") && argv.at(-1) === exactSession(session);
    if (ours && processes.signal(pid, "SIGKILL")) ended.push(pid);
  }
  return ended;
}
