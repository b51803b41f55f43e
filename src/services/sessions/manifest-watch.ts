import { basename, dirname } from "node:path";
import type { Clock } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import type { FolderWatch } from "../../system/watch.ts";
import type { Agent, Connectivity } from "../agent/agent.ts";
import { readManifest } from "./manifest.ts";
import { overlayName } from "./roots.ts";

/** Whether the session's manifest can be used: without it the agent counts as not connected (ruling 32). */
interface ManifestWatch extends Lifecycle {
  /** By the latest look: what is wrong with it and what to do, or null. */
  problem(): string | null;
  onChange(listener: () => void): () => void;
}

/** A change in the folder makes it look at once; this is for changes that were not reported. */
const pollIntervalMs = 60_000;
/** The adoption of an overlay lies in other folders. */
const overlayPollIntervalMs = 10_000;

export function createManifestWatch(deps: {
  files: Files;
  watch: FolderWatch;
  clock: Clock;
  path: string;
  /** A look failed; the next one comes all the same. */
  onError: (error: unknown) => void;
}): ManifestWatch {
  const { files, path } = deps;
  const intervalMs = path.split("/").includes(overlayName) ? overlayPollIntervalMs : pollIntervalMs;
  const listeners = new Set<() => void>();
  let problem: string | null = null;
  let endWatch = () => {};

  const loop = createLoop({
    clock: deps.clock,
    async turn() {
      const found = manifestProblem(files, path);
      if (found !== problem) {
        problem = found;
        for (const tell of [...listeners]) tell();
      }
      return intervalMs;
    },
    onError: deps.onError,
  });

  return {
    problem: () => problem,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start() {
      endWatch();
      endWatch = deps.watch.watchFolder(dirname(path), (name) => {
        if (name === null || name === basename(path)) loop.wake();
      });
      loop.start();
    },
    async stop() {
      endWatch();
      await loop.stop();
    },
  };
}

/**
 * Why the manifest at `path` cannot be used, for callers of a service: without its folder. Null when it can.
 */
function manifestProblem(files: Files, path: string): string | null {
  try {
    readManifest(files, path);
    return null;
  } catch (error) {
    return withManifestAdvice(messageOf(error).replaceAll(path, basename(path)));
  }
}

function withManifestAdvice(problem: string): string {
  return `${problem}. Put a copy of it in its place, or end the agent with \`stop\``;
}

/** `agent`, which is not connected while its manifest cannot be used. */
export function requireManifest(agent: Agent, manifest: Pick<ManifestWatch, "problem" | "onChange">): Agent {
  let last: { of: Connectivity; problem: string; connectivity: Connectivity } | null = null;
  return {
    ...agent,
    connectivity() {
      const of = agent.connectivity();
      const problem = manifest.problem();
      if (problem === null || !of.connected) return of;
      // The same object while the facts are the same: the status is built from it.
      if (last?.of !== of || last.problem !== problem) {
        const connectivity: Connectivity = {
          ...of,
          connected: false,
          detail: problem,
          eligibility: "unknown",
          unusable: "manifest_unusable",
        };
        last = { of, problem, connectivity };
      }
      return last.connectivity;
    },
    onChange(listener) {
      const ends = [agent.onChange(listener), manifest.onChange(listener)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
