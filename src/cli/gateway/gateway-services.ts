import { basename } from "node:path";
import { notifierStoreOn } from "../../db/gateway/notifier-store.ts";
import { createGatewayApp } from "../../routes/gateway/app.ts";
import type { FaultReporter } from "../../routes/http/errors.ts";
import { accessGuards, type Guard } from "../../routes/http/gate.ts";
import { type Fetch, observeHttp } from "../../routes/http/observe.ts";
import { createEventStream } from "../../services/diagnostics/event-stream.ts";
import { bindingOf, createMailBinding, type MailBinding } from "../../services/mail/binding.ts";
import { createMailFacade, observeMail } from "../../services/mail/facade.ts";
import { createContextMaintenance } from "../../services/notifier/config.ts";
import { createNotifier } from "../../services/notifier/notifier.ts";
import { isSkillInstalled } from "../../services/notifier/render.ts";
import { createHeadlessControl } from "../../services/prompt/prompt-control.ts";
import { createTypingLeases, type TypingLeases } from "../../services/prompt/typing-lease.ts";
import { readManifest } from "../../services/sessions/manifest.ts";
import { sessionPaths } from "../../services/sessions/roots.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import type { Service } from "../../system/service-list.ts";
import { mailboxOpeners } from "../command-line/mailbox-openers.ts";
import { managerSentence } from "../command-line/remedies.ts";
import type { GatewayPart, OpenGateway } from "../extension.ts";
import type { GatewayCore } from "./gateway-core.ts";

interface OpenedGatewayOptions {
  /** Those of callers; what a caller may do and send is judged after them. */
  guards: readonly Guard[];
  token: string | null;
  faults: FaultReporter;
  /** False when the records of the session are another gateway's, or gone. */
  ownsSession: () => boolean;
  /** Default: the mailbox that the session's manifest binds. */
  mail?: MailBinding;
  /** Mail is served here at all: on loopback only (contract 4.1 mail rule 2). */
  mailServed: boolean;
  /** Where the agent reaches this gateway; null before it listens and where mail is not served. */
  baseUrl: () => string | null;
}

/** A gateway with all its services. */
export type OpenedGateway = ReturnType<typeof openGateway>;

/**
 * Mail, its notifier, streams of events, and the app with all routes, those of extensions too: what a gateway
 * makes when it answers already. To load it with the framework takes a third of a start, so nothing that health
 * waits for imports this module.
 */
export function openGateway(
  gateway: OpenGateway,
  parts: readonly GatewayPart[],
  options: OpenedGatewayOptions,
) {
  const { system, agent, queue, board, reminders, slot, leases } = gateway;
  const { clock, ids } = system;
  const { log, events, diagnostics } = gateway.records;
  const mail = options.mail ?? openMailBinding(gateway);
  const mailFacade = createMailFacade({
    bound: mail.bound,
    served: options.mailServed,
    attachmentRoots: () =>
      openSessionFolder(system.files, gateway.sessionRoot).attachmentRoots(gateway.manifest),
  });
  const notifier = createNotifier({
    store: notifierStoreOn(gateway.database),
    agent,
    queue,
    board,
    clock,
    log,
    mail,
    context: createContextMaintenance({ agent, commands: gateway.profile?.data.commands ?? null }),
    baseUrl: options.baseUrl,
    skillInstalled: () => isSkillInstalled(system.files, gateway.manifest, gateway.env),
    onChange: () => slot.changed("notifier"),
  });
  slot.join("notifier", {
    report(all) {
      all.contextMaintenance = notifier.busyWith();
      all.wakesHeld = notifier.wakesHeld();
    },
    wake: notifier.wake,
  });
  const stream = createEventStream({
    events,
    clock,
    onGiven: (event) => {
      for (const part of parts) part.onStreamed?.(event);
    },
  });
  const observation = diagnostics && observeHttp({ clock, ids, record: diagnostics.record });
  const app = createGatewayApp({
    advice: managerSentence,
    services: {
      board,
      queue,
      prompt: gateway.prompt,
      keys: gateway.keys,
      agent,
      mail: diagnostics ? observeMail(mailFacade, diagnostics.record) : mailFacade,
      headless: createHeadlessControl({ agent, status: board.status }),
      notifier,
      reminders,
      stream,
      leases,
      answers: gateway.answers,
    },
    guards: [
      ...options.guards,
      ...accessGuards({
        token: options.token,
        signedIn: (cookie) => parts.some((part) => part.signedIn?.(cookie)),
      }),
    ],
    faults: options.faults,
    ...(observation ? { observation } : {}),
    extensions: parts.flatMap((part) => part.routes ?? []),
  });
  const arounds = [
    ...parts.flatMap((part) => part.around ?? []),
    ...(observation ? [observation.around] : []),
  ];
  const services: readonly Service[] = [
    {
      name: "streams",
      // A server that stops need not wait for their readers.
      stop() {
        leases.stop();
        gateway.sockets.close();
        stream.close();
      },
    },
    ...parts.flatMap((part) => part.services ?? []),
    {
      name: "events of the gateway",
      start: () => events.append("gateway_started", { managed_agent_instance_epoch: board.epoch() }),
      stop() {
        if (options.ownsSession()) events.append("gateway_stopped");
      },
    },
    { name: "queue", start: queue.start, stop: queue.stop },
    { name: "storage watch", start: gateway.storage.start, stop: gateway.storage.stop },
    { name: "notifier", start: notifier.start, stop: notifier.stop },
  ];
  return {
    app,
    /** The app as a handler; extensions and diagnostics add to each request. */
    fetch: arounds.reduce<Fetch>((fetch, around) => around({ fetch, routes: app.routes }), app.fetch),
    notifier,
    stream,
    /** In the order in which they start, after the listener. */
    services,
    /** Closes the mailbox; after the server has stopped. */
    close: mail.close,
  };
}

/** Typing by hand, which takes the execution slot. */
export function openTypingLeases({ system, agent, board, slot, records }: GatewayCore): TypingLeases {
  const { clock, ids } = system;
  const leases = createTypingLeases({
    agent,
    board,
    clock,
    ids,
    events: records.events,
    onChange: () => slot.changed("typing"),
  });
  slot.join("typing", {
    report(all) {
      all.typing = leases.current();
    },
  });
  return leases;
}

function openMailBinding({ system, sessionRoot, records: { log, events } }: GatewayCore): MailBinding {
  const { files, clock } = system;
  const { manifest: manifestPath } = sessionPaths(sessionRoot);
  return createMailBinding({
    readBinding: () => bindingOf(() => readManifest(files, manifestPath)),
    openers: mailboxOpeners(
      system,
      (what) => {
        log.line("mailbox state lost", { error: what });
        events.append("mailbox_state_rebuilt", { detail: what });
      },
      (what) => log.line("mail fault", { error: what }),
    ),
    clock,
    watchBinding: (listener) =>
      system.watch.watchFolder(sessionRoot, (name) => {
        if (name === null || name === basename(manifestPath)) listener();
      }),
  });
}
