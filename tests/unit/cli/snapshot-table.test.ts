import { expect, test } from "bun:test";
import { renderSnapshotTable } from "../../../src/cli/agent/snapshot-text.ts";
import { adviseInManager } from "../../../src/cli/command-line/remedies.ts";
import type { AgentSnapshot } from "../../../src/services/fleet/fleet-list.ts";

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
    record,
    state,
    gone: false,
    answered: true,
    turnSinceUtc: null,
    gatewayBaseUrl: "http://127.0.0.1:12345",
    workingDirectory: "/project",
    unreadMail: null,
    queueDepth: null,
    problem: null,
    attention: null,
  };
}

const table = (count: number, columns: number) =>
  renderSnapshotTable(
    Array.from({ length: count }, (_, index) => snapshot(`a${index}`)),
    0,
    columns,
    adviseInManager,
  );

test("a wide terminal shows every column", () => {
  const [header, ...lines] = table(2, 200);
  expect(header).toMatch(/^NAME +ID +TOOL +STATE +AVAILABILITY +TURN +QUEUE +MAIL +LAST TURN +GATEWAY$/);
  expect(lines).toHaveLength(2);
});

test.each([
  { columns: 100, header: /^NAME +TOOL +STATE +AVAILABILITY +TURN +QUEUE +MAIL +LAST TURN +GATEWAY$/ },
  { columns: 50, header: /^NAME +STATE +AVAILABILITY +TURN +QUEUE +MAIL$/ },
  { columns: 20, header: /^NAME +AVAILABILITY +TURN +QUEUE +MAIL$/ },
])("at $columns columns the least needed ones are left out", ({ columns, header }) => {
  expect(table(3, columns)[0]).toMatch(header);
});
