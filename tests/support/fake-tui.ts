import { openSync, writeSync } from "node:fs";
import type { TmuxFixture } from "./tmux.ts";
import { until } from "./until.ts";

/** A process of the demo tool that draws nothing by itself: tests write its screen through its terminal. */
export const fakeTuiCommand = [
  "sh",
  "-c",
  "stty raw -echo; while :; do sleep 1000; done",
  "sh",
  "demo-agent",
];

export interface FakeTui {
  /** Replaces the whole screen and the title; 36 rows, cursor in the composer. */
  draw(frame: { title?: string; lines?: readonly string[]; draft?: string }): void;
  /** Writes as the program would. */
  write(text: string): void;
}

/** The program in `paneId`, which must have been started with `fakeTuiCommand`. */
export async function openFakeTui(t: TmuxFixture, paneId: string): Promise<FakeTui> {
  const pid = Number(await t.run("display-message", "-p", "-t", paneId, "#{pane_pid}"));
  await until("the program runs", async () =>
    (await t.processes.tree(pid)).some(({ command }) => command === "sleep"),
  );
  const tty = openSync(await t.run("display-message", "-p", "-t", paneId, "#{pane_tty}"), "w");
  const write = (text: string) => {
    writeSync(tty, text);
  };
  return {
    write,
    draw({ title = "demo: ready", lines = [], draft = "" }) {
      const rule = "─".repeat(120);
      const rows = ["svc demo agent v1", ...lines];
      const above = rows.map((row) => `${row}\r\n`).join("");
      const composer = `${rule}\r\n▶ ${draft}\x1b7\r\n${rule}\x1b8`;
      write(`\x1b[2J\x1b[H\x1b]2;${title}\x07${above}${composer}`);
    },
  };
}
