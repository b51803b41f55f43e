import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CanonicalEvent } from "../../src/protocol/turn-files.ts";
import { toOversizeEvent } from "../../src/services/headless/display.ts";
import { createLineSplitter } from "../../src/services/headless/line-splitter.ts";
import type { ProviderSession, ProviderTurn } from "../../src/services/headless/provider.ts";
import { decideVerdict } from "../../src/services/headless/verdict.ts";
import { createScratch } from "../support/scratch.ts";
import { until } from "../support/until.ts";
import { kindsOf, providerOf } from "../unit/headless/recorded-streams.ts";

const program = join(import.meta.dir, "../../src/cli/svc-gateway.ts");
const hostileProgram = join(import.meta.dir, "../support/hostile/svc-gateway.ts");

/** The scripted agent without a terminal, driven by its provider as the gateway drives it. */
function setup(entry = program) {
  const scratch = createScratch();
  const provider = providerOf("demo");
  const logPath = scratch.path("runs.jsonl");
  const args = [entry, "demo-agent", "--state", scratch.path("state"), "--log", logPath];

  function start(
    prompt: string,
    session: ProviderSession = { mode: "new" },
    some: Partial<ProviderTurn> = {},
  ) {
    const { argv, stdin } = provider.command({
      prompt,
      session,
      model: null,
      executable: process.execPath,
      args,
      rolePrompt: null,
      promptFile: scratch.path("prompt.txt"),
      ...some,
    });
    const child = Bun.spawn(argv, {
      cwd: scratch.folder,
      stdin: new TextEncoder().encode(stdin ?? ""),
      stdout: "pipe",
      stderr: "pipe",
    } as const);
    const parser = provider.parser({ turnIndex: 0 });
    const splitter = createLineSplitter();
    const events: CanonicalEvent[] = [];
    const read = (lines: ReturnType<typeof splitter.push>) => {
      const context = { provider: "demo", turnIndex: 0 };
      for (const line of lines) {
        if (line.truncated) events.push(toOversizeEvent(context, { ...line, stream: "stdout" }, "now"));
        else events.push(...parser.line(line.text, "now"));
      }
    };
    const reading = (async () => {
      for await (const chunk of child.stdout) read(splitter.push(chunk));
      read(splitter.end());
    })();
    const chatter = new Response(child.stderr).text();

    async function ended({ interruptRequested = false } = {}) {
      const [stderr] = await Promise.all([chatter, reading, child.exited]);
      events.push(...parser.end("now"));
      const summary = parser.summary();
      const signal = child.signalCode === null ? null : String(child.signalCode);
      const lastStderr = stderr.trim().split("\n").at(-1) ?? null;
      const facts = {
        summary,
        exitCode: child.exitCode,
        signal,
        interruptRequested,
        exited: true,
        lastStderr,
      };
      return { events, summary, signal, verdict: decideVerdict(facts) };
    }

    return { child, events, ended };
  }

  return {
    ...scratch,
    start,
    turn: (...given: Parameters<typeof start>) => start(...given).ended(),
    /** One entry for each run, oldest first. */
    runs: () =>
      existsSync(logPath)
        ? readFileSync(logPath, "utf8")
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line))
        : [],
    [Symbol.dispose]: scratch[Symbol.dispose],
  };
}

