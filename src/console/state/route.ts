/** Addresses of the screens, in the fragment, so that each moment has a link. Pure. */

export const agentTabs = ["terminal", "queue", "transcript", "mail", "reminders", "wakes"] as const;
export type AgentTab = (typeof agentTabs)[number];

export type Route =
  | { screen: "needs-you"; item: string | null }
  | { screen: "launch" }
  | WallRoute
  | { screen: "agent"; agent: string; tab: AgentTab }
  | { screen: "mail"; agent: string | null; thread: string | null }
  | { screen: "timeline"; agent: string | null; at: number | null };

/** What the wall is filtered by; empty for all. */
export interface WallFilter {
  text: string;
  tool: string;
  host: string;
  state: string;
}
export type WallRoute = { screen: "wall" } & WallFilter;

export const wholeWall: WallRoute = { screen: "wall", text: "", tool: "", host: "", state: "" };

const home: Route = { screen: "needs-you", item: null };

/** What a fragment names; the home screen where it names nothing that exists. */
export function parseRoute(fragment: string): Route {
  const [path = "", search = ""] = fragment.replace(/^#/, "").split("?");
  const [screen = "", first, second] = path
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  const query = new URLSearchParams(search);
  switch (screen) {
    case "wall":
      return {
        screen,
        text: query.get("q") ?? "",
        tool: query.get("tool") ?? "",
        host: query.get("host") ?? "",
        state: query.get("state") ?? "",
      };
    case "launch":
      return { screen };
    case "agents":
      if (first === undefined) return wholeWall;
      return { screen: "agent", agent: first, tab: agentTabs.find((tab) => tab === second) ?? "terminal" };
    case "mail":
      return { screen, agent: first ?? null, thread: second ?? null };
    case "timeline": {
      const at = Number(query.get("at"));
      return { screen, agent: first ?? null, at: Number.isSafeInteger(at) && at > 0 ? at : null };
    }
    default:
      return screen === "needs-you" ? { screen, item: first ?? null } : home;
  }
}

export function formatRoute(route: Route): string {
  switch (route.screen) {
    case "needs-you":
      return join(["needs-you", route.item]);
    case "launch":
      return join(["launch"]);
    case "wall":
      return join(["wall"], { q: route.text, tool: route.tool, host: route.host, state: route.state });
    case "agent":
      return join(["agents", route.agent, route.tab === "terminal" ? null : route.tab]);
    case "mail":
      return join(["mail", route.agent, route.agent === null ? null : route.thread]);
    case "timeline":
      return join(["timeline", route.agent], { at: route.at === null ? "" : String(route.at) });
  }
}

function join(parts: (string | null)[], query: Record<string, string> = {}): string {
  const path = parts.filter((part) => part !== null).map(encodeURIComponent);
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  return `#/${path.join("/")}${search.size > 0 ? `?${search}` : ""}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
