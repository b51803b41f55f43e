import { expect, test } from "bun:test";
import type { InstanceRow, RequestStore } from "../../../src/db/gateway/request-store.ts";
import type { AdmissionBlock } from "../../../src/protocol/gateway.ts";
import { createStatusBoard } from "../../../src/services/status/status-board.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function openBoard() {
  const agent = createFakeAgent();
  const rows: InstanceRow[] = [];
  const told: string[] = [];
  const statuses: string[] = [];
  const disk: { full: boolean; block: AdmissionBlock | null } = { full: false, block: null };
  const lines: string[] = [];
  const save = (row: InstanceRow) => {
    if (disk.full) throw new Error("database or disk is full");
    rows.push(row);
  };
  const store = {
    instance: () => rows.at(-1) ?? null,
    saveInstance: (_: string, row: InstanceRow) => save(row),
    reconcile(_: string, row: InstanceRow) {
      save(row);
      return ["gwreq-old"];
    },
  } as unknown as RequestStore;
  const board = createStatusBoard({
    identity: {
      attachIdentity: "a",
      backend: "local_interactive",
      tmuxSessionName: "a",
      agentName: "fake",
      executionMode: "detached_process",
    },
    store,
    agent,
    events: { append: (kind) => void told.push(kind), subscribe: () => () => {} },
    log: {
      line: (text, fields) => void lines.push(fields?.["error"] ? `${text}: ${fields["error"]}` : text),
    },
    clock: createFakeClock(),
    onReconciled: () => {},
    storage: () => disk.block,
    slot: () => ({
      running: false,
      depth: 0,
      waiting: null,
      remindersLost: null,
      wakesHeld: null,
      budgetState: null,
      tokens: null,
      typing: null,
    }),
  });
  board.onChange((status) => void statuses.push(status.request_admission));
  return { agent, board, rows, told, statuses, disk, lines };
}

test("a new instance is in force and reported at once, also while the full disk cannot store it", () => {
  const { agent, board, rows, told, statuses, disk, lines } = openBoard();
  agent.setConnectivity({ instanceId: "one" });
  board.refresh();
  disk.full = true;
  agent.setConnectivity({ instanceId: "two" });
  board.refresh();
  board.refresh();
  expect(lines).toEqual(["agent instance not stored: database or disk is full"]);
  expect([board.epoch(), board.admission(), statuses.at(-1)]).toEqual([
    2,
    "blocked_reconciliation",
    "blocked_reconciliation",
  ]);
  expect(() => board.reconcile()).toThrow("full");
  expect(board.admission()).toBe("blocked_reconciliation");

  disk.full = false;
  expect(board.reconcile()).toEqual(["gwreq-old"]);
  expect(rows.at(-1)).toEqual({ epoch: 2, instanceId: "two", reconciledEpoch: 2 });
  expect(told).toEqual(["instance_changed", "reconciled"]);
  expect(board.admission()).toBe("open");
});

test("the status reports that nothing can be stored, and how to reopen a closed queue", () => {
  const { agent, board, disk, statuses } = openBoard();
  agent.setConnectivity({ instanceId: "one" });
  board.refresh();
  expect(board.status()).not.toHaveProperty("admission_block");
  disk.block = { reason: "disk_full", detail: "queue.sqlite cannot be used: the disk is full" };
  board.refresh();
  expect(board.status()).toMatchObject({
    gateway_health: "healthy",
    managed_agent_connectivity: "connected",
    managed_agent_recovery: "idle",
    request_admission: "blocked_unavailable",
    admission_block: disk.block,
  });
  disk.block = null;
  agent.setConnectivity({ instanceId: "two" });
  board.refresh();
  expect(board.block()).toEqual({
    reason: "reconciliation_required",
    detail: "the agent is a new instance and its queue is closed",
  });
  agent.setConnectivity({
    connected: false,
    detail: "session manifest manifest.json: not valid JSON",
    unusable: "manifest_unusable",
  });
  board.refresh();
  expect(board.status()).toMatchObject({
    managed_agent_connectivity: "unavailable",
    managed_agent_recovery: "awaiting_rebind",
    admission_block: { reason: "manifest_unusable" },
  });
  expect(statuses.at(-1)).toBe("blocked_unavailable");
});
