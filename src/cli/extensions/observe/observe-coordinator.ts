import { coordinatorObserveRoutes } from "../../../routes/observe/app.ts";
import type { CoordinatorPart, OpenCoordinator, OtherHosts } from "../../extension.ts";

/** The ledger and the metrics of all agents. Both are loaded when they are asked for. */
export function observeFleet({ context, io, others, fleet }: OpenCoordinator): CoordinatorPart {
  const remote = others && {
    localHost: others.localHost,
    list: () => others.list([], {}),
    ask: others.relay,
  };
  let counters: Promise<Pick<OtherHosts, "scrape">> | null = others && Promise.resolve(others);
  const openCounters = () => {
    counters ??= import("../../../services/extensions/hosts/metrics.ts").then(({ createFleetMetrics }) =>
      createFleetMetrics(),
    );
    return counters;
  };
  return {
    routes: coordinatorObserveRoutes({
      ledger: {
        async sum(query) {
          const { sumFleetLedger } = await import("./fleet-ledger.ts");
          return sumFleetLedger(context, io, { query, remote });
        },
      },
      metrics: {
        async scrape() {
          const facts = await fleet();
          return (await openCounters()).scrape(facts);
        },
      },
    }),
  };
}
