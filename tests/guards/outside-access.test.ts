import { describe, expect, test } from "bun:test";
import { findModuleState, findOutsideAccess, findTmuxArguments } from "./outside-access.ts";
import { plantedTree, readTree } from "./tree.ts";

const files = readTree("src");

describe("the outside world", () => {
  test("is reached only in the modules for it", () => expect(findOutsideAccess(files)).toEqual([]));
  test("commands of tmux are only in services/terminal/tmux*", () =>
    expect(findTmuxArguments(files)).toEqual([]));
  test("no module keeps state", () => expect(findModuleState(files)).toEqual([]));
});

describe("a planted violation is seen", () => {
  const forced: { id: string; path: string; source: string }[] = [
    { id: "Bun.env", path: "src/services/a/b.ts", source: "Bun.env;" },
    { id: "Math.random", path: "src/services/a/b.ts", source: "Math.random();" },
    { id: "crypto.randomUUID", path: "src/services/a/b.ts", source: "crypto.randomUUID();" },
    { id: "code in a template", path: "src/db/a.ts", source: "const x = `a${Math.random()}b`;" },
    { id: "Bun.file", path: "src/services/a/b.ts", source: "Bun.file(p);" },
    { id: "Bun.spawn", path: "src/services/a/b.ts", source: "Bun.spawn([]);" },
    { id: "Bun.$", path: "src/cli/a.ts", source: "await Bun.$`ls`;" },
    { id: "a status in services", path: "src/services/a/b.ts", source: "if (reply.status === 404) f();" },
    { id: "a status table in services", path: "src/services/a/b.ts", source: "const t = {\n  404: f,\n};" },
  ];
  test.each(forced)("$id", ({ path, source }) => {
    expect(findOutsideAccess(plantedTree({ [path]: source }))).not.toEqual([]);
  });

  const allowed: { id: string; path: string; source: string }[] = [
    {
      id: "words in comments and strings",
      path: "src/db/a.ts",
      source: '// Date.now()\nconst x = "process.env";',
    },
    {
      id: "a status in the declaration of replies",
      path: "src/protocol/endpoints.ts",
      source: "f({ status: 202 });",
    },
    { id: "a status in routes", path: "src/routes/a.ts", source: "status(404, x);" },
  ];
  test.each(allowed)("not a violation: $id", ({ path, source }) => {
    expect(findOutsideAccess(plantedTree({ [path]: source }))).toEqual([]);
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
