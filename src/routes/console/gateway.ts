import { gatewaySocketPath } from "../../protocol/console.ts";
import { ownAgentEndpoints } from "../../protocol/console-endpoints.ts";
import { streamEndpoints } from "../../protocol/endpoints.ts";
import type { LiveTerminal } from "../../services/extensions/console/live-terminal.ts";
import type { OwnAgent } from "../../services/extensions/console/own-agent.ts";
import type { ScreenItem } from "../../services/extensions/console/screens.ts";
import type { SocketUpgrade } from "../../system/sockets.ts";
import { type Handlers, mount, type Routes } from "../http/mount.ts";
import { createFollowers, streamOf } from "../http/sse.ts";
import { type ConsoleServices, consoleRoutes } from "./app.ts";
import { renderScreen } from "./screen-events.ts";
import { admitting, framesAnswer, terminalSocket } from "./terminal.ts";

/** What the routes of a console beside one gateway call. */
interface GatewayConsole {
  screen: { follow(options: { signal: AbortSignal }): AsyncGenerator<ScreenItem> };
  terminal: LiveTerminal;
  sockets: Pick<SocketUpgrade, "upgrade">;
  console: ConsoleServices;
  /** Opened when it is asked for the first time: only a console beside this gateway asks. */
  ownAgent: () => Promise<OwnAgent>;
}

/** The console of one gateway: its page, the screen and the live terminal, and what waits for a person. */
export function gatewayConsoleRoutes(services: GatewayConsole): readonly Routes[] {
  return [
    screenRoutes(services),
    mount({ name: "gateway-own", endpoints: ownAgentEndpoints, handlers: ownHandlers(services) }),
    terminalSocket({
      path: gatewaySocketPath,
      sockets: services.sockets,
      terminalOf: () => services.terminal,
    }),
    consoleRoutes(services.console),
  ];
}

/** The agent and what waits for a person, for a console beside this gateway (additional; issue 18). */
const ownHandlers = ({ ownAgent }: Pick<GatewayConsole, "ownAgent">): Handlers<typeof ownAgentEndpoints> => ({
  ownAgentState: async () => (await ownAgent()).state(),
  ownAttention: async () => (await ownAgent()).attention(),
  answerOwnAttention: async ({ params, body }) => (await ownAgent()).answer(params.attention_id, body),
});

/** The screen as pictures for many readers, and as frames for one viewer. */
function screenRoutes({ screen, terminal }: Pick<GatewayConsole, "screen" | "terminal">) {
  const viewers = createFollowers();
  const watchers = createFollowers();
  const { screenEvents, terminalFrames } = streamEndpoints;
  return mount({
    name: "gateway-screen",
    endpoints: { screenEvents, terminalFrames },
    unchecked: "all",
    handlers: {
      screenEvents: ({ request }) => {
        const items = viewers.admit(request.signal, (signal) => screen.follow({ signal }));
        return streamOf(items, renderScreen, { method: request.method });
      },
      terminalFrames: ({ request }) => framesAnswer(admitting(watchers, terminal), request),
    },
  });
}
