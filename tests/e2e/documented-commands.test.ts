import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ShellBlock, shellBlocks } from "../guards/runnable-blocks.ts";
import { createTmux } from "../support/tmux.ts";

const root = join(import.meta.dir, "..", "..");

/**
 * Runs the blocks of one document marked `run: e2e`, one after the other in one shell: the executables on PATH,
 * an empty home and work folder, a tmux server of its own. Ends at the first command that fails.
 */
async function runBlocks(blocks: ShellBlock[]): Promise<{ exitCode: number; output: string }> {
  await using server = await createTmux();
  const folder = mkdtempSync(join(tmpdir(), "svc-documents-"));
  const places = { HOME: join(folder, "home"), PWD: join(folder, "work"), TMPDIR: join(folder, "tmp") };
  for (const place of Object.values(places)) mkdirSync(place, { mode: 0o700 });
  try {
    const script = blocks.filter(({ mark }) => mark?.run).map((block) => block.script);
    const child = Bun.spawn(["sh", "-eux"], {
      cwd: places.PWD,
      env: {
        ...places,
        PATH: `${join(root, "dist")}:${process.env["PATH"]}`,
        SVC_TMUX_SOCKET: server.socket,
      },
      stdin: new Blob(["exec 2>&1\n", ...script]),
      stdout: "pipe",
    });
    const output = await new Response(child.stdout).text();
    return { exitCode: await child.exited, output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const listed = [".", "docs"]
  .flatMap((folder) =>
    existsSync(join(root, folder)) ? readdirSync(join(root, folder)).map((name) => join(folder, name)) : [],
  )
  .filter((path) => path.endsWith(".md"));
const documents = listed.map((path) => ({
  path,
  blocks: shellBlocks(path, readFileSync(join(root, path), "utf8")),
}));

test.each(documents)(
  "the commands of $path run",
  async ({ blocks }) => {
    const { exitCode, output } = await runBlocks(blocks);
    expect(exitCode, output).toBe(0);
  },
  120_000,
);

test("a documented command that fails is seen", async () => {
  const fence = "```";
  const markdown = `<!-- run: e2e -->\n${fence}sh\nsvc-mgr --version\nfalse\necho after\n${fence}\n`;
  const { exitCode, output } = await runBlocks(shellBlocks("planted.md", markdown));
  expect(exitCode).toBe(1);
  expect(output).toMatch(/\n\d+\.\d+\.\d+/);
  expect(output).not.toMatch(/^after$/m);
});
