import type { SourceFile, Violation } from "./tree.ts";

/** Layers from the base up. Those of one height do not import each other. */
const heights: Record<string, number> = {
  protocol: 0,
  system: 0,
  db: 1,
  services: 2,
  routes: 3,
  cli: 4,
  /** Runs in a browser: of ours it has the protocol only, and nothing of ours imports it. */
  console: 9,
};

/** Modules that reach the driven agent only through `services/agent`. */
const agentOnlyModules = new Set(["queue", "prompt", "reminders", "notifier"]);
const agentBackends = new Set(["terminal", "headless"]);

/** A module imports from its layer or from layers below. Declaration files have no layer and no imports. */
export function findUpwardImports(files: SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    if (file.path.endsWith(".d.ts")) return [];
    const from = layerOf(file.path);
    if (from === null) return [`${file.path} is in no layer`];
    return file.imports.flatMap(({ resolved, line }) => {
      if (resolved === null || (resolved === "package.json" && from === "cli")) return [];
      const to = layerOf(resolved);
      const where = `${file.path}:${line} imports ${resolved}`;
      if (to === null) return [`${where}, which is in no layer`];
      if (to !== from && (heights[to] ?? 9) >= (heights[from] ?? 0))
        return [`${where}: ${from} is not above ${to}`];
      if (from === "console" && to !== from && to !== "protocol")
        return [`${where}: the browser has no ${to}`];
      return [];
    });
  });
}

/** The queue and its neighbours import the agent, not its parts. */
export function findAgentBypasses(files: SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    agentOnlyModules.has(moduleOf(file.path) ?? "")
      ? file.imports
          .filter(({ resolved }) => resolved !== null && agentBackends.has(moduleOf(resolved) ?? ""))
          .map(({ resolved, line }) => `${file.path}:${line} imports ${resolved}: go through services/agent`)
      : [],
  );
}

/**
 * Cycles between modules of one layer: `services/queue` -> `services/agent` -> `services/queue`. Files beside
 * the folders of a layer are a module too.
 */
export function findModuleCycles(files: SourceFile[]): Violation[] {
  const graph = new Map<string, string[]>();
  for (const file of files) {
    const from = fullModule(file.path);
    if (from === null) continue;
    const to = file.imports.flatMap(({ resolved }) =>
      resolved === null ? [] : (fullModule(resolved) ?? []),
    );
    graph.set(from, [...(graph.get(from) ?? []), ...to.filter((module) => module !== from)]);
  }
  return findCycles(graph);
}

function findCycles(graph: Map<string, string[]>): Violation[] {
  const found: Violation[] = [];
  const done = new Set<string>();
  const visit = (node: string, trail: string[]) => {
    const start = trail.indexOf(node);
    if (start >= 0) found.push(`cycle: ${[...trail.slice(start), node].join(" -> ")}`);
    if (start >= 0 || done.has(node)) return;
    for (const next of new Set(graph.get(node))) visit(next, [...trail, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return found;
}

function layerOf(path: string): string | null {
  const [top, layer] = path.split("/");
  return top === "src" && layer !== undefined && layer in heights ? layer : null;
}

function moduleOf(path: string): string | null {
  const [top, layer, module, file] = path.split("/");
  return top === "src" && layer === "services" && file !== undefined ? (module ?? null) : null;
}

function fullModule(path: string): string | null {
  const [top, layer = "", folder, ...names] = path.split("/");
  if (top !== "src" || folder === undefined) return null;
  if (names.length > 0) return `${layer}/${folder}`;
  // These are the programs, and the types by which extensions add to them.
  return layer === "cli" ? null : layer;
}
