import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFiles, type Files } from "../../src/system/files.ts";
import { createIds } from "../../src/system/ids.ts";

export interface Scratch extends Disposable {
  folder: string;
  files: Files;
  /** Labels of the steps taken, in order. */
  labels: string[];
  /** Called before each step; a throw prevents it. */
  beforeStep: (label: string) => void;
  path(name: string): string;
}

/** A folder of its own on the real file system, removed at the end. */
export function createScratch(): Scratch {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-scratch-")));
  const labels: string[] = [];
  const scratch: Scratch = {
    folder,
    labels,
    beforeStep: () => {},
    files: createFiles({
      ids: createIds(),
      steps: {
        before: (label) => scratch.beforeStep(label),
        after: (label) => void labels.push(label),
      },
    }),
    path: (name) => join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
  return scratch;
}
