import { describe, expect, test } from "bun:test";
import { isFarEnough, stillWaitsFor } from "../../../src/cli/agent/agent-requests.ts";
import { checkTmux, tmuxAdvice } from "../../../src/cli/checks/machine.ts";
import { UsageError } from "../../../src/cli/command-line/command.ts";
import { readPrompt, toWholeNumber } from "../../../src/cli/command-line/flag-values.ts";
import { renderPairs, renderTable } from "../../../src/cli/command-line/format.ts";
import {
  bareTmuxSocket,
  chooseTmuxSocket,
  longSocket,
  serverSocket,
} from "../../../src/cli/command-line/tmux-socket.ts";
import type { Evidence, RequestRecord } from "../../../src/protocol/gateway.ts";
import { tmuxAttachLine } from "../../../src/services/terminal/tmux/screen.ts";
import { suggest } from "../../../src/system/similar-word.ts";
import { createFakeIo } from "../../support/fake-io.ts";

describe("what was probably named", () => {
  const words = ["state", "stop", "prompt", "interrupt", "gateway"];
  test.each([
    { id: "two letters swapped", typed: "satte", want: "state" },
    { id: "a letter left out", typed: "promt", want: "prompt" },
    { id: "the beginning of a word", typed: "inter", want: "interrupt" },
    { id: "nothing, when nothing is near", typed: "launch", want: null },
    { id: "nothing, for one letter that begins no word", typed: "z", want: null },
  ])("$id", ({ typed, want }) => {
    expect(suggest(typed, words)).toBe(want);
  });
});

describe("tables and pairs", () => {
  test("columns are aligned and lines end without blanks", () => {
    expect(
      renderTable(
        ["NAME", "STATE"],
        [
          ["a", "active"],
          ["longer", "x"],
        ],
      ),
    ).toBe("NAME    STATE\na       active\nlonger  x");
  });

  test("pairs without a value are left out", () => {
    expect(
      renderPairs([
        ["a", 0],
        ["gone", null],
        ["longer", "x"],
      ]),
    ).toBe("a       0\nlonger  x");
  });
});

describe("a whole number out of a flag", () => {
  test.each(["0", "80", "65535"])("%s is one", (text) => {
    expect(toWholeNumber("port", text, 0, 65_535)).toBe(Number(text));
  });
  test.each(["-1", "65536", "1.5", "1e3", "", " 1", "0x10", "many"])("%p is none", (text) => {
    expect(() => toWholeNumber("port", text, 0, 65_535)).toThrow(UsageError);
  });
  test("an absent flag stays absent", () => {
    expect(toWholeNumber("port", undefined, 0, 1)).toBeUndefined();
  });
});

describe("the prompt's text", () => {
  test("comes from the flag, else from standard input, exactly", async () => {
    expect(await readPrompt(" two\nlines\n", createFakeIo({ input: "other" }))).toBe(" two\nlines\n");
    expect(await readPrompt(undefined, createFakeIo({ input: "piped\n" }))).toBe("piped\n");
  });
  test("a blank one, or none at a terminal, is a misuse", async () => {
    await expect(readPrompt(" \n", createFakeIo())).rejects.toThrow("empty");
    await expect(readPrompt(undefined, createFakeIo({ input: "" }))).rejects.toThrow("empty");
    await expect(readPrompt(undefined, createFakeIo())).rejects.toThrow("--prompt");
  });
});

describe("the tmux server that is selected", () => {
  test.each([
    { id: "the person's own by default", env: {}, want: undefined },
    {
      id: "the named one",
      env: { SVC_TMUX_SOCKET: "fixture", TMUX: "/tmp/tmux-0/other,1,0" },
      want: "fixture",
    },
    {
      id: "inside tmux, that of our pane",
      env: { TMUX: "/tmp/tmux-0/other,1,0" },
      want: "/tmp/tmux-0/other",
    },
    {
      id: "a default one is told from that of another place by its path",
      env: { TMUX: "/other/tmux-0/default,1,0" },
      want: "/other/tmux-0/default",
    },
    { id: "an empty name is none", env: { SVC_TMUX_SOCKET: "" }, want: undefined },
  ])("$id", ({ env, want }) => {
    expect(chooseTmuxSocket(env)).toBe(want as string);
  });

  test("how a person watches a session, exactly that one", () => {
    const line = (socket?: string) =>
      tmuxAttachLine({ session_name: "S", ...(socket ? { socket } : {}) }, "/tmp/tmux-7/default");
    expect(line()).toBe("tmux attach -t '=S'");
    expect(line("/tmp/tmux-7/default")).toBe("tmux attach -t '=S'");
    expect(line("fixture")).toBe("tmux -L fixture attach -t '=S'");
    expect(line("/tmp/s")).toBe("tmux -S /tmp/s attach -t '=S'");
    expect(line("/my place/it's")).toBe("tmux -S '/my place/it'\\''s' attach -t '=S'");
  });

  test.each([
    { id: "that of the pane", env: { TMUX: "/x/fixture,1,0", TMUX_TMPDIR: "/link" }, want: "/x/fixture" },
    { id: "below TMUX_TMPDIR, without links", env: { TMUX_TMPDIR: "/link" }, want: "/real/tmux-7/default" },
    { id: "below /tmp", env: {}, want: "/tmp/tmux-7/default" },
    {
      id: "below /tmp when TMUX_TMPDIR is not there",
      env: { TMUX_TMPDIR: "/none" },
      want: "/tmp/tmux-7/default",
    },
  ])("a bare tmux reaches $id", ({ env, want }) => {
    const realPath = (path: string) => ({ "/link": "/real", "/tmp": "/tmp" })[path] ?? null;
    expect(bareTmuxSocket(env, { realPath }, 7)).toBe(want);
  });

  test.each([
    { id: "a name", socket: "fixture", env: { TMUX_TMPDIR: "/link" }, want: "/real/tmux-7/fixture" },
    { id: "a name, where TMUX_TMPDIR is not there", socket: "fixture", env: { TMUX_TMPDIR: "/none" } },
    { id: "nothing, also inside tmux", socket: undefined, env: { TMUX: "/x/fixture,1,0" } },
    { id: "a path", socket: "/run/fixture", env: { TMUX_TMPDIR: "/link" }, want: "/run/fixture" },
    { id: "a link to one", socket: "/link", env: {}, want: "/real" },
  ])("a server has one path, by $id", ({ socket, env, want }) => {
    const realPath = (path: string) => ({ "/link": "/real", "/tmp": "/tmp" })[path] ?? null;
    expect(serverSocket(socket, env, { realPath }, 7)).toBe(want ?? `/tmp/tmux-7/${socket ?? "default"}`);
  });
});

