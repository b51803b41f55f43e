import type { CanonicalEvent, TurnRequest } from "../../protocol/turn-files.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { renderEvent, toCanonicalEvent, toOversizeEvent, toStderrEvent } from "./display.ts";
import { textOf } from "./json-fields.ts";
import { boundsOfRecords, createLineSplitter, type SplitLine } from "./line-splitter.ts";
import type { HeadlessProvider, TurnSummary } from "./provider.ts";
import type { turnPaths } from "./turn-directory.ts";

type StreamName = "stdout" | "stderr";

/** Takes a tool's two streams to disk as they come, unchanged, and turns their lines into events. */
export type OutputPump = ReturnType<typeof createOutputPump>;

export function createOutputPump(deps: {
  files: Files;
  clock: Clock;
  provider: Pick<HeadlessProvider, "parser">;
  request: TurnRequest;
  paths: ReturnType<typeof turnPaths>;
  show: (text: string) => void;
}) {
  const { files, clock, provider, request, paths, show } = deps;
  const parser = provider.parser({ turnIndex: request.turn_index });
  const context = { provider: request.tool, turnIndex: request.turn_index };
  const display = { style: request.display_style, detail: request.display_detail };
  const encoder = new TextEncoder();
  const events = files.openAppend("file:turn-events", paths.events);
  const streams = {
    stdout: {
      file: files.openAppend("file:turn-stdout", paths.stdout),
      splitter: createLineSplitter(boundsOfRecords),
      toEvents: (text: string, atUtc: string) => parser.line(text, atUtc),
    },
    stderr: {
      file: files.openAppend("file:turn-stderr", paths.stderr),
      splitter: createLineSplitter(),
      toEvents(text: string, atUtc: string) {
        if (text.trim() === "") return [];
        lastStderr = text;
        return [toStderrEvent(context, text, atUtc)];
      },
    },
  };
  let finished = false;
  let lastStderr: string | null = null;

  function emit(found: readonly CanonicalEvent[]): void {
    if (found.length === 0) return;
    events.write(encoder.encode(found.map((event) => `${JSON.stringify(event)}\n`).join("")));
    const text = found.map((event) => renderEvent(event, display)).join("");
    if (text !== "") show(text);
  }

  function read(name: StreamName, lines: readonly SplitLine[]): void {
    const atUtc = timestampNow(clock);
    emit(
      lines.flatMap((line) => [
        ...(line.truncated || line.shortened
          ? [toOversizeEvent(context, { ...line, stream: name }, atUtc)]
          : []),
        ...(line.truncated ? [] : streams[name].toEvents(line.text, atUtc)),
      ]),
    );
  }

  function push(name: StreamName, chunk: Uint8Array): void {
    if (finished) return;
    streams[name].file.write(chunk);
    read(name, streams[name].splitter.push(chunk));
  }

  return {
    push,
    /** Pushes all of a stream; resolves at its end. */
    async carry(name: StreamName, stream: AsyncIterable<Uint8Array>): Promise<void> {
      for await (const chunk of stream) {
        if (finished) return;
        push(name, chunk);
      }
      if (!finished) read(name, streams[name].splitter.end());
    },
    /** An event of ours between those of the tool. */
    note(kind: "progress" | "session", type: string, message: string, data: Record<string, unknown>): void {
      if (finished) return;
      emit([
        toCanonicalEvent(context, {
          kind,
          type,
          message,
          atUtc: timestampNow(clock),
          sessionId: textOf(data["session_id"]),
          data: { summary: message, ...data },
        }),
      ]);
    },
    /** After the last output that counts: the events that were still held, and what the turn came to. */
    finish(): { summary: TurnSummary; lastStderr: string | null } {
      if (!finished) emit(parser.end(timestampNow(clock)));
      finished = true;
      return { summary: parser.summary(), lastStderr };
    },
    close(): void {
      finished = true;
      for (const file of [streams.stdout.file, streams.stderr.file, events]) file.close();
    },
  };
}
