import { Elysia } from "elysia";
import { notifierEndpoints } from "../../protocol/notifier-endpoints.ts";
import { numbersIn, repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import type { GatewayServices } from "./services.ts";

const { readNotifier, updateNotifier, disableNotifier, notifierAudit } = notifierEndpoints;

/** The mail notifier's settings and what its polls came to (contract 2.6, 4.1). */
export const notifierRoutes = ({ notifier }: Pick<GatewayServices, "notifier">) =>
  new Elysia({ name: "gateway-notifier" })
    .use(jsonBody)
    .get(readNotifier.path, () => notifier.status(), { response: repliesOf(readNotifier) })
    .put(updateNotifier.path, ({ body }) => notifier.update(body), {
      ...takes(updateNotifier),
      response: repliesOf(updateNotifier),
    })
    .delete(disableNotifier.path, () => notifier.disable(), { response: repliesOf(disableNotifier) })
    .get(notifierAudit.path, ({ query }) => notifier.audit(query), {
      query: notifierAudit.query,
      transform: numbersIn(notifierAudit.query),
      response: repliesOf(notifierAudit),
    });
