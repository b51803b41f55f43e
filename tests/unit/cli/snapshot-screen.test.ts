import { expect, test } from "bun:test";
import { renderSnapshotScreen } from "../../../src/cli/snapshot-text.ts";
import type { AgentSnapshot } from "../../../src/services/fleet/agent-snapshot.ts";

function snapshot(name: string): AgentSnapshot {
  const record = {
    agent_name: name,
    agent_id: `${name}-0123456789abcdef0123456789abcdef`,
    identity: { tool: "demo", backend: "local_interactive" },
    lifecycle: { state: "active" },
    terminal: {},
    runtime: { manifest_path: "/m" },
  } as unknown as AgentSnapshot["record"];
  const state = {
    availability: "available",
    turn: { phase: "ready" },
    last_turn: { result: "none", updated_at_utc: null },
    gateway: { queue_depth: 0 },
  } as unknown as AgentSnapshot["state"];
  return {
    ...{ record, state, gone: false, answered: true },
    ...{
      gatewayBaseUrl: "http://127.0.0.1:12345",
      unreadMail: null,
      queueDepth: null,
      problem: null,
      damaged: false,
      attention: null,
    },
  };
}

const screen = (count: number, columns: number, rows: number) =>
  renderSnapshotScreen({
    ...{ title: `${count} agents`, nowMs: 0, columns, rows },
    snapshots: Array.from({ length: count }, (_, index) => snapshot(`a${index}`)),
  });

test("a wide terminal shows every column", () => {
  const [title, header, ...lines] = screen(2, 200, 10);
  expect(title).toBe("2 agents");
  expect(header).toMatch(/^NAME +ID +TOOL +STATE +AVAILABILITY +TURN +QUEUE +MAIL +LAST TURN +GATEWAY$/);
  expect(lines).toHaveLength(2);
});

test.each([
  { columns: 100, header: /^NAME +TOOL +STATE +AVAILABILITY +TURN +QUEUE +MAIL +LAST TURN +GATEWAY$/ },
  { columns: 50, header: /^NAME +STATE +AVAILABILITY +TURN +QUEUE +MAIL$/ },
  { columns: 20, header: /^NAME +AVAILABILITY …$/ },
])("at $columns columns the least needed ones are left out, and no line is longer", ({ columns, header }) => {
  const lines = screen(3, columns, 10);
  expect(lines[1]).toMatch(header);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
});

test.each([
  { count: 8, rows: 10, lines: 10, last: /^a7/ },
  { count: 9, rows: 10, lines: 10, last: "and 2 more" },
  { count: 300, rows: 24, lines: 24, last: "and 279 more" },
])("$count agents take no more than $rows rows", ({ count, rows, lines, last }) => {
  const shown = screen(count, 80, rows);
  expect(shown).toHaveLength(lines);
  expect(shown.at(-1)).toMatch(last);
});
