import { Value } from "@sinclair/typebox/value";
import { lineProtocol, OperatorLine } from "../../../protocol/hosts.ts";
import type { Clock } from "../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Ids } from "../../../system/ids.ts";
import type { HostDirectory, HostLink } from "./host-link.ts";
import {
  createLineReader,
  decodeLineBody,
  encodeLine,
  encodeMessageLine,
  maxCallLineBytes,
} from "./lines.ts";
import { createPublisher, type Publisher } from "./publisher.ts";
import { createResponder, type Responder } from "./responder.ts";

/** An operator says something once a heartbeat. */
const silentMs = 30_000;

/**
 * The agent host's part over standard input and output, which the operator's `ssh` connects. Resolves when
 * the operator has gone: its input ended, it is silent, or nobody takes the output. Throws `transport_failed`
 * for an input that is no operator's.
 */
export async function joinStdio(deps: {
  clock: Clock;
  ids: Ids;
  version: string;
  /** Known by the name that the operator gives. */
  directoryOf: (host: string) => HostDirectory;
  link: HostLink;
  input: AsyncIterable<Uint8Array>;
  /** Rejects when nobody reads any more. */
  write: (text: string) => Promise<void>;
  signal: AbortSignal;
  log: (line: string) => void;
}): Promise<void> {
  const { clock, log } = deps;
  const over = Promise.withResolvers<void>();
  let role: { publisher: Publisher; responder: Responder } | null = null;
  let dropped = 0;
  let writing = Promise.resolve();
  const send = (text: string): Promise<void> => {
    writing = writing.then(() => deps.write(text));
    writing.catch(over.resolve);
    return writing;
  };
  let cancelSilence = () => {};
  const heard = () => {
    cancelSilence();
    cancelSilence = clock.after(silentMs, over.resolve);
  };

  function begin({ host, epoch, heartbeat_ms }: Extract<OperatorLine, { kind: "hello" }>) {
    void send(encodeLine({ kind: "hello", protocol: lineProtocol, version: deps.version })).catch(() => {});
    const responder = createResponder({
      clock,
      link: deps.link,
      send: (_operator, answer, body) => void send(encodeMessageLine(answer, body)).catch(() => {}),
    });
    const publisher = createPublisher({
      clock,
      host,
      epoch,
      version: deps.version,
      heartbeatMs: heartbeat_ms,
      instance: deps.ids.hex(8),
      directory: deps.directoryOf(host),
      outlet: {
        record: (record) => send(encodeLine({ kind: "record", record })),
        agent: (agent_id, entry) => send(encodeLine({ kind: "agent", agent_id, entry })),
      },
      onError: (error) => log(`the directory is not published: ${messageOf(error)}`),
    });
    publisher.start();
    role = { publisher, responder };
  }

  function take(line: unknown) {
    heard();
    if (!Value.Check(OperatorLine, line)) {
      if (role === null) {
        over.reject(new ServiceError("transport_failed", "the first line is no operator's of this version"));
      }
      dropped += 1;
      return;
    }
    if (line.kind === "hello") {
      if (role === null) begin(line);
      else dropped += 1;
    } else if (role === null) {
      over.reject(new ServiceError("transport_failed", "the operator did not name this host first"));
    } else if (line.kind === "ping") {
      void send(encodeLine({ kind: "pong", sent: line.sent })).catch(() => {});
    } else {
      const body = decodeLineBody(line.body);
      role.responder.receive(body === null ? null : line.head, body ?? new Uint8Array(0));
    }
  }

  const stopped = () => over.resolve();
  deps.signal.addEventListener("abort", stopped, { once: true });
  heard();
  const reader = createLineReader(take, { maxBytes: maxCallLineBytes });
  void (async () => {
    for await (const bytes of deps.input) {
      if (!reader.push(bytes))
        throw new ServiceError("transport_failed", "a line of the operator is too long");
    }
  })().then(over.resolve, over.reject);
  try {
    await over.promise;
  } finally {
    cancelSilence();
    deps.signal.removeEventListener("abort", stopped);
    const begun = role as { publisher: Publisher; responder: Responder } | null;
    begun?.responder.stop();
    // The publisher's last turn may wait for an output that nobody takes.
    writing = Promise.reject(new Error("the operator has gone"));
    writing.catch(() => {});
    void begun?.publisher.stop();
    if (dropped > 0) log(`${dropped} lines of the operator were none of this protocol`);
  }
}
