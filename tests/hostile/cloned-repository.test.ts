import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { bridgePaths } from "../../src/services/headless/acp-files.ts";
import { turnPaths } from "../../src/services/headless/turn-directory.ts";
import { rootPaths } from "../../src/services/mail/filesystem/root-paths.ts";
import { transcriptPaths } from "../../src/services/sessions/conversations.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { chooseCases, isWholeMatrix, matrixChoice } from "../support/matrix.ts";
import { createScratch } from "../support/scratch.ts";
import { columnsOf } from "./trees/databases.ts";
import { fileKinds, filesBelow } from "./trees/file-kinds.ts";
import { secretPrompt, secretToken } from "./trees/operations.ts";
import { listPlants, readDocument } from "./trees/plants.ts";
import { describeFinding, runTrees } from "./trees/run-trees.ts";
import { fieldsOf } from "./trees/schema-fields.ts";
import { agents, makeTemplate, treePaths, turnId } from "./trees/template.ts";
import {
  compareSnapshots,
  makePrecious,
  type PlantedListener,
  plantListener,
  readWitness,
  takeSnapshot,
} from "./trees/witnesses.ts";

const executable = join(import.meta.dir, "../../dist/svc-gateway");

describe("the generator", () => {
  const scratch = createScratch();
  const tree = scratch.path("clone");
  beforeAll(() =>
    makeTemplate({
      tree,
      state: scratch.path("state"),
      witness: scratch.path("witness"),
      bystanderPid: process.pid,
      ports: [1, 2, 3],
    }),
  );
  afterAll(() => scratch[Symbol.dispose]());

  test("plants in every file of a tree that the product made", () => {
    const covered = new Set(fileKinds(tree).flatMap(({ paths }) => paths));
    const programs = ["planted-program", "tmux", "git", "ps", "claude", "svc-mgr", "svc-gateway"];
    const missing = filesBelow(tree).filter(
      (path) => !covered.has(path) && !programs.some((name) => path === join(tree, name)),
    );
    expect(missing).toEqual([]);
    expect(filesBelow(tree).length).toBeGreaterThan(40);
  });

  test("plants in every path that the product's own tables name", () => {
    const paths = treePaths(tree);
    const places = listPlants(tree);
    const planted = new Set([
      ...places.flatMap((plant) => (plant.what === "special" ? [plant.path] : plant.kind.paths)),
    ]);
    const made = /\.lock$|\/(?:locks|staging)(?:\/|$)/;
    const named = [
      ...paths.sessions.flatMap((root) => Object.values(sessionPaths(root))),
      ...paths.turns.flatMap((folder) => Object.values(turnPaths(folder))),
      ...paths.sessions.flatMap((root) => Object.values(transcriptPaths(root))),
      ...Object.values(bridgePaths(paths.sessions[2] ?? "")),
      ...Object.values(rootPaths(paths.mailbox)),
      ...Object.values(paths.coordinator),
    ].filter((path) => !made.test(path));
    expect(named.filter((path) => !planted.has(path))).toEqual([]);
  });

  test("plants in every kind of file that the documentation names", () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/how-it-works.md"), "utf8");
    const table = /\| file \| holds \| authority \|\n([\s\S]*?)\n\n/.exec(page)?.[1] ?? "";
    const documented = table.split("\n").flatMap((row) => {
      const [, first = ""] = row.split("|");
      return [...first.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    });
    expect(documented.length).toBeGreaterThan(12);
    const places = listPlants(tree).flatMap((plant) =>
      plant.what === "special" ? [plant.path] : plant.kind.paths,
    );
    // These lie in the user's state folder, never in a tree; the key is read for a record there alone.
    const elsewhere = [
      "registry/live_agents/<id>/record.json",
      "registry/locks/<id>.lock",
      "overlays/<id>.json",
      ".svc/adoption-key",
      "deliveries/<registry>/deliveries.sqlite",
    ];
    const missing = documented
      .filter((name) => !elsewhere.includes(name))
      .filter((name) => !places.some((path) => patternOf(name).test(path)));
    expect(missing).toEqual([]);
  });

  test("begins with documents that fit their schemas, and knows all of their fields", () => {
    for (const kind of fileKinds(tree)) {
      if (!kind.schema) continue;
      const { schema } = kind;
      for (const path of kind.paths) {
        const document = readDocument(kind, path);
        const errors = [...Value.Errors(schema, document)].map(
          (error) => `${path}${error.path}: ${error.message}`,
        );
        expect(errors).toEqual([]);
      }
      expect(fieldsOf(schema).length).toBeGreaterThan(1);
    }
  });

  test("plants in every column of every database", () => {
    const columns = listPlants(tree).flatMap((plant) =>
      plant.what === "column" ? [`${plant.table}.${plant.column}`] : [],
    );
    for (const column of [
      "pending_artifacts.path",
      "registrations.mailbox_path",
      "gateway_requests.payload_json",
    ]) {
      expect(columns).toContain(column);
    }
    const databases = fileKinds(tree).filter(({ layout }) => layout === "sqlite");
    const all = databases.flatMap(({ paths }) => columnsOf(paths[0] ?? ""));
    expect(columns.length).toBe(all.length);
  });
});

