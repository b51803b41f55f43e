import { aguiEndpoints, aguiStreamEndpoints } from "../../protocol/agui.ts";
import { gatewaySocketPath } from "../../protocol/console.ts";
import { ownAgentEndpoints, typingEndpoints } from "../../protocol/console-endpoints.ts";
import { streamEndpoints } from "../../protocol/endpoints.ts";
import { ledgerEndpoints } from "../../protocol/ledger.ts";
import { mailEndpoints } from "../../protocol/mail-endpoints.ts";
import { metricsEndpoints } from "../../protocol/metrics-endpoints.ts";
import { notifierEndpoints } from "../../protocol/notifier.ts";
import { recorderEndpoints } from "../../protocol/recorder.ts";
import { reminderEndpoints } from "../../protocol/reminders.ts";
import { transcriptEndpoints } from "../../protocol/transcript.ts";
import { turnArtifactEndpoints, turnEndpoints } from "../../protocol/turns.ts";
import { aguiConnectionHeader } from "../../protocol/wire.ts";
import type { AguiItem } from "../../services/agui/paced-stream.ts";
import { ServiceError } from "../../system/errors.ts";
import { consoleRoutes } from "../console/app.ts";
import { admitting, framesAnswer, terminalSocket } from "../console/terminal.ts";
import { type Handlers, mount } from "../http/mount.ts";
import {
  createFollowers,
  heartbeat,
  renderScreen,
  resumePosition,
  streamOf,
  toServerSentEvents,
} from "../http/sse.ts";
import { artifactAnswer, toArtifactPart, turnEventsAnswer } from "../http/turn-answers.ts";
import { openApiRoutes } from "../openapi/routes.ts";
import { createCoreApp, type GatewayAppOptions } from "./core.ts";
import type { GatewayServices } from "./services.ts";

/**
 * The HTTP surface of one gateway as an edge-style handler: `app.fetch(request)` is all a server needs.
 * Source: contract 4.1.
 */
export function createGatewayApp(options: GatewayAppOptions<GatewayServices>) {
  const { services } = options;
  return createCoreApp(options)
    .use(mount({ name: "gateway-mail", endpoints: mailEndpoints, handlers: mailHandlers(services) }))
    .use(
      mount({ name: "gateway-notifier", endpoints: notifierEndpoints, handlers: notifierHandlers(services) }),
    )
    .use(
      mount({
        name: "gateway-reminders",
        endpoints: reminderEndpoints,
        handlers: reminderHandlers(services),
      }),
    )
    .use(mount({ name: "gateway-turns", endpoints: turnEndpoints, handlers: turnHandlers(services) }))
    .use(
      mount({
        name: "gateway-artifacts",
        endpoints: turnArtifactEndpoints,
        handlers: artifactHandlers(services),
        unchecked: "all",
      }),
    )
    .use(
      mount({
        name: "gateway-transcript",
        endpoints: transcriptEndpoints,
        handlers: transcriptHandlers(services),
      }),
    )
    .use(mount({ name: "gateway-ledger", endpoints: ledgerEndpoints, handlers: ledgerHandlers(services) }))
    .use(eventRoutes(services))
    .use(aguiRoutes(services))
    .use(aguiStreamRoutes(services))
    .use(mount({ name: "gateway-typing", endpoints: typingEndpoints, handlers: typingHandlers(services) }))
    .use(
      mount({ name: "gateway-recorder", endpoints: recorderEndpoints, handlers: recorderHandlers(services) }),
    )
    .use(
      mount({
        name: "gateway-metrics",
        endpoints: metricsEndpoints,
        handlers: { gatewayMetrics: async () => textAnswer(await services.metrics.scrape()) },
        unchecked: "all",
      }),
    )
    .use(mount({ name: "gateway-own", endpoints: ownAgentEndpoints, handlers: ownHandlers(services) }))
    .use(
      terminalSocket({
        path: gatewaySocketPath,
        sockets: services.sockets,
        terminalOf: () => services.terminal,
      }),
    )
    .use(consoleRoutes(services.console))
    .use(openApiRoutes(async () => (await import("../openapi/documents.ts")).gatewayOpenApi));
}

export type GatewayApp = ReturnType<typeof createGatewayApp>;

const textAnswer = ({ text, contentType }: { text: string; contentType: string }) =>
  new Response(text, { headers: { "content-type": contentType } });

/** The agent's mail (contract 4.1, mail rows). None of it waits for the execution slot. */
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

/** The agent and what waits for a person, for a console beside this gateway (additional; issue 18). */
const ownHandlers = ({
  ownAgent,
}: Pick<GatewayServices, "ownAgent">): Handlers<typeof ownAgentEndpoints> => ({
  ownAgentState: async () => (await ownAgent()).state(),
  ownAttention: async () => (await ownAgent()).attention(),
  answerOwnAttention: async ({ params, body }) => (await ownAgent()).answer(params.attention_id, body),
});

/** Typing into the terminal by hand (additional; issue 18). */
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

