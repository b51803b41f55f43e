import { describe, expect, test } from "bun:test";
import { findForcedDoors, findModuleState, findTmuxArguments } from "./doors.ts";
import { plantedTree, readTree } from "./tree.ts";

const files = readTree("src");

describe("the doors", () => {
  test("each thing is touched only where its door stands", () => expect(findForcedDoors(files)).toEqual([]));
  test("tmux is spoken only in services/terminal/tmux*", () => expect(findTmuxArguments(files)).toEqual([]));
  test("no module keeps state", () => expect(findModuleState(files)).toEqual([]));
});

describe("a planted violation is seen", () => {
  const forced: { id: string; path: string; source: string }[] = [
    { id: "process.env in services", path: "src/services/a/b.ts", source: "const x = process.env;" },
    { id: "process by index", path: "src/db/a.ts", source: 'process["pid"];' },
    { id: "node:process", path: "src/db/a.ts", source: 'import { pid } from "node:process";' },
    { id: "Bun.env", path: "src/services/a/b.ts", source: "Bun.env;" },
    { id: "new Date", path: "src/services/a/b.ts", source: "new Date();" },
    { id: "Date.now in cli", path: "src/cli/a.ts", source: "Date.now();" },
    { id: "performance.now", path: "src/db/a.ts", source: "performance.now();" },
    { id: "setTimeout", path: "src/services/a/b.ts", source: "setTimeout(f, 1);" },
    { id: "setImmediate", path: "src/db/a.ts", source: "setImmediate(f);" },
    { id: "node:timers", path: "src/db/a.ts", source: 'import { x } from "node:timers/promises";' },
    { id: "Math.random", path: "src/services/a/b.ts", source: "Math.random();" },
    { id: "crypto.randomUUID", path: "src/services/a/b.ts", source: "crypto.randomUUID();" },
    { id: "code in a template", path: "src/db/a.ts", source: "const x = `a${Math.random()}b`;" },
    { id: "node:fs", path: "src/cli/a.ts", source: 'import { readFileSync } from "node:fs";' },
    { id: "Bun.file", path: "src/services/a/b.ts", source: "Bun.file(p);" },
    { id: "Bun.spawn", path: "src/services/a/b.ts", source: "Bun.spawn([]);" },
    { id: "Bun.$", path: "src/cli/a.ts", source: "await Bun.$`ls`;" },
    { id: "child_process", path: "src/cli/a.ts", source: 'import { exec } from "node:child_process";' },
    { id: "elysia in services", path: "src/services/a/b.ts", source: 'import { Elysia } from "elysia";' },
    {
      id: "an elysia type in cli",
      path: "src/cli/a.ts",
      source: 'import type { X } from "@elysiajs/openapi";',
    },
    { id: "drizzle in services", path: "src/services/a/b.ts", source: 'import { eq } from "drizzle-orm";' },
    { id: "bun:sqlite in cli", path: "src/cli/a.ts", source: 'import { Database } from "bun:sqlite";' },
    { id: "a status in services", path: "src/services/a/b.ts", source: "if (reply.status === 404) f();" },
    { id: "a status table in services", path: "src/services/a/b.ts", source: "const t = {\n  404: f,\n};" },
    {
      id: "a status in another protocol file",
      path: "src/protocol/mail.ts",
      source: "const x = { status: 202 };",
    },
    { id: "Bun in routes", path: "src/routes/a.ts", source: "Bun.serve({});" },
    { id: "Buffer in protocol", path: "src/protocol/a.ts", source: "Buffer.from(x);" },
    { id: "node:path in routes", path: "src/routes/a.ts", source: 'import { join } from "node:path";' },
    { id: "a bun module in routes", path: "src/routes/a.ts", source: 'import { x } from "bun:ffi";' },
  ];
  test.each(forced)("$id", ({ path, source }) => {
    expect(findForcedDoors(plantedTree({ [path]: source }))).not.toEqual([]);
  });

  const allowed: { id: string; path: string; source: string }[] = [
    {
      id: "words in comments and strings",
      path: "src/db/a.ts",
      source: '// Date.now()\nconst x = "process.env";',
    },
    { id: "Date in system", path: "src/system/clock.ts", source: "Date.now();" },
    { id: "process in cli", path: "src/cli/a.ts", source: "process.exitCode = 1;" },
    {
      id: "a status in the declaration of replies",
      path: "src/protocol/endpoints.ts",
      source: "f({ status: 202 });",
    },
    { id: "a status in routes", path: "src/routes/a.ts", source: "status(404, x);" },
    {
      id: "a record called process",
      path: "src/services/a/b.ts",
      source: "tree.map((process) => process.argv);",
    },
    { id: "a variable called processes", path: "src/services/a/b.ts", source: "processes.run([]);" },
  ];
  test.each(allowed)("not a violation: $id", ({ path, source }) => {
    expect(findForcedDoors(plantedTree({ [path]: source }))).toEqual([]);
  });

  const tmux: { id: string; source: string; found: number }[] = [
    { id: "an argument list", source: 'run(["tmux", "-L", name]);', found: 1 },
    { id: "a subcommand", source: "client.send(`capture-pane -p -t ${pane}`);", found: 1 },
    { id: "send-keys with a flag", source: 'client.send("send-keys -l x");', found: 1 },
    {
      id: "the contract's word send-keys",
      source: 'const path = "/v1/control/send-keys"; const c = "send-keys";',
      found: 0,
    },
    { id: "the tool's name", source: 'processes.which("tmux");', found: 0 },
  ];
  test.each(tmux)("tmux: $id", ({ source, found }) => {
    expect(findTmuxArguments(plantedTree({ "src/services/agent/a.ts": source }))).toHaveLength(found);
  });

  test("a module that keeps state", () => {
    expect(
      findModuleState(plantedTree({ "src/db/a.ts": "let open = 0;\nfunction f() {\n  let x = 1;\n}" })),
    ).toHaveLength(1);
  });
});
