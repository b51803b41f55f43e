import { typingEndpoints } from "../../protocol/console-endpoints.ts";
import { streamEndpoints } from "../../protocol/endpoints.ts";
import { mailEndpoints } from "../../protocol/mail-endpoints.ts";
import { notifierEndpoints } from "../../protocol/notifier.ts";
import { reminderEndpoints } from "../../protocol/reminders.ts";
import { turnArtifactEndpoints, turnEndpoints } from "../../protocol/turns.ts";
import { ServiceError } from "../../system/errors.ts";
import { type Handlers, mount, type Routes } from "../http/mount.ts";
import { createFollowers, resumePosition, toServerSentEvents } from "../http/sse.ts";
import { artifactAnswer, toArtifactPart, turnEventsAnswer } from "../http/turn-answers.ts";
import { openApiRoutes } from "../openapi/routes.ts";
import { createCoreApp, type GatewayAppOptions } from "./core.ts";
import type { GatewayServices } from "./services.ts";

/**
 * The HTTP app of one gateway; a server calls its `fetch`. Source: contract 4.1.
 */
export function createGatewayApp(
  options: GatewayAppOptions<GatewayServices> & {
    /** Routes that extensions add. */
    extensions?: readonly Routes[];
  },
) {
  const { services, extensions = [] } = options;
  const { answers } = services;
  const app = createCoreApp(options)
    .use(mount({ name: "gateway-mail", endpoints: mailEndpoints, handlers: mailHandlers(services), answers }))
    .use(
      mount({
        name: "gateway-notifier",
        endpoints: notifierEndpoints,
        handlers: notifierHandlers(services),
        answers,
        inStore: ["updateNotifier", "disableNotifier"],
      }),
    )
    .use(
      mount({
        name: "gateway-reminders",
        endpoints: reminderEndpoints,
        handlers: reminderHandlers(services),
        answers,
        inStore: ["createReminders", "updateReminder", "deleteReminder"],
      }),
    )
    .use(
      mount({ name: "gateway-turns", endpoints: turnEndpoints, handlers: turnHandlers(services), answers }),
    )
    .use(
      mount({
        name: "gateway-artifacts",
        endpoints: turnArtifactEndpoints,
        handlers: artifactHandlers(services),
        unchecked: "all",
      }),
    )
    .use(eventRoutes(services))
    .use(
      mount({
        name: "gateway-typing",
        endpoints: typingEndpoints,
        handlers: typingHandlers(services),
        answers,
      }),
    )
    .use(openApiRoutes(async () => (await import("../openapi/documents.ts")).gatewayOpenApi));
  for (const routes of extensions) app.use(routes);
  return app;
}

/** The agent's mail (contract 4.1, mail rows). No mail route waits for the execution slot. */
const mailHandlers = ({ mail }: Pick<GatewayServices, "mail">): Handlers<typeof mailEndpoints> => ({
  mailStatus: () => mail.status(),
  mailList: ({ body }) => mail.list(body),
  mailPeek: ({ body }) => mail.peek(body),
  mailRead: ({ body }) => mail.read(body),
  mailSend: ({ body }) => mail.send(body),
  mailPost: ({ body }) => mail.post(body),
  mailReply: ({ body }) => mail.reply(body),
  mailMark: ({ body }) => mail.mark(body),
  mailMove: ({ body }) => mail.move(body),
  mailArchive: ({ body }) => mail.archive(body),
});

/** The mail notifier's settings and the results of its polls (contract 2.6, 4.1). */
const notifierHandlers = ({
  notifier,
}: Pick<GatewayServices, "notifier">): Handlers<typeof notifierEndpoints> => ({
  readNotifier: () => notifier.status(),
  updateNotifier: ({ body }) => notifier.update(body),
  disableNotifier: () => notifier.disable(),
  notifierAudit: ({ query }) => notifier.audit(query),
});

/** Typing into the terminal by hand (additional; decision 56). */
const typingHandlers = ({ leases }: Pick<GatewayServices, "leases">): Handlers<typeof typingEndpoints> => ({
  readTypingLease: () => ({ schema_version: 1, lease: leases.current() }),
  takeTypingLease: ({ body: { holder, take_over } }) => leases.take({ holder, takeOver: take_over ?? false }),
  endTypingLease: () => {
    leases.end();
    return { schema_version: 1, lease: leases.current() };
  },
  typeText: async ({ body: { lease_id, text, release } }) => {
    await leases.type(lease_id, text);
    if (release) leases.end(lease_id);
    return { status: "ok", action: "type", lease: leases.current() };
  },
});

/** Reminders of the live gateway (contract 4.1, 4.3). */
const reminderHandlers = ({
  reminders,
}: Pick<GatewayServices, "reminders">): Handlers<typeof reminderEndpoints> => ({
  createReminders: ({ body }) => reminders.create(body.reminders),
  listReminders: () => reminders.list(),
  readReminder: ({ params }) => reminders.get(params.reminder_id),
  updateReminder: ({ params, body: { schema_version: _version, ...definition } }) =>
    reminders.update(params.reminder_id, definition),
  deleteReminder: ({ params }) => reminders.remove(params.reminder_id),
});

/** Control of a headless agent and its durable turns (contract 4.1). */
const turnHandlers = ({ headless }: Pick<GatewayServices, "headless">): Handlers<typeof turnEndpoints> => ({
  headlessState: () => headless.state(),
  nextPromptSession: () => headless.startNewConversationNext(),
  listTurns: ({ query }) => ({ schema_version: 1, turns: headless.turns().list(query.limit) }),
  readTurn: ({ params }) => foundTurn(headless.turns().read(params.turn_id)),
  turnEvents: ({ params: { turn_id }, query, request }) => {
    const { tracked_agent_id } = foundTurn(headless.turns().read(turn_id));
    const events = foundTurn(headless.turns().events(turn_id, query.after));
    return turnEventsAnswer({ tracked_agent_id, turn_id }, events, query, request.method);
  },
});

function artifactHandlers({
  headless,
}: Pick<GatewayServices, "headless">): Handlers<typeof turnArtifactEndpoints> {
  const artifact = (
    name: "stdout" | "stderr",
    turnId: string,
    { query, request }: { query: { offset: number; max_bytes?: number }; request: Request },
  ): Response => {
    const part = toArtifactPart(query);
    return artifactAnswer(foundTurn(headless.turns().artifact(turnId, name, part)), part, request.method);
  };
  return {
    turnStdout: ({ params, query, request }) => artifact("stdout", params.turn_id, { query, request }),
    turnStderr: ({ params, query, request }) => artifact("stderr", params.turn_id, { query, request }),
  };
}

function foundTurn<T>(value: T | null): T {
  if (value === null) throw new ServiceError("not_found", "no turn with this id");
  return value;
}

/** The event stream of one gateway. */
function eventRoutes({ stream }: Pick<GatewayServices, "stream">) {
  const followers = createFollowers();
  return mount({
    name: "gateway-events",
    endpoints: { events: streamEndpoints.events },
    unchecked: "all",
    handlers: {
      events: ({ request, query }) => {
        const afterSeq = resumePosition(request, query.after);
        const items = followers.admit(request.signal, (signal) => stream.follow({ afterSeq, signal }));
        return toServerSentEvents(request, items);
      },
    },
  });
}
