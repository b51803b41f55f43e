import packageManifest from "../../../../package.json" with { type: "json" };
import { gatewayConsoleRoutes } from "../../../routes/console/gateway.ts";
import { createLiveTerminal } from "../../../services/extensions/console/live-terminal.ts";
import type { OwnAgent } from "../../../services/extensions/console/own-agent.ts";
import { createPaneScreen } from "../../../services/extensions/console/pane-screen.ts";
import { followScreens } from "../../../services/extensions/console/screens.ts";
import { createSignIn } from "../../../services/extensions/console/sign-in.ts";
import { readManifest } from "../../../services/sessions/manifest.ts";
import { sessionPaths } from "../../../services/sessions/roots.ts";
import { adviseInManager, managerSentence } from "../../command-line/remedies.ts";
import type { GatewayPart, OpenGateway } from "../../extension.ts";
import { pageAssets } from "./console-archive.ts";

/** Between two pictures of the screen for one reader. */
const screenGapMs = 100;

/** The console beside one gateway. */
export function openConsole(gateway: OpenGateway): GatewayPart {
  const { system, manifest, leases, board } = gateway;
  const { clock, ids } = system;
  const { terminal } = gateway.driven;
  const signIn = createSignIn({ clock, ids });
  const ended = new AbortController();
  const source = createPaneScreen({
    agentId: manifest.agent_id,
    reads: terminal,
    epoch: board.epoch,
    nowMs: clock.nowMs,
  });
  let ownAgent: Promise<OwnAgent> | null = null;
  return {
    signedIn: signIn.accepts,
    services: [{ name: "screens of the console", stop: () => ended.abort() }],
    routes: gatewayConsoleRoutes({
      sockets: gateway.sockets,
      answers: gateway.answers,
      terminal: createLiveTerminal({ leases, pane: terminal?.pane ?? null, epoch: board.epoch }),
      screen: {
        follow: ({ signal }) =>
          followScreens({
            clock,
            sources: [source],
            gapMs: screenGapMs,
            signal: AbortSignal.any([signal, ended.signal]),
          }),
      },
      ownAgent() {
        ownAgent ??= openOwnAgent(gateway);
        return ownAgent;
      },
      console: {
        assets: pageAssets("console", system.processes),
        reference: pageAssets("reference", system.processes),
        signIn,
        requiresToken: gateway.requiresToken,
        linkAdvice: managerSentence({ code: "open_console" }),
        nonce: () => ids.hex(16),
        identity: () => ({
          surface: "gateway",
          agent: {
            agent_id: manifest.agent_id,
            agent_name: manifest.agent_name,
            tool: manifest.tool,
          },
          version: packageManifest.version,
        }),
      },
    }),
  };
}

async function openOwnAgent({ system, sessionRoot, agent, board, queue }: OpenGateway): Promise<OwnAgent> {
  const { createOwnAgent } = await import("../../../services/extensions/console/own-agent.ts");
  const { files, clock } = system;
  const { manifest: manifestPath } = sessionPaths(sessionRoot);
  return createOwnAgent({
    files,
    clock,
    agent,
    board,
    queue,
    sessionRoot,
    advise: adviseInManager,
    manifestPath,
    readManifest: () => readManifest(files, manifestPath),
  });
}
