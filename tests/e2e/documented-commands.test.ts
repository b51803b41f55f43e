import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listDocuments, readBlocks, type ShellBlock, shellBlocks } from "../../scripts/documents.ts";
import { findDifferences, printed, runBlocks } from "../support/document-run.ts";
import { matrixTests } from "../support/matrix.ts";
import { sparePorts } from "../support/spare-ports.ts";

const root = join(import.meta.dir, "..", "..");

/**
 * Runs the blocks of one document: the executables on PATH, an empty home and work folder, a tmux server of
 * its own. The coordination server's usual port may be taken on this machine, so it is another here.
 */
async function follow(blocks: readonly ShellBlock[]) {
  const folder = mkdtempSync(join(tmpdir(), "doc-"));
  const places = {
    HOME: join(folder, "home"),
    PWD: join(folder, "work"),
    TMPDIR: join(folder, "tmp"),
    TMUX_TMPDIR: join(folder, "tmux"),
  };
  for (const place of Object.values(places)) mkdirSync(place, { mode: 0o700 });
  const env = {
    ...places,
    PATH: `${join(root, "dist")}:${process.env["PATH"]}`,
    LANG: "C.UTF-8",
    SHELL: "/bin/sh",
    TERM: "xterm-256color",
  };
  const port = String((await sparePorts(1))[0]);
  try {
    const own = blocks.map((block) => ({ ...block, script: block.script.replaceAll("9891", port) }));
    const run = await runBlocks(own, { folder, cwd: places.PWD, env });
    return {
      ...run,
      began: run.began.map(({ block, output }) => ({ block, output: output.replaceAll(port, "9891") })),
    };
  } finally {
    await Bun.spawn(["tmux", "-N", "kill-server"], { env, stdout: "ignore", stderr: "ignore" }).exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

// README.md is followed on a clean clone: readme.test.ts. The guide to several hosts needs several:
// hosts-guide.test.ts.
const followedElsewhere = ["README.md", "docs/guides/hosts.md"];
const documents = listDocuments()
  .filter((path) => !followedElsewhere.includes(path))
  .map((path) => ({ path, blocks: readBlocks(path) }))
  .filter(({ blocks }) => blocks.some(({ mark }) => mark?.run));

await matrixTests({
  name: "the commands of a document run, and print what it shows",
  cases: () => documents,
  toId: ({ path }) => path,
  async run({ blocks }) {
    const run = await follow(blocks);
    expect(run.exitCode, run.transcript).toBe(0);
    expect(findDifferences(run)).toEqual([]);
  },
  lanes: 3,
  timeoutMs: 240_000,
});

test("the loop of an upgrade restarts the gateway of each agent while something waits for a person", async () => {
  const loop = readBlocks("docs/guides/operations.md")
    .map(({ script }) => script)
    .find((script) => script.includes("gateway detach"));
  const fence = "```";
  const before = [
    ...["first", "second"].map((name) => `svc-mgr agents launch --tool demo --agent-name ${name} --mailbox`),
    "svc-mgr mailbox register --address ann@svc.localhost --principal-id SVC-ann --role person",
    "svc-mgr mail send --address first@svc.localhost --to ann@svc.localhost --subject hello --body-content you",
    "svc-mgr agents list",
  ].join("\n");
  const document = `<!-- run: e2e -->\n${fence}sh\n${before}\n${fence}\n\n<!-- run: e2e -->\n${fence}sh\n${loop}\n${fence}\n`;
  const run = await follow(shellBlocks("upgrade.md", document));
  expect(run.exitCode, run.transcript).toBe(0);
  const [prepared, upgraded] = run.began.map(({ output }) => output);
  expect(prepared).toContain("hello");
  expect(upgraded?.match(/^the gateway has ended\ngateway started: /gm)).toHaveLength(2);
}, 120_000);

describe("what a document says wrongly is seen", () => {
  const fence = "```";
  const document = (script: string, shown = "") =>
    shellBlocks(
      "planted.md",
      `<!-- run: e2e -->\n${fence}sh\n${script}\n${fence}\n${shown && `\n<!-- shown -->\n${fence}text\n${shown}\n${fence}\n`}`,
    );

  test("a command that fails", async () => {
    const run = await follow(document("svc-mgr --version\nfalse\necho after"));
    expect(run.exitCode).toBe(1);
    expect(run.began[0]?.output).toMatch(/^\d+\.\d+\.\d+/);
    expect(run.transcript).not.toMatch(/^after$/m);
  });

  test("output that is not printed", async () => {
    const run = await follow(document("echo one\necho two", "one\nthree"));
    expect(run.exitCode).toBe(0);
    expect(findDifferences(run)).toHaveLength(1);
  });

  test("a command that waits for input gets none, and what is left in the background ends", async () => {
    const run = await follow(document("cat\nsleep 1000 &\necho done", "done"));
    expect(run.exitCode).toBe(0);
    expect(findDifferences(run)).toEqual([]);
  });

  const output = "a  1  x\nb  2  y\nc  3  z\n";
  const cases: { id: string; shown: string; want: boolean }[] = [
    { id: "some lines in a row", shown: "b 2 y\nc 3 z", want: true },
    { id: "lines with a gap that is not told", shown: "a 1 x\nc 3 z", want: false },
    { id: "lines with a gap that is told", shown: "a 1 x\n…\nc 3 z", want: true },
    { id: "part of a line", shown: "b … y", want: true },
    { id: "part of a line that is not told", shown: "b 2", want: false },
    { id: "another order", shown: "b 2 y\n…\na 1 x", want: false },
  ];
  test.each(cases)("$id", ({ shown, want }) => {
    expect(printed(shown, output)).toBe(want);
  });
});