/** The flight recorder (additional; issue 29). */
const recorderHandlers = ({
  recorder,
}: Pick<GatewayServices, "recorder">): Handlers<typeof recorderEndpoints> => ({
  readRecorder: () => recorder.status(),
  updateRecorder: ({ body }) => recorder.update(body),
  recordedMoment: ({ query }) => recorder.moment(query),
  recordedCast: ({ query }) => recorder.cast(query),
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
  nextPromptSession: () => headless.beginNewNext(),
  listTurns: ({ query }) => ({ schema_version: 1, turns: headless.turns().list(query.limit) }),
  readTurn: ({ params }) => foundTurn(headless.turns().read(params.turn_id)),
  turnEvents: ({ params: { turn_id }, query, request }) => {
    const { tracked_agent_id } = foundTurn(headless.turns().read(turn_id));
    const events = foundTurn(headless.turns().events(turn_id, query.after));
    return turnEventsAnswer({ tracked_agent_id, turn_id }, events, query, request.method);
  },
});

/** What the agent was asked and what it answered (additional; issue 17). */
const transcriptHandlers = ({
  transcript,
}: Pick<GatewayServices, "transcript">): Handlers<typeof transcriptEndpoints> => ({
  transcript: ({ query }) => transcript.page(query),
  transcriptTurn: ({ params, query }) => transcript.turn(params.turn_id, query),
});

/** What its turns used (additional; issue 29). */
const ledgerHandlers = ({ ledger }: Pick<GatewayServices, "ledger">): Handlers<typeof ledgerEndpoints> => ({
  ledger: ({ query }) => ledger.page(query),
  ledgerSummary: ({ query }) => ledger.summary(query),
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

/** The stream of everything that happens at one gateway. */
function eventRoutes({ stream, screen, terminal }: Pick<GatewayServices, "stream" | "screen" | "terminal">) {
  const followers = createFollowers();
  const viewers = createFollowers();
  const watchers = createFollowers();
  return mount({
    name: "gateway-events",
    endpoints: {
      events: streamEndpoints.events,
      screenEvents: streamEndpoints.screenEvents,
      terminalFrames: streamEndpoints.terminalFrames,
    },
    unchecked: "all",
    handlers: {
      events: ({ request, query }) => {
        const afterSeq = resumePosition(request, query.after);
        const items = followers.admit(request.signal, (signal) => stream.follow({ afterSeq, signal }));
        return toServerSentEvents(request, items);
      },
      screenEvents: ({ request }) => {
        const items = viewers.admit(request.signal, (signal) => screen.follow({ signal }));
        return streamOf(items, renderScreen, { method: request.method });
      },
      terminalFrames: ({ request }) => framesAnswer(admitting(watchers, terminal), request),
    },
  });
}

/** What GUI clients of the AG-UI protocol ask besides their streams (contract 4.1). */
const aguiRoutes = ({ agui }: Pick<GatewayServices, "agui">) =>
  mount({
    name: "gateway-agui",
    endpoints: aguiEndpoints,
    handlers: {
      aguiCapabilities: () => agui.capabilities(),
      aguiDetach: ({ params, status }) => {
        const connectionId = params.connection_id;
        return agui.detach(connectionId)
          ? {
              status: "detached",
              connectionId,
              detached: true,
              detail: "the stream is finished; the agent is left as it is",
            }
          : status(404, {
              status: "not_found",
              connectionId,
              detached: false,
              detail: "no stream with this id is attached",
            });
      },
    },
  });

/** Streams of the AG-UI protocol. */
const aguiStreamRoutes = ({ agui }: Pick<GatewayServices, "agui">) =>
  mount({
    name: "gateway-agui-streams",
    endpoints: aguiStreamEndpoints,
    unchecked: "all",
    handlers: {
      aguiConnect: ({ body, request }) => {
        const reader = readerOf(request);
        const { connectionId, stream } = agui.connect(body, reader.left);
        return toAguiStream(stream, reader, { [aguiConnectionHeader]: connectionId });
      },
      aguiRun: async ({ body, request }) => {
        const reader = readerOf(request);
        return toAguiStream(await agui.run(body, reader.left), reader);
      },
    },
  });

interface Reader {
  left: AbortSignal;
  leave(): void;
}

/** A server aborts the request of a reader that left; a caller in this process cancels the body. */
function readerOf(request: Request): Reader {
  const cancelled = new AbortController();
  return {
    left: AbortSignal.any([request.signal, cancelled.signal]),
    leave: () => cancelled.abort(),
  };
}

function toAguiStream(
  items: AsyncGenerator<AguiItem>,
  reader: Reader,
  headers: Record<string, string> = {},
): Response {
  const render = (item: AguiItem) =>
    item.item === "heartbeat" ? heartbeat : `data: ${JSON.stringify(item.event)}\n\n`;
  return streamOf(items, render, {
    headers: { "x-accel-buffering": "no", ...headers },
    onCancel: reader.leave,
  });
}
