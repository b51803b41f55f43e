import { createStoredApp } from "../../routes/gateway/stored.ts";
import { pathOf, routesAt } from "../../routes/http/route.ts";
import { diagnoseUnserved } from "../../services/fleet/diagnose-agent.ts";
import { createGatewayClient, type GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { openStoredSession, type StoredSession } from "../../services/fleet/stored-session.ts";
import type { FoundAgent } from "../../services/sessions/find.ts";
import { messageOf } from "../../system/errors.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { managerSentence } from "../command-line/remedies.ts";
import type { StoredRoutes } from "../extension.ts";

interface StoredReader {
  context: Pick<CliContext, "files" | "clock" | "env" | "ids">;
  /** Of extensions. */
  routes: readonly StoredRoutes[];
  report: (problem: string) => void;
}

/** Answers what the gateway of this agent would answer, as far as its files know it. */
function openStoredApp({ context, routes, report }: StoredReader, session: StoredSession) {
  return createStoredApp({
    session,
    faults: {
      report(error) {
        report(messageOf(error));
        return context.ids.uuid();
      },
    },
    advice: managerSentence,
    extensions: routes.flatMap((open) => open(context, session)),
  });
}

/**
 * What a coordination server answers of agents that no gateway serves: null for what the files do not have.
 * The app of each is made each time: a server asks rarely, and an agent may be started again meanwhile.
 */
export function createStoredReader(
  reader: StoredReader & { context: Parameters<typeof diagnoseUnserved>[0] },
) {
  const { context } = reader;
  return async (agent: FoundAgent, target: string): Promise<Response | null> => {
    const diagnosis = await diagnoseUnserved(context, agent);
    const session = openStoredSession(context, agent, { diagnosis, why: "no gateway runs for this agent" });
    const app = openStoredApp(reader, session);
    const url = `http://127.0.0.1${target}`;
    if (routesAt(app.routes, pathOf(url)).length === 0) return null;
    return app.handle(new Request(url));
  };
}

/** The same as the calls that a command makes to a gateway. */
export function openStoredCalls(reader: StoredReader, session: StoredSession): GatewayCalls {
  const app = openStoredApp(reader, session);
  return createGatewayClient({
    clock: reader.context.clock,
    baseUrl: "http://127.0.0.1",
    token: null,
    respectProxyEnvironment: false,
    fetch: async (url, { method = "GET", headers }) =>
      app.handle(new Request(url, { method, ...(headers ? { headers } : {}) })),
  });
}
