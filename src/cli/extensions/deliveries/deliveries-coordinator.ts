import { coordinatorEndpoints } from "../../../protocol/coordinator-endpoints.ts";
import { mount } from "../../../routes/http/mount.ts";
import type { Delivery } from "../../../services/extensions/deliveries/delivery.ts";
import { rulesProblem } from "../../../services/extensions/deliveries/rules.ts";
import { defaultRulesFile, stateRootOf } from "../../../services/sessions/roots.ts";
import type { Values } from "../../command-line/command.ts";
import type { CoordinatorPart, OpenCoordinator, ServeExtension } from "../../extension.ts";
import { rulesFlag, toRulesFile } from "../../gateway/gateway-flags.ts";

/** Deliveries to the outside. Without a file of rules at the start nothing is sent. */
export function openDeliveries(coordinator: OpenCoordinator): CoordinatorPart {
  const { context, io, attention, log } = coordinator;
  const rulesFile = coordinator.rulesFile ?? defaultRulesFile(io.env, io.home);
  let delivery: Promise<Delivery> | null = null;
  const open = () => {
    delivery ??= import("../../../services/extensions/deliveries/delivery.ts").then(
      ({ createDelivery, deliveryPaths }) =>
        createDelivery({
          ...context.system,
          files: context.files,
          attention,
          env: io.env,
          home: io.home,
          rulesFile,
          paths: deliveryPaths(stateRootOf(io.env, io.home), context.roots.registryRoot),
          log,
        }),
    );
    return delivery;
  };
  return {
    routes: [
      mount({
        name: "coordinator-deliveries",
        endpoints: { listDeliveries: coordinatorEndpoints.listDeliveries },
        handlers: { listDeliveries: async ({ query }) => (await open()).list(query) },
      }),
    ],
    services: [
      // A reader of the list opens it too.
      { name: "deliveries", stop: async () => (await delivery)?.stop() },
      {
        name: "sending",
        async start() {
          if (context.files.exists(rulesFile)) (await open()).start();
        },
      },
    ],
  };
}

/** The flag that names the rules of deliveries to the outside. */
export const serveDeliveries: ServeExtension = {
  flags: rulesFlag,
  warning({ context: { files }, io, args }) {
    const rulesFile = toRulesFile((args as Values<typeof rulesFlag>).rules, { io, files });
    const problem = files.exists(rulesFile) ? rulesProblem(files, rulesFile) : null;
    return problem === null ? null : `nothing is delivered: ${problem}`;
  },
};