describe("a headless turn of the scripted agent", () => {
  test("answers, uses a tool, counts its tokens and logs its one run", async () => {
    using fixture = setup();
    const { events, summary, verdict } = await fixture.turn("hello\nTHINK\nTOOL grep\nUSAGE 3 4");
    expect(kindsOf(events)).toBe(
      "session reasoning action_request action_result progress*3 assistant completion",
    );
    expect(verdict).toEqual({ status: "completed", error: null, completionSource: "terminal_event" });
    expect(summary).toMatchObject({
      resultText: "You said: hello",
      usage: { input_tokens: 3, output_tokens: 4 },
    });
    expect(fixture.runs()).toMatchObject([
      { session_id: summary.sessionId, turn: 1, resume: "new", prompt: "hello\nTHINK\nTOOL grep\nUSAGE 3 4" },
    ]);
  });

  test("goes on with a conversation by its id and with the last one", async () => {
    using fixture = setup();
    const first = await fixture.turn("remember the blue door");
    const id = first.summary.sessionId ?? "";
    const other = await fixture.turn("hello");
    expect(other.summary.sessionId).not.toBe(id);
    expect((await fixture.turn("recall", { mode: "tool_last_or_new" })).summary).toMatchObject({
      sessionId: other.summary.sessionId,
      resultText: "I remember nothing",
    });
    expect((await fixture.turn("recall", { mode: "exact", id })).summary).toMatchObject({
      sessionId: id,
      resultText: "I remember the blue door",
    });
    expect(fixture.runs().map(({ turn, resume }) => `${turn} ${resume}`)).toEqual([
      "1 new",
      "1 new",
      "2 last",
      "2 exact",
    ]);
  });

  test("begins again where there is no last conversation, and refuses one that does not exist", async () => {
    using fixture = setup();
    expect((await fixture.turn("hello", { mode: "tool_last_or_new" })).verdict.status).toBe("completed");
    const lost = await fixture.turn("hello", { mode: "exact", id: "00000000-0000-4000-8000-000000000000" });
    expect(lost.verdict).toEqual({
      status: "failed",
      error: "the tool ended without a terminal event (exit code 1): demo-agent: no such conversation",
      completionSource: "process_exit",
    });
    expect(fixture.runs()).toHaveLength(1);
  });

  test("takes a model and a level for one turn", async () => {
    using fixture = setup();
    await fixture.turn("hello", { mode: "new" }, { model: { name: "m1", level: 2 } });
    await fixture.turn("hello", { mode: "tool_last_or_new" });
    expect(fixture.runs()).toMatchObject([
      { model: "m1", effort: "medium" },
      { model: null, effort: null },
    ]);
  });

  test.each([
    { prompt: "ERROR no luck", status: "failed", error: "no luck" },
    { prompt: "EXIT 7", status: "failed", error: "the tool ended without a terminal event (exit code 7)" },
  ])("$prompt is a failed turn that says why", async ({ prompt, status, error }) => {
    using fixture = setup();
    expect((await fixture.turn(prompt)).verdict).toMatchObject({ status, error });
  });
});

describe("a headless turn of a hostile tool", () => {
  test.each([
    { prompt: "KILL", error: "the tool ended without a terminal event (signal SIGKILL)" },
    { prompt: "CUT", error: "the tool ended without a terminal event (exit code 0)" },
  ])("$prompt is a failed turn that says why", async ({ prompt, error }) => {
    using fixture = setup(hostileProgram);
    expect((await fixture.turn(prompt)).verdict).toMatchObject({ status: "failed", error });
  });

  test("the shipped program takes a hostile directive as plain text", async () => {
    using fixture = setup();
    expect((await fixture.turn("HANG")).summary.resultText).toBe("You said: HANG");
  });

  test("neither a line of 50 MB nor invalid UTF-8 breaks a turn", async () => {
    using fixture = setup(hostileProgram);
    const { events, verdict } = await fixture.turn("hello\nINVALID\nBIG 50000000");
    expect(verdict.status).toBe("completed");
    expect(events.find(({ provider_event_type: type }) => type === "oversize_line")?.data).toMatchObject({
      bytes: 50_000_027,
    });
    expect(events.filter(({ kind }) => kind === "assistant").at(-1)?.data?.["text"]).toContain(
      "broken \ufffd",
    );
    expect(events.filter(({ provider_event_type: type }) => type === "text")).toMatchObject([
      { kind: "diagnostic", message: "no JSON at all" },
    ]);
  });

  test("a turn that hangs ends by the first signal that it does not ignore", async () => {
    using fixture = setup(hostileProgram);
    const { child, events, ended } = fixture.start("HANG SIGINT");
    await until("it has begun to answer", () => events.some(({ kind }) => kind === "progress"));
    child.kill("SIGINT");
    child.kill("SIGTERM");
    const { verdict, signal } = await ended({ interruptRequested: true });
    expect(signal).toBe("SIGTERM");
    expect(verdict.status).toBe("interrupted");
  });
});
