import { existsSync, readdirSync, readFileSync } from "node:fs";

/**
 * Ends the tmux server at `socket` and its clients. tmux 3.3a may never leave by itself when a client of a
 * gateway that was killed does not read, and nobody finds it once the folder of its socket is gone.
 */
export function endTmux(socket: string): void {
  Bun.spawnSync(["tmux", "-S", socket, "-N", "kill-server"]);
  if (!existsSync("/proc")) return;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    if (wordsOf(pid).some((word, at, words) => word === socket && words[at - 1] === "-S")) end(Number(pid));
  }
}

/** Empty for a process that has gone. */
function wordsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has just gone.
  }
}
