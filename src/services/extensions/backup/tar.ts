/** A file, folder or symbolic link in an archive (POSIX ustar, with GNU's long names). */
export interface TarEntry {
  path: string;
  kind: "file" | "folder" | "link";
  size: number;
  modifiedMs: number;
  /** Of a link. */
  target: string;
}

const blockBytes = 512;

/** The size field of a header has twelve octal digits. */
export const maxContentBytes = 8 ** 12 - 1;

/** How many bytes follow content of this size up to the next block. */
export const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes;

/** What ends an archive. */
export const endOfArchive = new Uint8Array(2 * blockBytes);

const longNameType = "L";
const longTargetType = "K";
const types = { file: "0", link: "2", folder: "5" } as const;
/** Names of at most so many bytes fit into a header. */
const shortBytes = 100;
/** No path is longer on any system. */
const maxLongBytes = 64 * 1024;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The header of an entry, after the blocks of a name or target that is too long for it. Pure. */
export function renderHeader(entry: TarEntry): Uint8Array {
  const { path, kind, size, target } = entry;
  const seconds = Math.max(0, Math.floor(entry.modifiedMs / 1000));
  return Buffer.concat([
    ...long(longNameType, path),
    ...long(longTargetType, target),
    block({ path, target, type: types[kind], size: kind === "file" ? size : 0, seconds }),
  ]);
}

function long(type: string, text: string): Uint8Array[] {
  const bytes = encoder.encode(text);
  if (bytes.length <= shortBytes) return [];
  const content = new Uint8Array(bytes.length + 1 + paddingOf(bytes.length + 1));
  content.set(bytes);
  return [block({ path: "././@LongLink", target: "", type, size: bytes.length + 1, seconds: 0 }), content];
}

function block(facts: { path: string; target: string; type: string; size: number; seconds: number }) {
  const bytes = new Uint8Array(blockBytes);
  const put = (at: number, length: number, text: string) =>
    bytes.set(encoder.encode(text).subarray(0, length), at);
  const number = (at: number, length: number, value: number) =>
    put(at, length, `${value.toString(8).padStart(length - 1, "0")}\0`);
  put(0, shortBytes, facts.path);
  number(100, 8, facts.type === types.folder ? 0o700 : 0o600);
  number(108, 8, 0);
  number(116, 8, 0);
  number(124, 12, facts.size);
  number(136, 12, facts.seconds);
  put(148, 8, "        ");
  put(156, 1, facts.type);
  put(157, shortBytes, facts.target);
  put(257, 8, "ustar\x0000");
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(148, 8, `${sum.toString(8).padStart(6, "0")}\0 `);
  return bytes;
}

/** An entry and where in the archive its content begins. */
export interface FoundEntry extends TarEntry {
  contentAt: number;
}

/** No archive of ours: cut off, overwritten, or made by something else. */
export class NotAnArchive extends Error {}

/**
 * The entries in order. `read`: bytes `start` to before `end`, fewer where the archive ends. Throws
 * `NotAnArchive` for what is cut off or damaged, and for an entry that is neither file, folder nor link.
 */
export function* readEntries(
  read: (start: number, end: number) => Uint8Array,
  size: number,
): Generator<FoundEntry> {
  let at = 0;
  const longs = { path: null as string | null, target: null as string | null };
  for (;;) {
    const header = read(at, at + blockBytes);
    if (header.length < blockBytes) throw new NotAnArchive("it was cut off");
    if (header.every((byte) => byte === 0)) return;
    const { type, ...found } = parseHeader(header);
    const contentAt = at + blockBytes;
    at = contentAt + found.size + paddingOf(found.size);
    if (at > size) throw new NotAnArchive("it was cut off");
    if (type === longNameType || type === longTargetType) {
      if (found.size > maxLongBytes) throw new NotAnArchive("a name is too long");
      const text = decoder.decode(read(contentAt, contentAt + found.size)).replace(/\0.*$/s, "");
      longs[type === longNameType ? "path" : "target"] = text;
      continue;
    }
    const kind = kindOf(type);
    yield {
      kind,
      size: found.size,
      modifiedMs: found.modifiedMs,
      contentAt,
      path: longs.path ?? found.path,
      target: longs.target ?? found.target,
    };
    longs.path = null;
    longs.target = null;
  }
}

function kindOf(type: string): TarEntry["kind"] {
  if (type === types.file || type === "\0") return "file";
  if (type === types.folder) return "folder";
  if (type === types.link) return "link";
  throw new NotAnArchive(`it has an entry of type ${JSON.stringify(type)}`);
}

function parseHeader(bytes: Uint8Array) {
  const text = (at: number, length: number) =>
    decoder.decode(bytes.subarray(at, at + length)).replace(/\0.*$/s, "");
  const number = (at: number, length: number) => {
    const digits = text(at, length).trim();
    if (!/^[0-7]+$/.test(digits)) throw new NotAnArchive("a header is damaged");
    return Number.parseInt(digits, 8);
  };
  const sum = bytes.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (sum !== number(148, 8)) throw new NotAnArchive("a header is damaged");
  return {
    path: text(0, shortBytes),
    size: number(124, 12),
    modifiedMs: number(136, 12) * 1000,
    type: String.fromCharCode(bytes[156] ?? 0),
    target: text(157, shortBytes),
  };
}
