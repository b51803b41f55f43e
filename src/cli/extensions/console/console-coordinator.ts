import packageManifest from "../../../../package.json" with { type: "json" };
import { initialStatesQuery } from "../../../protocol/agent-states.ts";
import { coordinatorEndpoints } from "../../../protocol/coordinator-endpoints.ts";
import { coordinatorConsoleRoutes } from "../../../routes/console/coordinator.ts";
import { createFleetScreens } from "../../../services/extensions/console/fleet-screens.ts";
import { createRemoteTerminal } from "../../../services/extensions/console/remote-terminal.ts";
import { createSignIn } from "../../../services/extensions/console/sign-in.ts";
import { toUrl } from "../../../services/fleet/gateway-client.ts";
import { managerSentence } from "../../command-line/remedies.ts";
import type { CoordinatorPart, OpenCoordinator } from "../../extension.ts";
import { pageAssets } from "./console-archive.ts";

/** The console over all agents. */
export function openFleetConsole(coordinator: OpenCoordinator): CoordinatorPart {
  const { context, directory, links, attention } = coordinator;
  const { clock, ids, processes } = context.system;
  const signIn = createSignIn({ clock, ids });
  const screens = createFleetScreens({ directory, links, clock });
  return {
    signedIn: signIn.accepts,
    following: screens.following,
    services: [{ name: "screens of the console", stop: screens.stop }],
    routes: coordinatorConsoleRoutes({
      screens,
      sockets: coordinator.sockets,
      terminals: { of: (ref) => createRemoteTerminal({ directory, links }, ref) },
      console: {
        assets: pageAssets("console", processes),
        reference: pageAssets("reference", processes),
        signIn,
        requiresToken: coordinator.requiresToken,
        linkAdvice: managerSentence({ code: "open_console" }),
        nonce: () => ids.hex(16),
        firstData: toUrl("", coordinatorEndpoints.listAgentStates.path, {}, initialStatesQuery),
        identity: () => ({ surface: "coordinator", agent: null, version: packageManifest.version }),
        // The answer goes first: a look at many agents begins with a tenth of a second of work.
        onReaderExpected: () => void clock.after(0, attention.expectReader),
      },
    }),
  };
}
