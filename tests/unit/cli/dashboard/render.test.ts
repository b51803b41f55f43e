import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { adviseInShort } from "../../../../src/cli/command-line/short-remedies.ts";
import { renderDashboard } from "../../../../src/cli/dashboard/render.ts";
import {
  createInitialState,
  type DashboardEvent,
  type DashboardState,
  reduce,
  shownRows,
} from "../../../../src/cli/dashboard/state.ts";
import { paintFrame } from "../../../../src/cli/dashboard/terminal.ts";
import { widthOf } from "../../../../src/system/text-columns.ts";
import { visibleCell } from "../../../../src/system/visible.ts";
import { agentSnapshot, agentState, question } from "../../../support/agent-snapshots.ts";
import { fleet, key, text } from "../../../support/dashboard-events.ts";

const nowMs = Date.UTC(2026, 0, 1, 0, 1);
const stateAfter = (...events: DashboardEvent[]) =>
  events.reduce((state, event) => reduce(state, event, nowMs).state, createInitialState(adviseInShort));
const frameOf = (state: DashboardState, columns = 100, rows = 14) =>
  renderDashboard(state, { columns, rows, nowMs, canType: true });
const linesOf = (...args: Parameters<typeof frameOf>) => frameOf(...args).rows.map((row) => row.text);

const busy = { state: agentState("active"), turnSinceUtc: "2026-01-01T00:00:10.000+00:00", queueDepth: 2 };
const asking = agentSnapshot("bob", { unreadMail: 3, attention: { decision: question("港を消す?") } });