/** `.../gateway/run/token` and `MAILBOX_ROOT/messages/<date>/<id>.md` as they end. */
function patternOf(name: string): RegExp {
  const words = name
    .replace(/^(?:\.\.\.|MAILBOX_ROOT)\//, "")
    .split("/")
    .filter((word) => word !== "")
    .map((word) => (/^<.*>$/.test(word) ? "[^/]+" : word.replace(/<[^>]+>/, "[^/]+").replaceAll(".", "\\.")));
  return new RegExp(`/${words.join("/")}(?:/|$)`);
}

describe("a cloned repository, with the built executables", () => {
  let fixture: CliFixture;
  let tree: string;
  let template: string;
  let listener: PlantedListener;
  const watched: string[] = [];

  beforeAll(async () => {
    fixture = createCliFixture({ executable });
    fixture.env["SVC_GATEWAY_TOKEN"] = secretToken;
    fixture.env["SVC_COORD_TOKEN"] = secretToken;
    tree = join(fixture.folder, "home", "clone");
    template = join(fixture.folder, "template");
    watched.push(join(fixture.folder, "home", "precious-5d10"), join(fixture.folder, "precious-0e2f"));
    for (const folder of watched) makePrecious(folder);
    const status = () =>
      JSON.parse(readFileSync(sessionPaths(treePaths(template).sessions[0] ?? "").state, "utf8")) as object;
    listener = plantListener(status);
    const ports = [listener.port, listener.port, listener.port];
    const state = join(fixture.folder, "state-of-others");
    const witness = join(fixture.folder, "witness");
    await makeTemplate({ tree, state, witness, bystanderPid: process.pid, ports });
    cpSync(tree, template, { recursive: true });
  });
  afterAll(async () => {
    listener.stop();
    await fixture[Symbol.asyncDispose]();
  });

  /** Runs commands in a fresh copy of the tree; `change` plants something in it first. */
  async function inClone(
    change: (paths: ReturnType<typeof treePaths>) => void,
    commands: readonly (readonly string[])[],
    { adopted = false } = {},
  ): Promise<string[]> {
    rmSync(tree, { recursive: true, force: true });
    cpSync(template, tree, { recursive: true });
    const run = (words: readonly string[]) => fixture.run("svc-mgr", words, { cwd: tree, timeoutMs: 20_000 });
    if (adopted) expect((await run(["overlay", "adopt"])).exitCode).toBe(0);
    change(treePaths(tree));
    const before = watched.map((folder) => takeSnapshot(folder, []));
    for (const words of commands) {
      const { exitCode, stderr } = await run(words);
      expect([0, 1, 2, 3]).toContain(exitCode ?? -1);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
    return [
      ...watched.flatMap((folder, index) =>
        compareSnapshots(before[index] ?? new Map(), takeSnapshot(folder, [])),
      ),
      ...listener.takeSecrets(),
      ...(readWitness(join(fixture.folder, "witness")) ?? "").split("\n").filter((line) => line !== ""),
    ];
  }

  const pending =
    (action: string, path: string, destination: string | null) => (paths: { mailbox: string }) => {
      const database = new Database(join(paths.mailbox, "index.sqlite"), { readwrite: true });
      database.run("INSERT INTO pending_artifacts (action, path, destination) VALUES (?, ?, ?)", [
        action,
        path,
        destination,
      ]);
      database.close();
    };
  const everyMailCommand = [
    ["mailbox", "init"],
    ["mailbox", "status"],
    ["mailbox", "accounts", "list"],
    ["mailbox", "cleanup", "--yes"],
    ["mailbox", "repair"],
    ["mailbox", "register", "--address", "carol@svc.localhost", "--principal-id", "SVC-carol"],
  ];
  const beyond = "../../../precious-5d10";

  const indexes = [
    { what: "a folder to remove by traversal", change: pending("remove", beyond, null) },
    { what: "a folder to rename by traversal", change: pending("rename", beyond, "mailboxes/taken") },
    { what: "a folder to rename onto another", change: pending("rename", "rules", `${beyond}/rules`) },
  ];
  const linked = [
    "rules",
    "mailboxes",
    "messages",
    "attachments",
    "staging",
    "locks",
    "index.sqlite",
    "index.sqlite-wal",
  ];
  interface PlantedMail {
    id: string;
    change: (paths: ReturnType<typeof treePaths>) => void;
    /** Whether the folder is adopted, or its mailbox is named in each command. */
    how: "adopted" | "not adopted" | "named";
  }
  const plantedMail: PlantedMail[] = [
    ...indexes.flatMap(({ what, change }) =>
      (["adopted", "not adopted", "named"] as const).map((how) => ({
        id: `an index with ${what}, ${how}`,
        change,
        how,
      })),
    ),
    ...linked.map((name) => ({
      id: `a link in place of ${name}`,
      change: ({ mailbox }: { mailbox: string }) => {
        rmSync(join(mailbox, name), { recursive: true, force: true });
        symlinkSync(
          name.includes("sqlite") ? join(watched[0] ?? "", "empty") : (watched[0] ?? ""),
          join(mailbox, name),
        );
      },
      how: "adopted" as const,
    })),
  ];

  test.each(chooseCases(plantedMail, ({ id }) => id, matrixChoice))(
    "$id, leads no command of mail out of the tree",
    async ({ change, how }) => {
      const commands = everyMailCommand.map((words) =>
        how === "named" ? [...words, "--mailbox-root", treePaths(tree).mailbox] : words,
      );
      expect(await inClone(change, commands, { adopted: how === "adopted" })).toEqual([]);
    },
    120_000,
  );

  test("an index with a folder to remove survives a launch with a mailbox", async () => {
    const launch = [
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      "fresh",
      "--mailbox",
      "--no-gateway",
    ];
    const stop = ["agents", "single", "--agent-name", "fresh", "stop"];
    for (const adopted of [false, true]) {
      expect(await inClone(pending("remove", beyond, null), [launch, stop], { adopted })).toEqual([]);
    }
  }, 120_000);

  test("a planted current-instance.json gets neither the token nor a prompt", async () => {
    const state = join(fixture.folder, "home", ".local", "state", "svc");
    mkdirSync(state, { recursive: true, mode: 0o700 });
    cpSync(join(fixture.folder, "state-of-others"), state, { recursive: true });
    const worker = ["agents", "single", "--agent-name", agents[0].name];
    const commands = [
      [...worker, "gateway", "status"],
      [...worker, "state"],
      [...worker, "prompt", "--prompt", secretPrompt],
      [...worker, "gateway", "prompt", "--prompt", secretPrompt, "--admission-policy", "always"],
      [...worker, "mail", "list"],
      ["agents", "list"],
    ];
    const isPlanted = ({ sessions }: ReturnType<typeof treePaths>) => {
      const record = readFileSync(sessionPaths(sessions[0] ?? "").currentInstance, "utf8");
      expect(JSON.parse(record)).toMatchObject({ port: listener.port, pid: process.pid });
    };
    for (const adopted of [false, true]) expect(await inClone(isPlanted, commands, { adopted })).toEqual([]);
    // The last tree is adopted: its record was read, and the agent behind it found.
    const run = (...words: string[]) => fixture.run("svc-mgr", words, { cwd: tree, timeoutMs: 20_000 });
    const listed = await run("agents", "list", "--state", "all", "--json");
    expect(listed.stdout).toContain(agents[0].id);
    const prompt = await run(...worker, "gateway", "prompt", "--prompt", secretPrompt);
    expect(prompt.stderr).toContain('no healthy gateway serves "worker" (no gateway runs for this agent)');
    expect(listener.takeSecrets()).toEqual([]);
  }, 120_000);

  test("what a turn brought is shown at a terminal without its control characters", async () => {
    rmSync(tree, { recursive: true, force: true });
    cpSync(template, tree, { recursive: true });
    const [turn = ""] = treePaths(tree).turns;
    expect((await fixture.run("svc-mgr", ["overlay", "adopt"], { cwd: tree })).exitCode).toBe(0);
    const paths = turnPaths(turn);
    const hostile = "a\x1b]0;title\x07\x7fb\u009bc\u202ed";
    const request = JSON.parse(readFileSync(paths.request, "utf8")) as object;
    writeFileSync(paths.request, JSON.stringify({ ...request, tracked_agent_id: hostile }));
    for (const path of [paths.stdout, paths.stderr]) {
      writeFileSync(
        path,
        Buffer.concat([Buffer.from(`${hostile}\u00e9`.repeat(20_000)), Buffer.from([0x9b])]),
      );
    }
    const forbidden = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e]/;
    const worker = ["agents", "single", "--agent-name", agents[1].name, "turn"];
    for (const words of [["events"], ["events", "--json"], ["stdout"], ["stdout", "--json"], ["stderr"]]) {
      // `script` gives the program a terminal of its own and writes down every byte that reaches it.
      const line = [...fixture.command("svc-mgr"), ...worker, words[0] ?? "", turnId, ...words.slice(1)].join(
        " ",
      );
      const { stdout } = await fixture.shell(`cd ${tree} && script -qec '${line}' /dev/null`);
      const shown = stdout.replaceAll("\r\n", "\n");
      expect([words, forbidden.exec(shown)]).toEqual([words, null]);
      if (words.includes("--json") || words[0] !== "events") expect(shown).toContain("\\u007f");
    }
  }, 120_000);

  test("programs of the working directory are not run", async () => {
    const commands = [
      ["doctor"],
      ["doctor", "--fix"],
      ["tools", "list"],
      ["system-skills", "uninstall", "--tool", "claude"],
    ];
    expect(await inClone(({ profiles }) => writeFileSync(`${profiles}.x`, ""), commands)).toEqual([]);
  }, 120_000);
});

test("trees with hostile values in every field change nothing outside, get no token and run nothing", async () => {
  const { sample } = matrixChoice;
  const seed = sample === null ? 1 : Bun.hash.crc32(sample.seed);
  const trees = sample === null ? 150 : sample.count;
  console.log(`to repeat it: bun run fuzz --trees ${trees} --seed ${seed}`);
  const run = await runTrees({ seed, trees, seconds: 60 });
  expect(run.findings.map(describeFinding)).toEqual([]);
  expect(run.trees).toBeGreaterThan(Math.min(trees, 20) - 1);
  expect(run.operations).toBeGreaterThan(run.trees);
}, 180_000);

if (isWholeMatrix) {
  describe("the commands run by a program", () => {
    test("the executables run nothing of the files for their runtime either", async () => {
      const run = await runTrees({ seed: 1, trees: 12, seconds: 60, programs: dirname(executable) });
      expect(run.findings.map(describeFinding)).toEqual([]);
      expect(run.operations).toBeGreaterThan(8);
    }, 180_000);

    test("a program that Bun starts in the usual way is found out", async () => {
      using scratch = createScratch();
      const entry = join(import.meta.dir, "../../src/cli/svc-mgr.ts");
      const script = `#!/bin/sh\nexec "${process.execPath}" "${entry}" "$@"\n`;
      writeFileSync(scratch.path("svc-mgr"), script, { mode: 0o755 });
      writeFileSync(scratch.path("svc-coord"), script.replace("svc-mgr.ts", "svc-coord.ts"), { mode: 0o755 });
      const run = await runTrees({ seed: 3, trees: 2, programs: scratch.folder });
      const problems = run.findings.map(({ problem }) => problem);
      expect(problems).toContainEqual(expect.stringMatching(/^ran code of the folder: /));
    }, 180_000);
  });
}
