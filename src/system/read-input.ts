import { fstatSync, type Stats, statSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { isAbsent } from "./own-file.ts";

/** The input of a command: a file that a flag names, or standard input. */
export type InputRead =
  | { ok: true; text: string }
  | { ok: false; why: "absent" | "folder" | "device" | "unreadable" | "too_large" | "not_text" };

export interface InputOptions {
  maxBytes: number;
  /** Whether invalid UTF-8 becomes U+FFFD; otherwise it is refused. */
  lossy?: boolean;
}

const chunkBytes = 64 * 1024;

/**
 * The text of a file or of a pipe such as `/dev/fd/63`; links are followed. Stops reading beyond `maxBytes`.
 * Devices are refused without being opened, since some have no end and some change when they are opened.
 * Other errors of the disk are thrown.
 */
export async function readInputFile(path: string, options: InputOptions): Promise<InputRead> {
  try {
    const refused = whyRefused(statSync(path));
    if (refused) return { ok: false, why: refused };
    const { open } = await import("node:fs/promises");
    await using handle = await open(path, "r");
    const opened = whyRefused(await handle.stat());
    return opened ? { ok: false, why: opened } : await readText(chunksOf(handle), options);
  } catch (error) {
    const why = whyFailed(error);
    if (why === null) throw error;
    return { ok: false, why };
  }
}

/** The text of standard input. A device is refused unless it is a terminal or `/dev/null`, which is empty. */
export async function readStandardInput(
  stream: () => AsyncIterable<Uint8Array>,
  options: InputOptions & { isTty: boolean },
): Promise<InputRead> {
  try {
    const facts = fstatSync(0);
    const readable = options.isTty || facts.rdev === statSync("/dev/null").rdev;
    const refused = readable ? null : whyRefused(facts);
    return refused ? { ok: false, why: refused } : await readText(stream(), options);
  } catch (error) {
    const why = whyFailed(error);
    if (why === null) throw error;
    return { ok: false, why };
  }
}

/**
 * Whether a descriptor is a terminal. Loads `node:tty`, which takes 3 ms with Node's streams, only for a
 * character device: pipes, files and closed descriptors are not terminals.
 */
export function isTerminal(descriptor: number): boolean {
  try {
    if (!fstatSync(descriptor).isCharacterDevice()) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule("node:tty").isatty(descriptor);
}

function whyRefused(facts: Stats): "folder" | "device" | null {
  if (facts.isDirectory()) return "folder";
  return facts.isCharacterDevice() || facts.isBlockDevice() ? "device" : null;
}

function whyFailed(error: unknown): "absent" | "folder" | "unreadable" | null {
  const { code } = error as { code?: unknown };
  if (code === "EISDIR") return "folder";
  // A closed standard input is EBADF, a socket's name ENXIO.
  if (isAbsent(error) || code === "EBADF") return "absent";
  return code === "EACCES" || code === "EPERM" || code === "ENXIO" ? "unreadable" : null;
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  while (true) {
    const { bytesRead, buffer } = await handle.read(new Uint8Array(chunkBytes), 0, chunkBytes, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function readText(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, lossy = false }: InputOptions,
): Promise<InputRead> {
  const decoder = new TextDecoder("utf-8", { fatal: !lossy });
  const parts: string[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) return { ok: false, why: "too_large" };
      parts.push(decoder.decode(chunk, { stream: true }));
    }
    parts.push(decoder.decode());
  } catch (error) {
    if (error instanceof TypeError) return { ok: false, why: "not_text" };
    throw error;
  }
  return { ok: true, text: parts.join("") };
}

/**
 * Standard input as text, for a program that must neither fail nor delay its parent: at most `maxBytes`, and
 * only bytes that came within `withinMs`. Reads further bytes too, so that the writer never finds the pipe
 * closed.
 */
export async function readHookInput(limits: { maxBytes: number; withinMs: number }): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const reader = Bun.stdin.stream().getReader();
  const late = new Promise<null>((resolve) => setTimeout(resolve, limits.withinMs, null));
  for (;;) {
    const next = await Promise.race([reader.read(), late]);
    if (next === null || next.done) return text;
    if (bytes < limits.maxBytes) {
      text += decoder.decode(next.value.subarray(0, limits.maxBytes - bytes), { stream: true });
    }
    bytes += next.value.length;
  }
}

/** The bytes of a file that is part of the program, also inside an executable; null without one. */
export async function readCarried(path: string): Promise<Uint8Array | null> {
  const file = Bun.file(path);
  return (await file.exists()) ? new Uint8Array(await file.arrayBuffer()) : null;
}
