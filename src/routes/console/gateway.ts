import { gatewaySocketPath } from "../../protocol/console.ts";
import { ownAgentEndpoints } from "../../protocol/console-endpoints.ts";
import { streamEndpoints } from "../../protocol/endpoints.ts";
import type { LiveTerminal } from "../../services/extensions/console/live-terminal.ts";
import type { OwnAgent } from "../../services/extensions/console/own-agent.ts";
import type { ScreenItem } from "../../services/extensions/console/screens.ts";
import type { KeptAnswers } from "../../services/sessions/kept-answers.ts";
import type { SocketUpgrade } from "../../system/sockets.ts";
import { type Handlers, mount, type Routes } from "../http/mount.ts";
import { createFollowers, streamOf } from "../http/sse.ts";
import { type ConsoleServices, consoleRoutes } from "./app.ts";
import { renderScreen } from "./screen-events.ts";
import { framesAnswer, limitViewers, terminalSocket } from "./terminal.ts";

/** The services behind the console of one gateway. */
interface GatewayConsole {
  screen: { follow(options: { signal: AbortSignal }): AsyncGenerator<ScreenItem> };
  terminal: LiveTerminal;
  sockets: Pick<SocketUpgrade, "upgrade">;
  console: ConsoleServices;
  /** Opened by the first call, since only a console at this gateway needs it. */
  ownAgent: () => Promise<OwnAgent>;
  answers: KeptAnswers;
}

/** The routes of the console of one gateway: page, screen, live terminal and attention items. */
export function gatewayConsoleRoutes(services: GatewayConsole): readonly Routes[] {
  return [
    screenRoutes(services),
    mount({
      name: "gateway-own",
      endpoints: ownAgentEndpoints,
      handlers: ownHandlers(services),
      answers: services.answers,
    }),
    terminalSocket({
      path: gatewaySocketPath,
      sockets: services.sockets,
      terminalOf: () => services.terminal,
    }),
    consoleRoutes(services.console),
  ];
}

/** The state and the attention items of the agent (additional; decision 61). */
const ownHandlers = ({ ownAgent }: Pick<GatewayConsole, "ownAgent">): Handlers<typeof ownAgentEndpoints> => ({
  ownAgentState: async () => (await ownAgent()).state(),
  ownAttention: async () => (await ownAgent()).attention(),
  answerOwnAttention: async ({ params, body }) => (await ownAgent()).answer(params.attention_id, body),
});

/** The screen as events for many readers, and the terminal as frames for a viewer. */
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
      terminalFrames: ({ request }) => framesAnswer(limitViewers(watchers, terminal), request),
    },
  });
}