describe("advice about tmux", () => {
  const nowhere = () => false;
  test.each([
    { version: "3.2", verdict: "ok" },
    { version: "3.3a", verdict: "ok" },
    { version: "3.7", verdict: "ok" },
    { version: "10.0", verdict: "ok" },
    { version: "master", verdict: "ok" },
    { version: "3.1c", verdict: "missing" },
    { version: "2.9", verdict: "missing" },
    { version: null, verdict: "missing" },
  ] as const)("version $version is $verdict", ({ version, verdict }) => {
    const advice = tmuxAdvice(version, nowhere);
    expect(advice.verdict).toBe(verdict);
    expect(advice.remedy === null).toBe(verdict === "ok");
  });

  test("names the command of the package manager that is there", () => {
    expect(tmuxAdvice(null, (program) => program === "brew").remedy).toBe("brew install tmux");
    expect(tmuxAdvice(null, () => true).remedy).toBe("sudo apt-get install tmux");
    expect(tmuxAdvice(null, nowhere).remedy).toContain("3.2");
  });

  test("says why no server can be used, before the version", async () => {
    const refusal = longSocket(`/tmp/${"x".repeat(120)}`, "/tmp/x");
    const context = { tmux: { version: async () => "3.3a" }, processes: {}, tmuxRefusal: () => refusal };
    const check = await checkTmux(context as never);
    expect(check).toMatchObject({ verdict: "missing", remedy: expect.stringContaining("SVC_TMUX_SOCKET") });
  });
});

describe("how far a request must be", () => {
  const evidence = (step: Evidence["step"]): Evidence => ({
    step,
    at_utc: "2026-01-01T00:00:00Z",
    proof: "",
  });
  const request = (state: RequestRecord["state"], ...steps: Evidence["step"][]): RequestRecord => ({
    schema_version: 1,
    request_id: "r",
    request_kind: "submit_prompt",
    state,
    accepted_at_utc: "2026-01-01T00:00:00Z",
    started_at_utc: null,
    finished_at_utc: null,
    managed_agent_instance_epoch: 1,
    error_detail: null,
    result_json: null,
    evidence: steps.map(evidence),
  });
  test.each([
    { id: "accepted is neither", record: request("accepted"), finished: false, ended: false },
    { id: "running is neither", record: request("running", "typed"), finished: false, ended: false },
    {
      id: "submitted is finished, its turn runs",
      record: request("completed", "submitted"),
      finished: true,
      ended: false,
    },
    {
      id: "the turn's end is both",
      record: request("completed", "submitted", "turn_ended"),
      finished: true,
      ended: true,
    },
    { id: "failed goes no further", record: request("failed"), finished: true, ended: true },
    { id: "coalesced goes no further", record: request("coalesced"), finished: true, ended: true },
  ])("$id", ({ record, finished, ended }) => {
    expect(isFarEnough(record, "finished")).toBe(finished);
    expect(isFarEnough(record, "turn_ended")).toBe(ended);
  });

  test.each([
    { record: request("accepted"), want: "is accepted" },
    {
      record: {
        ...request("accepted"),
        waiting: { reason: "draft", detail: "a draft stands", since_utc: "" },
      },
      want: "waits (a draft stands)",
    },
    { record: request("running", "typed"), want: "is running" },
    {
      record: request("completed", "submitted", "turn_started"),
      want: "was taken, and its turn has not ended",
    },
  ])("a waiting that is over says what a request in state $record.state lacks", ({ record, want }) => {
    expect(stillWaitsFor(record)).toBe(want);
  });
});
