import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { checkSandboxes } from "../../../src/cli/checks/sessions.ts";
import {
  type CoordinatorRecord,
  coordinatorPaths,
  publishCoordinator,
} from "../../../src/services/fleet/coordinator-files.ts";
import { hasOwnNamespace } from "../../../src/system/process-table.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";
import { sampleRecord } from "../../support/session-samples.ts";

const pane = { paneId: "%0", panePid: 10, windowIndex: 0, dead: false };
const url = "http://127.0.0.1:9891";

function machine(scratch: Scratch, given: Given) {
  const runtimeRoot = scratch.path("runtime");
  if (given.token !== undefined) {
    const instance: CoordinatorRecord = {
      ...({ schema_version: 1, status: "ok", pid: 7, process_start: "start" } as const),
      api_base_url: url,
      server_root: scratch.path("server"),
      started_at_utc: "2026-11-21T04:47:00.000+00:00",
    };
    const paths = coordinatorPaths(runtimeRoot, "127.0.0.1", 9891);
    scratch.files.ensureDirectory("test", paths.runRoot);
    publishCoordinator(scratch.files, paths, instance, { token: given.token, challengeKey: "key" });
  }
  const shell = { pid: 10, parentPid: 1, command: "sh", argv: ["/bin/sh"] };
  const tool = { pid: 11, parentPid: 10, command: "tool", argv: given.argv };
  const context = {
    files: scratch.files,
    runtimeRoot,
    registry: { list: () => ({ records: [sampleRecord()], ignored: [] }) },
    tmuxFor: () => ({ panes: async () => [pane] }),
    processes: { tree: async () => [shell, tool], alive: () => true, startToken: () => "start" },
  };
  return checkSandboxes(context as never, () => given.apart === true);
}

interface Given {
  argv: string[];
  /** Of a coordination server that runs; null: it asks for none. Undefined: none runs. */
  token?: string | null;
  apart?: boolean;
}

test.each<{ id: string; given: Given; want: unknown[] }>([
  { id: "no sandbox: no line", given: { argv: ["claude"], token: null }, want: [] },
  {
    id: "bubblewrap and no server",
    given: { argv: ["/usr/bin/bwrap", "--ro-bind", "/", "/", "claude"] },
    want: ["ok: in a sandbox: worker (bwrap); no coordination server answers without a token"],
  },
  {
    id: "firejail and a server with a token",
    given: { argv: ["firejail", "claude"], token: "secret" },
    want: ["ok: in a sandbox: worker (firejail); no coordination server answers without a token"],
  },
  {
    id: "sandbox-exec and an open server",
    given: { argv: ["sandbox-exec", "-f", "p", "claude"], token: null },
    want: [
      expect.stringMatching(/^warning: in a sandbox: worker \(sandbox-exec\); .* through http:.* no token$/),
    ],
  },
  {
    id: "separate namespaces and an open server",
    given: { argv: ["claude"], apart: true, token: null },
    want: [expect.stringContaining("warning: in a sandbox: worker (separate namespaces); ")],
  },
])("doctor on an agent with $id", async ({ given, want }) => {
  using scratch = createScratch();
  const checks = await machine(scratch, given);
  expect(checks.map(({ verdict, detail }) => `${verdict}: ${detail}`)).toEqual(want as string[]);
  for (const { verdict, remedy } of checks) {
    expect(remedy).toBe(verdict === "ok" ? null : "end it and start it again: svc-coord serve --token");
  }
});

test("a process that sees other files or processes than we do is in a separate namespace", () => {
  using scratch = createScratch();
  for (const [pid, user] of [
    ["self", "1"],
    ["7", "1"],
    ["8", "2"],
  ] as const) {
    mkdirSync(scratch.path(`${pid}/ns`), { recursive: true });
    for (const [name, id] of [
      ["mnt", "1"],
      ["pid", "1"],
      ["user", user],
    ] as const) {
      symlinkSync(`${name}:[${id}]`, scratch.path(`${pid}/ns/${name}`));
    }
  }
  expect([7, 8, 9].map((pid) => hasOwnNamespace(pid, scratch.folder))).toEqual([false, true, false]);
});
