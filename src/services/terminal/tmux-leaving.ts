import type { Processes } from "../../system/processes.ts";

/**
 * Ends the control clients on a tmux server that is leaving and does not get away: tmux 3.3a waits for ever for one whose
 * gateway was killed with output unread, and meanwhile refuses whoever comes. No session of such a server is left,
 * so a client of a living gateway loses nothing. `command` is how we call tmux: program, then what names the server.
 */
export async function endClientsOfLeavingServer(
  processes: Pick<Processes, "tree" | "signal">,
  command: readonly string[],
): Promise<void> {
  const server = command.slice(1);
  for (const { pid, argv } of await processes.tree(1)) {
    const called = argv.slice(1, 1 + server.length);
    const ours = argv.includes("-C") && argv.includes("ignore-size,no-output");
    if (ours && called.every((word, index) => word === server[index]) && called.length === server.length)
      processes.signal(pid, "SIGKILL");
  }
}
