import { Elysia } from "elysia";
import { coreEndpoints } from "../../protocol/core-endpoints.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import type { StoredSession } from "../../services/fleet/stored-session.ts";
import { ServiceError } from "../../system/errors.ts";
import { type FaultReporter, httpErrors } from "../http/errors.ts";
import { mount, type Routes } from "../http/mount.ts";

const { status, listRequests, readRequest } = coreEndpoints;

/**
 * The operations of a gateway that need no running agent, answered from the files of a session: status,
 * requests, and the routes of extensions. It has no gate, since no server listens for it. Source: rulings 34,
 * 42.
 */
export function createStoredApp(options: {
  session: StoredSession;
  faults: FaultReporter;
  /** See `httpErrors`. */
  advice: (remedy: Remedy) => string;
  /** Routes that extensions add. */
  extensions: readonly Routes[];
}) {
  const { session } = options;
  const app = new Elysia({ name: "stored-session", normalize: false });
  app.use(httpErrors({ faults: options.faults, advice: options.advice, routes: () => app.routes })).use(
    mount({
      name: "stored-core",
      endpoints: { status, listRequests, readRequest },
      handlers: {
        status: () => session.status(),
        listRequests: ({ query: { limit, state, idempotency_key: idempotencyKey } }) => ({
          schema_version: 1,
          requests: session.requests({
            limit,
            ...(state ? { state } : {}),
            ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
          }),
        }),
        readRequest: ({ params, query }) => {
          const record = session.request(params.request_id, { withPrompt: query.include === "prompt" });
          if (!record) throw new ServiceError("not_found", "no request with this id");
          return record;
        },
      },
    }),
  );
  for (const routes of options.extensions) app.use(routes);
  return app;
}