describe("the screen", () => {
  test("has the agents, what waits at the selected one, the last outcome and the keys", () => {
    const state = stateAfter(fleet(agentSnapshot("ann", busy), asking));
    expect(linesOf(state)).toEqual([
      "2 agents, 1 waits for you",
      "  NAME  TOOL  STATE  SINCE  QUEUE  MAIL  LAST TURN  WAITS FOR YOU",
      "> bob   demo  asks   1m     0      3     -          asks: 港を消す?",
      "  ann   demo  busy   50s    2      -     -",
      "",
      "",
      "",
      "",
      `── bob ${"─".repeat(93)}`,
      '"bob" asks: 港を消す? (1m)',
      "  1. Yes",
      "  2. No",
      "",
      "j/k select  Enter attach  p prompt  a answer  d drop  i interrupt  s stop  / filter  ? help  q quit",
    ]);
  });

  test("has what waits for an agent, with a digit for each that can be withdrawn", () => {
    const waiting = Array.from({ length: 11 }, (_, at) => ({
      requestId: `gwreq-${at}`,
      from: "lead",
      text: `task ${at}\nof two lines`,
    }));
    const given: DashboardEvent = { kind: "queue", agentId: "id-ann", waiting };
    const lines = linesOf(stateAfter(fleet(agentSnapshot("ann")), text("d"), given), 100, 20);
    expect(lines).toContain("  1. task 0 of two lines (from lead)");
    expect(lines).toContain("  9. task 8 of two lines (from lead)");
    expect(lines).toContain("  … 2 more");
    expect(lines.slice(-2)).toEqual([
      'withdraw a prompt of "ann" with a digit; Escape leaves all',
      "1-9 withdraw  Escape leave all",
    ]);
  });

  test("has the prompt where it is typed, with the cursor in it", () => {
    const state = stateAfter(
      fleet(agentSnapshot("ann")),
      text("p港 go"),
      key("C-j"),
      text("on"),
      key("Left"),
    );
    const { rows, cursor } = frameOf(state);
    expect(rows.slice(-3).map((row) => row.text)).toEqual([
      "prompt ann: 港 go",
      "on",
      "Enter send  Ctrl-J new line  Escape leave it",
    ]);
    expect(cursor).toEqual({ row: 12, column: 1 });
  });

  test("keeps the cursor of a long prompt in it", () => {
    const state = stateAfter(fleet(agentSnapshot("ann")), text(`p${"word ".repeat(200)}`));
    const { rows, cursor } = frameOf(state, 40, 10);
    expect(rows).toHaveLength(10);
    expect(cursor?.row).toBe(8);
    const moved = frameOf(reduce(state, key("C-a"), nowMs).state, 40, 10);
    expect(moved.rows[moved.cursor?.row ?? 0]?.text).toStartWith("prompt ann: word");
    expect(moved.cursor?.column).toBe("prompt ann: ".length);
  });

  test.each([
    { columns: 80, header: "  NAME  TOOL  STATE  SINCE  QUEUE  MAIL  LAST TURN  WAITS FOR YOU" },
    { columns: 60, header: "  NAME  STATE  SINCE  QUEUE  MAIL  WAITS FOR YOU" },
    { columns: 44, header: "  NAME  STATE  SINCE  WAITS FOR YOU" },
    { columns: 30, header: "  NAME  STATE  WAITS FOR YOU" },
  ])("of $columns columns leaves out what is needed least", ({ columns, header }) => {
    expect(linesOf(stateAfter(fleet(asking)), columns)[1]).toBe(header);
  });

  test.each([
    { columns: 80, keys: "Enter attach  p prompt  a answer  d drop  i interrupt  s stop  ? help  q quit" },
    { columns: 40, keys: "Enter attach  p prompt  ? help  q quit" },
    { columns: 20, keys: "? help  q quit" },
  ])("of $columns columns names the keys that fit", ({ columns, keys }) => {
    expect(linesOf(stateAfter(fleet(asking)), columns).at(-1)).toBe(keys);
  });

  test("scrolls with the selection and says which part is shown", () => {
    const agents = Array.from({ length: 40 }, (_, index) =>
      agentSnapshot(`a${String(index).padStart(2, "0")}`),
    );
    const lines = linesOf(stateAfter(fleet(...agents), text("G")));
    expect(lines.at(-4)).toStartWith("> a39 ");
    expect(lines.at(-3)).toBe("  32 to 40 of 40");
    expect(linesOf(stateAfter(fleet(...agents)))[2]).toStartWith("> a00 ");
  });

  test("shows all options of the question that is answered, as far as they fit", () => {
    const options = Array.from({ length: 9 }, (_, index) => `option ${index + 1}`);
    const decision = question("Which?", options);
    const others = Array.from({ length: 9 }, (_, index) => agentSnapshot(`z${index}`));
    const state = stateAfter(fleet(agentSnapshot("ann", { attention: { decision } }), ...others), text("a"));
    const lines = linesOf(state, 80, 18);
    expect(lines.filter((line) => /^ {2}\d\. option/.test(line))).toHaveLength(9);
    expect(lines.find((line) => line.startsWith("> ann"))).toBeDefined();
    expect(linesOf(state, 80, 10)).toContainEqual(expect.stringMatching(/^… \d more lines$/));
  });

  test("names what to do as commands of svc where nothing can be answered by keys", () => {
    const dead = agentSnapshot("ann", { attention: { programEnded: { sinceUtc: null } } });
    expect(linesOf(stateAfter(fleet(dead)))).toContain("  Start it again: svc restart ann");
    const problem = {
      severity: "fault",
      detail: "it is ill",
      remedy: { code: "relaunch_agent", agent_name: "ann" },
    } as const;
    expect(linesOf(stateAfter(fleet(agentSnapshot("ann", { problem }))))).toContain(
      "it is ill. Start it again with: svc restart ann",
    );
  });

  test("leaves out the name of the agent in its row", () => {
    const reasons = [
      { gateway: { state: "silent" as const, why: "no answer" } },
      { decision: question("Go on?") },
    ].map((attention) => linesOf(stateAfter(fleet(agentSnapshot("ann", { attention }))))[2]);
    expect(reasons).toEqual([
      expect.stringMatching(/- +takes no work: its gateway does not answer$/),
      expect.stringMatching(/- +asks: Go on\?$/),
    ]);
  });

  test("says that mail of a person waits", () => {
    const mail = {
      root: "/m",
      address: "me@svc.localhost",
      messageRef: "m1",
      from: "ann@svc.localhost",
      sinceUtc: "2026-01-01T00:00:00.000+00:00",
      subject: "done",
      agent: null,
    };
    const state = stateAfter(fleet(agentSnapshot("ann")), { kind: "mail", mail: [mail, mail] });
    expect(linesOf(state)[1]).toBe(
      "me@svc.localhost has mail from ann@svc.localhost: done, and 1 more: svc attention list",
    );
  });

  test("says what to do when there is nothing to show", () => {
    expect(linesOf(createInitialState(adviseInShort))[0]).toBe("looking at all agents");
    expect(linesOf(stateAfter(fleet()))[1]).toBe("no agents run. Start one: svc new first demo");
    expect(linesOf(stateAfter(fleet(asking), text("/zzz")))[1]).toBe("no agent matches the filter");
  });

  test("names all keys in the help, and only the way to end it where no keys come", () => {
    const lines = linesOf(stateAfter(fleet(asking), text("?")));
    for (const name of ["Enter", "p", "a", "i", "s", "/", "q, Ctrl-C"]) {
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^  ${name} `)));
    }
    const size = { columns: 80, rows: 10, nowMs, canType: false };
    expect(renderDashboard(stateAfter(fleet(asking)), size).rows.at(-1)?.text).toBe(
      "no keys: standard input is no terminal; Ctrl-C ends",
    );
  });
});

describe("any screen", () => {
  const hostile = fc.string({
    unit: fc.constantFrom("a", " ", "漢", "🙂", "\x1b[2J", "\x07", "\r", "\n", "\t", "\u202e", "\u0301", '"'),
    maxLength: 30,
  });
  const anyAgent = fc.record({
    name: fc.constantFrom("ann", "bob", "cyd"),
    asked: hostile,
    options: fc.array(hostile),
  });
  const anyEvent = fc.oneof(
    fc.uniqueArray(anyAgent, { selector: ({ name }) => name }).map((agents) =>
      fleet(
        ...agents.map(({ name, asked, options }) =>
          agentSnapshot(name, {
            problem: { severity: "fault", detail: asked, remedy: null },
            attention: options.length > 0 ? { decision: question(asked, options) } : {},
          }),
        ),
      ),
    ),
    fc.constantFrom(..."jkgGpais/?qyn12").map(text),
    fc.constantFrom("Enter", "Escape", "Up", "Backspace", "C-w", "C-j", "unknown", "C-l").map(key),
    hostile.map((pasted): DashboardEvent => ({ kind: "input", input: { kind: "paste", text: pasted } })),
    hostile.map((said): DashboardEvent => ({ kind: "warning", text: said })),
    fc.boolean().map((failed): DashboardEvent => ({ kind: "ended", number: 1, failed, text: "done" })),
  );

  test("fits its terminal, is visible text, and has one shown agent selected", () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { maxLength: 30 }),
        fc.integer({ min: 1, max: 90 }),
        fc.integer({ min: 1, max: 30 }),
        (events, columns, rows) => {
          const state = stateAfter(...events);
          const shown = shownRows(state).map(({ id }) => id);
          if (shown.length === 0) expect(state.selected).toBeNull();
          else expect(shown).toContain(state.selected as string);
          const frame = frameOf(state, columns, rows);
          expect(frame.rows.length).toBeLessThanOrEqual(rows);
          for (const { text: line } of frame.rows) {
            expect(widthOf(line)).toBeLessThanOrEqual(columns);
            expect(visibleCell(line)).toBe(line);
          }
          if (frame.cursor) {
            expect(frame.cursor.row).toBeWithin(0, frame.rows.length);
            expect(frame.cursor.column).toBeWithin(0, columns);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

test("without colours nothing but the cursor is moved", () => {
  const frame = frameOf(stateAfter(fleet(asking)));
  const plain = paintFrame(frame, false);
  expect(plain.match(/\x1b\[[\d;]*m/g)).toBeNull();
  expect(plain).toContain("> bob ");
  expect(paintFrame(frame, true)).toContain("\x1b[7m> bob ");
});
