import { coordinatorSocketPath } from "../../protocol/console.ts";
import { coordinatorStreams } from "../../protocol/coordinator-endpoints.ts";
import type { FleetScreens } from "../../services/extensions/console/fleet-screens.ts";
import type { LiveTerminal } from "../../services/extensions/console/live-terminal.ts";
import type { SocketUpgrade } from "../../system/sockets.ts";
import { mount, type Routes } from "../http/mount.ts";
import { createFollowers, streamOf } from "../http/sse.ts";
import { type ConsoleServices, consoleRoutes } from "./app.ts";
import { renderScreen } from "./screen-events.ts";
import { terminalSocket } from "./terminal.ts";

/** The services behind the console of all agents. */
interface CoordinatorConsole {
  screens: Pick<FleetScreens, "follow">;
  /** The live terminal of any agent; throws `not_found` and `ambiguous`. */
  terminals: { of(agentRef: string): LiveTerminal };
  sockets: Pick<SocketUpgrade, "upgrade">;
  console: ConsoleServices;
}

/** The routes of the console of all agents: its page, the screens and the live terminals. */
export function coordinatorConsoleRoutes(services: CoordinatorConsole): readonly Routes[] {
  const viewers = createFollowers();
  const { screensEvents } = coordinatorStreams;
  return [
    mount({
      name: "coordinator-screens",
      endpoints: { screensEvents },
      unchecked: "all",
      handlers: {
        screensEvents: ({ request, query }) => {
          const agents = query.agents.split(",");
          const items = viewers.admit(request.signal, (signal) => services.screens.follow(agents, signal));
          return streamOf(items, renderScreen, { method: request.method });
        },
      },
    }),
    terminalSocket({
      path: coordinatorSocketPath,
      sockets: services.sockets,
      terminalOf: (params) => services.terminals.of(params["agent_ref"] ?? ""),
    }),
    consoleRoutes(services.console),
  ];
}
