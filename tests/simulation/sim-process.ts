import { basename, dirname } from "node:path";
import type { Clock } from "../../src/system/clock.ts";
import { createFiles, type Files } from "../../src/system/files.ts";
import type { Ids } from "../../src/system/ids.ts";
import { createLocks, type Locks } from "../../src/system/locks.ts";
import type { Network } from "../../src/system/network.ts";
import type { Processes } from "../../src/system/processes.ts";
import type { Steps } from "../../src/system/steps.ts";
import type { System } from "../../src/system/system.ts";
import type { FolderWatch } from "../../src/system/watch.ts";
import type { Dice } from "./dice.ts";
import type { SimClock } from "./sim-clock.ts";
import type { Trace } from "./trace.ts";

/** Thrown into the code of a process that is no more, so that nothing of it has an effect. */
export class ProcessGone extends Error {}

/** A program of ours that lives in the simulated world, and may be killed at any of its steps. */
export interface SimProcess {
  readonly name: string;
  readonly pid: number;
  readonly system: System;
  alive(): boolean;
  /** As by SIGKILL: nothing of it happens any more, its locks are free, its connections are gone. */
  kill(why: string): void;
  /** Told once, at its death or its orderly end. */
  onEnd(listener: () => void): void;
  /** Its orderly end. */
  exit(): void;
}

/** What goes wrong with the steps of processes, by the dice. */
export interface Faults {
  /** Of each label's first pass in a process, and of each later one. */
  crashFirst: number;
  crashLater: number;
  /** Whether writes fail for want of room at this moment. */
  diskFull: () => boolean;
  /** How long this write takes, milliseconds. */
  writeMs: () => number;
}

export interface SimProcessDeps {
  name: string;
  pid: number;
  clock: SimClock;
  trace: Trace;
  dice: Dice;
  faults: Faults;
  watching: WatchHub;
  processes: (self: { pid: number; alive: () => boolean; onEnd: SimProcess["onEnd"] }) => Processes;
  network: (self: { alive: () => boolean; onEnd: SimProcess["onEnd"] }) => Network;
  /** Told after each step that took effect. */
  afterStep: (label: string) => void;
}

export function createSimProcess(deps: SimProcessDeps): SimProcess {
  const { name, pid, trace, dice, faults } = deps;
  const passed = new Set<string>();
  const endings: (() => void)[] = [];
  let living = true;
  const alive = () => living;
  const onEnd = (listener: () => void) => void endings.push(listener);

  function end(): void {
    if (!living) return;
    living = false;
    for (const ending of endings.splice(0)) ending();
  }

  function kill(why: string): void {
    if (!living) return;
    trace.note(name, `killed: ${why}`);
    end();
  }

  function assertAlive(): void {
    if (!living) throw new ProcessGone(name);
  }

  function maybeCrash(when: "before" | "after", label: string): void {
    const first = !passed.has(`${when} ${label}`);
    passed.add(`${when} ${label}`);
    if (!dice.chance(first ? faults.crashFirst : faults.crashLater)) return;
    kill(`${when} ${label}`);
    throw new ProcessGone(name);
  }

  const steps: Steps = {
    before(label) {
      assertAlive();
      maybeCrash("before", label);
      if (!isWrite(label)) return;
      if (faults.diskFull()) {
        trace.note(name, `no room for ${label}`);
        throw noRoom(label);
      }
      deps.clock.stall(faults.writeMs());
    },
    after(label) {
      assertAlive();
      deps.afterStep(label);
      maybeCrash("after", label);
    },
  };
  const clock = deps.clock.view(alive);
  const ids = createSimIds(dice.fork("ids"));
  return {
    name,
    pid,
    alive,
    kill,
    onEnd,
    exit: end,
    system: {
      clock,
      ids,
      steps,
      files: deps.watching.tellingOf(createFiles({ ids, steps })),
      locks: createSimLocks(clock, onEnd, assertAlive),
      watch: deps.watching.viewOf({ alive, onEnd }),
      processes: deps.processes({ pid, alive, onEnd }),
      network: deps.network({ alive, onEnd }),
    },
  };
}

/** What a full disk refuses; keys to a pane need no room. */
function isWrite(label: string): boolean {
  return /^(sql|file|mail)[:.]/.test(label);
}

function noRoom(label: string): Error {
  const [code, message] = label.startsWith("sql:")
    ? ["SQLITE_FULL", "database or disk is full"]
    : ["ENOSPC", "ENOSPC: no space left on device"];
  return Object.assign(new Error(message), { code });
}

function createSimIds(dice: Dice): Ids {
  const hex = (bytes: number) =>
    Array.from({ length: bytes }, () => dice.whole(0, 255).toString(16).padStart(2, "0")).join("");
  return {
    hex,
    uuid: () => {
      const digits = hex(16);
      return [0, 8, 12, 16, 20].map((at, nth) => digits.slice(at, [8, 12, 16, 20, 32][nth])).join("-");
    },
  };
}

/** Real locks, which end with the process that holds them. */
function createSimLocks(clock: Clock, onEnd: SimProcess["onEnd"], assertAlive: () => void): Locks {
  const locks = createLocks({ clock });
  return {
    hold(path, work, options) {
      assertAlive();
      return locks.hold(path, work, options);
    },
    tryTake(path) {
      assertAlive();
      const taken = locks.tryTake(path);
      if (!taken) return null;
      let held = true;
      const release = () => {
        if (held) taken.release();
        held = false;
      };
      onEnd(release);
      return { release };
    },
  };
}

/** Tells watchers of folders what is written in them, a moment later. */
export interface WatchHub {
  viewOf(process: { alive: () => boolean; onEnd: SimProcess["onEnd"] }): FolderWatch;
  /** The same files, and what is written by them is told. */
  tellingOf(files: Files): Files;
}

export function createWatchHub(clock: SimClock): WatchHub {
  const watchers = new Map<string, Set<(name: string) => void>>();

  function tell(path: string): void {
    const listeners = watchers.get(dirname(path));
    if (!listeners) return;
    clock.after(1, () => {
      for (const listener of [...listeners]) listener(basename(path));
    });
  }

  return {
    viewOf: ({ alive, onEnd }) => ({
      watchFolder(folder, listener) {
        const heard = (name: string) => {
          if (alive()) listener(name);
        };
        const set = watchers.get(folder) ?? new Set();
        watchers.set(folder, set.add(heard));
        const stop = () => void set.delete(heard);
        onEnd(stop);
        return stop;
      },
    }),
    tellingOf: (files) => ({
      ...files,
      write(label, path, text, options) {
        files.write(label, path, text, options);
        tell(path);
      },
      create(label, path, text) {
        files.create(label, path, text);
        tell(path);
      },
      place(label, from, to) {
        files.place(label, from, to);
        tell(to);
      },
      rename(label, from, to) {
        files.rename(label, from, to);
        tell(from);
        tell(to);
      },
      symlink(label, target, path) {
        files.symlink(label, target, path);
        tell(path);
      },
      remove(label, path) {
        files.remove(label, path);
        tell(path);
      },
      removeFile(label, path) {
        files.removeFile(label, path);
        tell(path);
      },
    }),
  };
}
