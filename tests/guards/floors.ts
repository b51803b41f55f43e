import type { SourceFile, Violation } from "./tree.ts";

/** Floors from the ground up. Those on the same height know nothing of each other. */
const heights: Record<string, number> = { protocol: 0, system: 0, db: 1, services: 2, routes: 3, cli: 4 };

/** Rooms that may see the driven agent only through `services/agent`. */
const agentOnlyRooms = new Set(["queue", "prompt", "reminders", "notifier"]);
const agentBackends = new Set(["terminal", "headless"]);

/** Arrows between floors point down only (house 1). Declaration files have no floor and no arrows. */
export function findUpwardArrows(files: SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    if (file.path.endsWith(".d.ts")) return [];
    const from = floorOf(file.path);
    if (from === null) return [`${file.path} stands on no floor`];
    return file.imports.flatMap(({ resolved, line }) => {
      if (resolved === null || (resolved === "package.json" && from === "cli")) return [];
      const to = floorOf(resolved);
      const where = `${file.path}:${line} imports ${resolved}`;
      if (to === null) return [`${where}, which stands on no floor`];
      if (to !== from && (heights[to] ?? 9) >= (heights[from] ?? 0))
        return [`${where}: ${from} is not above ${to}`];
      return [];
    });
  });
}

/** The queue and its neighbours know the agent, never what it is made of. */
export function findAgentBypasses(files: SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    agentOnlyRooms.has(roomOf(file.path) ?? "")
      ? file.imports
          .filter(({ resolved }) => resolved !== null && agentBackends.has(roomOf(resolved) ?? ""))
          .map(({ resolved, line }) => `${file.path}:${line} imports ${resolved}: go through services/agent`)
      : [],
  );
}

/** Circles between files, each told once, type-only imports included. */
export function findFileCycles(files: SourceFile[]): Violation[] {
  const known = new Set(files.map((file) => file.path));
  const targets = files.map((file): [string, string[]] => [
    file.path,
    file.imports.flatMap(({ resolved }) => (resolved !== null && known.has(resolved) ? [resolved] : [])),
  ]);
  return findCycles(new Map(targets));
}

/** Circles between rooms of one floor: `services/queue` -> `services/agent` -> `services/queue`. */
export function findRoomCycles(files: SourceFile[]): Violation[] {
  const graph = new Map<string, string[]>();
  for (const file of files) {
    const from = fullRoom(file.path);
    if (from === null) continue;
    const to = file.imports.flatMap(({ resolved }) => (resolved === null ? [] : (fullRoom(resolved) ?? [])));
    graph.set(from, [...(graph.get(from) ?? []), ...to.filter((room) => room !== from)]);
  }
  return findCycles(graph);
}

function findCycles(graph: Map<string, string[]>): Violation[] {
  const found: Violation[] = [];
  const done = new Set<string>();
  const visit = (node: string, trail: string[]) => {
    const start = trail.indexOf(node);
    if (start >= 0) found.push(`circle: ${[...trail.slice(start), node].join(" -> ")}`);
    if (start >= 0 || done.has(node)) return;
    for (const next of new Set(graph.get(node))) visit(next, [...trail, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return found;
}

function floorOf(path: string): string | null {
  const [top, floor] = path.split("/");
  return top === "src" && floor !== undefined && floor in heights ? floor : null;
}

function roomOf(path: string): string | null {
  const [top, floor, room, file] = path.split("/");
  return top === "src" && floor === "services" && file !== undefined ? (room ?? null) : null;
}

function fullRoom(path: string): string | null {
  const parts = path.split("/");
  return parts[0] === "src" && parts.length > 3 ? parts.slice(1, 3).join("/") : null;
}
