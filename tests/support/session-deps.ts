import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RegistryRecord } from "../../src/protocol/files.ts";
import { createRegistry, type Registry } from "../../src/services/sessions/registry.ts";
import { createLocks, type Locks } from "../../src/system/locks.ts";
import { createSystem, type System } from "../../src/system/system.ts";

export interface RegistryFixture extends Disposable {
  system: System;
  locks: Locks;
  /** Private folder, removed at the end. */
  folder: string;
  root: string;
  /** Sessions that tmux would know. */
  living: Set<string>;
  registry: Registry;
}

/** A registry on a folder of its own, over a set that stands for tmux. */
export function createRegistryFixture(): RegistryFixture {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-registry-")));
  const root = join(folder, "registry");
  const system = createSystem();
  const locks = createLocks(system);
  const living = new Set<string>();
  const sessionAlive = async ({ terminal }: RegistryRecord) =>
    living.has(terminal.current_session_name ?? "");
  return {
    system,
    locks,
    folder,
    root,
    living,
    registry: createRegistry({ ...system, locks, root, sessionAlive }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
