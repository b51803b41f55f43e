import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { awaitProcessReady } from "../../../src/services/sessions/launch-mark.ts";
import type { LaunchTool } from "../../../src/services/sessions/launch-tools.ts";
// A launch loads it meanwhile, and a fake clock does not wait for files.
import "../../../src/services/terminal/detect/detect.ts";
import { profileFor } from "../../../src/services/terminal/profiles/profile.ts";
import type { Tmux, TmuxPane } from "../../../src/services/terminal/tmux/command.ts";
import type { Processes } from "../../../src/system/processes.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const tool = {
  tool: "slow",
  occupies: ({ command }) => command === "slow",
  profile: null,
} as Partial<LaunchTool> as LaunchTool;
const demo: LaunchTool = { ...tool, profile: profileFor("demo") };
const recorded = (state: string) => readFileSync(`tests/screens/demo/1/${state}/screen.ansi.txt`, "utf8");
const wrapper = { pid: 10, parentPid: 1, command: "sh", argv: ["sh", "/launch"] };
const program = { pid: 11, parentPid: 10, command: "slow", argv: ["svc-gateway", "demo-agent"] };

/** As tmux answers one question about a pane and its screen. */
const answer = (screen: string) => `%0 10 0 0 110 37 0 2 4 host\nagent\nhost\n${screen}`;

/** A launch whose program comes, shows something, and ends so many milliseconds after it. */
function waitFor(
  span: { comesMs: number; showsMs?: number; endsMs?: number },
  { tool: started = tool, screen = "hello" }: { tool?: LaunchTool; screen?: string } = {},
) {
  const { comesMs, showsMs = Number.POSITIVE_INFINITY, endsMs = Number.POSITIVE_INFINITY } = span;
  const clock = createFakeClock();
  const runs = () => clock.monotonicMs() >= comesMs && clock.monotonicMs() < endsMs;
  const processes: Partial<Processes> = { tree: async () => (runs() ? [wrapper, program] : [wrapper]) };
  const tmux: Partial<Tmux> = {
    run: async () =>
      answer(clock.monotonicMs() >= showsMs ? screen : "")
        .replace(/\n$/, "")
        .split("\n"),
  };
  const pane = { paneId: "%0", panePid: wrapper.pid } as TmuxPane;
  const deps = { clock, processes: processes as Processes, tmux: tmux as Tmux };
  const outcome = awaitProcessReady(deps, started, pane).then(
    ({ pid }) => ({ pid, atMs: clock.monotonicMs() }),
    (error: Error) => ({ error: error.message, atMs: clock.monotonicMs() }),
  );
  return clock.advance(60_000).then(() => outcome);
}

describe("a tool that starts", () => {
  test("counts as started a moment after it has shown something", async () => {
    expect(await waitFor({ comesMs: 100, showsMs: 2000 })).toEqual({ pid: 11, atMs: 2300 });
  });

  test.each([
    { id: "its composer", screen: recorded("ready"), atMs: 400 },
    { id: "its question", screen: recorded("trust"), atMs: 400 },
    { id: "some text", screen: "error: unknown option --modle", atMs: 700 },
  ])("that is known counts as started at $atMs ms with $id on its screen", async ({ screen, atMs }) => {
    expect(await waitFor({ comesMs: 100, showsMs: 400 }, { tool: demo, screen })).toEqual({ pid: 11, atMs });
  });

  test("counts as started without a word after 5 s", async () => {
    expect(await waitFor({ comesMs: 100 })).toEqual({ pid: 11, atMs: 5100 });
  });

  test.each([
    { comesMs: 6000, atMs: 11_000 },
    { comesMs: 6000, showsMs: 9900, atMs: 10_200 },
    { comesMs: 9900, showsMs: 10_500, atMs: 10_800 },
  ])(
    "is not given up once its program is there: $comesMs ms, started at $atMs ms",
    async ({ atMs, ...span }) => {
      expect(await waitFor(span)).toEqual({ pid: 11, atMs });
    },
  );

  test("has failed when its program does not come, or goes again late", async () => {
    const error = expect.stringContaining("slow was not seen within 10 s");
    expect(await waitFor({ comesMs: 20_000 })).toEqual({ error, atMs: 10_000 });
    expect(await waitFor({ comesMs: 9900, endsMs: 12_000 })).toEqual({ error, atMs: 12_000 });
  });

  test("is not blamed for a pane that was ended under it", async () => {
    const processes: Partial<Processes> = { tree: async () => [] };
    const tmux: Partial<Tmux> = { run: () => Promise.reject(new Error("tmux: no current target")) };
    const pane = { paneId: "%0", panePid: wrapper.pid } as TmuxPane;
    const deps = { clock: createFakeClock(), processes: processes as Processes, tmux: tmux as Tmux };
    const outcome = awaitProcessReady(deps, tool, pane);
    await expect(outcome).rejects.toThrow(
      "the tmux pane in which slow was started has gone (tmux: no current target)",
    );
  });
});
