import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { closeWindow, openWindow, type WindowProgram } from "../../../src/services/terminal/tmux/window.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createTmux, type TmuxFixture } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

const program = (tmux: TmuxFixture, script: string, env: Record<string, string> = {}): WindowProgram => ({
  command: ["/bin/sh", "-c", script],
  workdir: tmux.folder,
  env: { PATH: process.env["PATH"] ?? "", ...env },
  errorPath: join(tmux.folder, "errors"),
});

const deps = (tmux: TmuxFixture) => ({ ...tmux, tmux: tmux.tmux });

const windows = (tmux: TmuxFixture, session = "work") =>
  tmux.run("list-windows", "-t", `=${session}`, "-F", "#{window_index} #{window_name} #{window_active}");

describe("a window of ours", () => {
  test("opens behind the agent's, with exactly its environment, and closes with its program", async () => {
    await using tmux = await createTmux();
    await tmux.newSession("work", ["sleep", "60"]);
    await tmux.run("set-environment", "-t", "=work", "SVC_AGENT_ID", "x");
    await tmux.run("set-option", "-g", "remain-on-exit", "on");
    const seen = join(tmux.folder, "seen");
    const script = `env > '${seen}.part' && mv '${seen}.part' '${seen}'; echo oh >&2; read line`;
    const opened = await openWindow(deps(tmux), "work", "gateway", ({ windowId }) =>
      program(tmux, script, { OF: windowId, QUOTED: `it's "$(odd)"\n;` }),
    );
    expect(await windows(tmux)).toBe("0 agent 1\n1 gateway 0");
    expect(opened.handles.windowIndex).toBe("1");
    expect(tmux.processes.alive(opened.pid)).toBe(true);
    await until("the program's account", () => tmux.files.read(seen));
    const text = readFileSync(seen, "utf8");
    expect(text).toContain(`OF=${opened.handles.windowId}\n`);
    expect(text).toContain(`QUOTED=it's "$(odd)"\n;\n`);
    expect(text).not.toMatch(/^(SVC_AGENT_ID|TMUX|TMUX_PANE)=/m);
    await until("its complaint", () => tmux.files.read(join(tmux.folder, "errors")) === "oh\n");
    await tmux.run("send-keys", "-t", opened.handles.paneId, "Enter");
    await until("the window to close", async () => (await windows(tmux)) === "0 agent 1");
    expect(tmux.files.list(tmux.folder).filter((name) => name.startsWith("window-"))).toEqual([]);
  });

  test("is closed by all its handles or not at all, once", async () => {
    await using tmux = await createTmux();
    await tmux.newSession("work", ["sleep", "60"]);
    const { handles } = await openWindow(deps(tmux), "work", "gateway", () => program(tmux, "exec sleep 60"));
    expect(await closeWindow(tmux.tmux, "work", { ...handles, paneId: "%99" })).toBe(false);
    expect(await closeWindow(tmux.tmux, "work", { ...handles, windowIndex: "2" })).toBe(false);
    expect(await closeWindow(tmux.tmux, "work", handles)).toBe(true);
    expect(await closeWindow(tmux.tmux, "work", handles)).toBe(false);
    expect(await windows(tmux)).toBe("0 agent 1");
  });

  test("is never window 0: neither opened nor closed", async () => {
    await using tmux = await createTmux();
    const pane = await tmux.newSession("work", ["sleep", "60"]);
    const zero = { windowId: pane.windowId, windowIndex: "0", paneId: pane.paneId };
    expect(await awaitOutcome(closeWindow(tmux.tmux, "work", zero))).toThrow(
      expect.objectContaining({
        reason: "precondition_failed",
      }),
    );
    await tmux.run("move-window", "-s", "=work:0", "-t", "=work:3");
    const open = openWindow(deps(tmux), "work", "gateway", () => program(tmux, "exec sleep 60"));
    expect(await awaitOutcome(open)).toThrow(expect.objectContaining({ reason: "dispatch_failed" }));
    expect(await windows(tmux)).toBe("3 agent 1");
  });

  test("of a program that cannot be reported leaves nothing", async () => {
    await using tmux = await createTmux();
    await tmux.newSession("work", ["sleep", "60"]);
    const open = openWindow(deps(tmux), "work", "gateway", () => {
      throw new Error("no program");
    });
    expect(await awaitOutcome(open)).toThrow("no program");
    expect(await windows(tmux)).toBe("0 agent 1");
  });
});
