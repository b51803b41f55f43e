import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const module = join(import.meta.dir, "../../src/system/open-file.ts");

// In a process of its own: whoever waits for a pipe hears nothing else any more.
test.each(["readText(path)", "readPart(path, 0, 10).length"])(
  "%s waits for nobody at the other end of a pipe that is where a file of ours should",
  (call) => {
    const folder = mkdtempSync(join(tmpdir(), "svc-pipe-"));
    try {
      const path = join(folder, "events.jsonl");
      expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
      const script = `const { readText, readPart } = await import(${JSON.stringify(module)});
        const path = ${JSON.stringify(path)};
        console.log(${call});`;
      const { exitCode, stdout } = Bun.spawnSync([process.execPath, "-e", script], { timeout: 10_000 });
      expect([exitCode, ["null\n", "0\n"].includes(stdout.toString())]).toEqual([0, true]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  30_000,
);
