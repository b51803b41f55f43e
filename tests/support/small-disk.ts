import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./until.ts";

/** A file system of its own that can run full, run out of names, or be made read-only. */
export interface SmallDisk extends AsyncDisposable {
  path: string;
  /** Takes all room; a second call takes what has become free since. */
  fill(): void;
  /** What `work` comes to while all room is taken, also what becomes free meanwhile. */
  whileFull<T>(work: () => Promise<T>): Promise<T>;
  /** Takes all names. */
  fillNames(): void;
  /** Gives back what the fills took. */
  free(): void;
  /** Waits while a file is open for writing. */
  readOnly(on: boolean): Promise<void>;
}

const ballast = ".ballast";

/** Mounts a tmpfs. Without the right to mount nothing is proved, so that fails and says so. */
export function mountSmallDisk(options: { bytes: number; names?: number }): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), "svc-disk-"));
  const names = options.names === undefined ? "" : `,nr_inodes=${options.names}`;
  mount("-t", "tmpfs", "-o", `size=${options.bytes},mode=700${names}`, "tmpfs", path);
  let taken = 0;

  function mount(...words: string[]): void {
    const { exitCode, stderr } = Bun.spawnSync(["mount", ...words]);
    if (exitCode === 0) return;
    throw new Error(
      `this proof mounts a small tmpfs, and that was refused: run it as root on Linux (${stderr.toString().trim()})`,
    );
  }

  const disk: SmallDisk = {
    path,
    fill() {
      const handle = openSync(join(path, `${ballast}-${taken++}`), "w");
      const block = new Uint8Array(4096);
      try {
        // The last page may be taken by another writer at the same moment: full is when a write fails.
        for (;;) writeSync(handle, block);
      } catch (error) {
        if ((error as { code?: string }).code !== "ENOSPC") throw error;
      }
      closeSync(handle);
    },
    async whileFull(work) {
      disk.fill();
      const filling = setInterval(disk.fill, 1);
      try {
        return await work();
      } finally {
        clearInterval(filling);
      }
    },
    fillNames() {
      try {
        for (;;) closeSync(openSync(join(path, `${ballast}-${taken++}`), "w"));
      } catch (error) {
        if ((error as { code?: string }).code !== "ENOSPC") throw error;
      }
    },
    free() {
      for (const name of readdirSync(path)) if (name.startsWith(ballast)) rmSync(join(path, name));
    },
    // This mount rather than its file system, which would also mind files that were removed and are still
    // open.
    async readOnly(on) {
      const words = ["mount", "-o", `remount,bind,${on ? "ro" : "rw"}`, path];
      await until("nobody writes", () => Bun.spawnSync(words).exitCode === 0);
    },
    async [Symbol.asyncDispose]() {
      Bun.spawnSync(["umount", "--lazy", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
  return disk;
}
