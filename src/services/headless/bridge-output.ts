import type { TurnRequest } from "../../protocol/turn-files.ts";
import type { CanonicalEvent } from "../../protocol/turns.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { toOversizeEvent, toStderrEvent } from "./canonical.ts";
import { renderEvent } from "./display.ts";
import { boundsOfRecords, createLineSplitter, type SplitLine } from "./line-splitter.ts";
import type { HeadlessProvider, TurnSummary } from "./provider.ts";
import type { turnPaths } from "./turn-directory.ts";

/** Takes a tool's two streams to disk as they come, unchanged, and turns their lines into events. */
export interface OutputPump {
  stdout(stream: AsyncIterable<Uint8Array>): Promise<void>;
  stderr(stream: AsyncIterable<Uint8Array>): Promise<void>;
  /** After the last output that counts: the events that were still held, and what the turn came to. */
  finish(): { summary: TurnSummary; lastStderr: string | null };
  close(): void;
}

export function createOutputPump(deps: {
  files: Files;
  clock: Clock;
  provider: HeadlessProvider;
  request: TurnRequest;
  paths: ReturnType<typeof turnPaths>;
  show: (text: string) => void;
}): OutputPump {
  const { files, clock, provider, request, paths, show } = deps;
  const parser = provider.parser({ turnIndex: request.turn_index });
  const context = { provider: request.tool, turnIndex: request.turn_index };
  const display = { style: request.display_style, detail: request.display_detail };
  const encoder = new TextEncoder();
  const out = files.openAppend("file:turn-stdout", paths.stdout);
  const err = files.openAppend("file:turn-stderr", paths.stderr);
  const events = files.openAppend("file:turn-events", paths.events);
  let finished = false;
  let lastStderr: string | null = null;

  function emit(found: readonly CanonicalEvent[]): void {
    if (found.length === 0) return;
    events.write(encoder.encode(found.map((event) => `${JSON.stringify(event)}\n`).join("")));
    const text = found.map((event) => renderEvent(event, display)).join("");
    if (text !== "") show(text);
  }

  async function carry(
    stream: AsyncIterable<Uint8Array>,
    name: "stdout" | "stderr",
    toEvents: (text: string, atUtc: string) => CanonicalEvent[],
  ): Promise<void> {
    const file = name === "stdout" ? out : err;
    const splitter = name === "stdout" ? createLineSplitter(boundsOfRecords) : createLineSplitter();
    const read = (lines: readonly SplitLine[]) => {
      const atUtc = timestampNow(clock);
      emit(
        lines.flatMap((line) => [
          ...(line.truncated || line.shortened
            ? [toOversizeEvent(context, { ...line, stream: name }, atUtc)]
            : []),
          ...(line.truncated ? [] : toEvents(line.text, atUtc)),
        ]),
      );
    };
    for await (const chunk of stream) {
      if (finished) return;
      file.write(chunk);
      read(splitter.push(chunk));
    }
    if (!finished) read(splitter.end());
  }

  return {
    stdout: (stream) => carry(stream, "stdout", (text, atUtc) => parser.line(text, atUtc)),
    stderr: (stream) =>
      carry(stream, "stderr", (text, atUtc) => {
        if (text.trim() === "") return [];
        lastStderr = text;
        return [toStderrEvent(context, text, atUtc)];
      }),
    finish() {
      if (!finished) emit(parser.end(timestampNow(clock)));
      finished = true;
      return { summary: parser.summary(), lastStderr };
    },
    close() {
      finished = true;
      for (const file of [out, err, events]) file.close();
    },
  };
}
