import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { ConsoleSession } from "../../../protocol/console.ts";
import { ServiceError } from "../../../system/errors.ts";

/** A page for browsers with its scripts and styles, as scripts/console-assets.ts packs it into one file. */
export interface ConsoleAssets {
  page(): Promise<string>;
  /** In the best encoding that the client takes; null for an unknown name. */
  find(name: string, acceptEncoding: string): Promise<ConsoleAsset | null>;
}

interface ConsoleAsset {
  type: string;
  encoding: "br" | "gzip" | "identity";
  bytes: Uint8Array<ArrayBuffer>;
}

const ArchiveIndex = Type.Object({
  page: Type.String(),
  assets: Type.Record(
    Type.String(),
    Type.Object({
      type: Type.String(),
      encodings: Type.Array(
        Type.Object({
          encoding: Type.Union([Type.Literal("br"), Type.Literal("gzip"), Type.Literal("identity")]),
          start: Type.Integer(),
          size: Type.Integer(),
        }),
      ),
    }),
  ),
});
type ArchiveIndex = Static<typeof ArchiveIndex>;

/** Digits of the length of the index, at the beginning. */
const lengthDigits = 8;

/** `read` brings the archive; it is read when something of it is asked for the first time. */
export function createConsoleAssets(read: () => Promise<Uint8Array | null>): ConsoleAssets {
  let opened: Promise<{ index: ArchiveIndex; content: Uint8Array }> | null = null;

  function archive() {
    opened ??= read()
      .then(openArchive)
      .catch((error: unknown) => {
        opened = null;
        throw error;
      });
    return opened;
  }

  return {
    page: async () => (await archive()).index.page,
    async find(name, acceptEncoding) {
      const { index, content } = await archive();
      const asset = Object.hasOwn(index.assets, name) ? index.assets[name] : undefined;
      const found = asset?.encodings.find(({ encoding }) => accepts(acceptEncoding, encoding));
      if (asset === undefined || found === undefined) return null;
      const bytes = content.slice(found.start, found.start + found.size) as Uint8Array<ArrayBuffer>;
      return { type: asset.type, encoding: found.encoding, bytes };
    },
  };
}

/**
 * The page of the console; `nonce` allows the style elements that its scripts make, `surface` says whose
 * agents it shows. `firstData`: what the scripts ask for first, so that the browser asks while it loads them;
 * null where that is refused. Pure.
 */
export function toConsolePage(
  template: string,
  facts: { nonce: string; surface: ConsoleSession["surface"]; firstData: string | null },
): string {
  const { nonce, surface, firstData } = facts;
  const early = firstData && `<link rel="preload" as="fetch" crossorigin href="${firstData}" />`;
  return template
    .replace("<!-- first data -->", () => early ?? "")
    .replaceAll("%STYLE_NONCE%", nonce)
    .replaceAll("%SURFACE%", surface);
}

function openArchive(bytes: Uint8Array | null) {
  const text = (from: number, to: number) => new TextDecoder().decode(bytes?.subarray(from, to));
  const end = lengthDigits + Number.parseInt(text(0, lengthDigits), 16);
  try {
    const index = Value.Parse(ArchiveIndex, JSON.parse(text(lengthDigits, end)));
    return { index, content: (bytes ?? new Uint8Array()).subarray(end) };
  } catch {
    throw new ServiceError(
      "unavailable",
      "this program was built without the console; from source: bun run build",
    );
  }
}

/** Whether an Accept-Encoding header takes an encoding; a weight of 0 refuses it. Pure. */
function accepts(header: string, encoding: ConsoleAsset["encoding"]): boolean {
  if (encoding === "identity") return true;
  return header.split(",").some((part) => {
    const [name, weight = ""] = part.split(";").map((text) => text.trim().toLowerCase());
    return name === encoding && !/^q=0(?:\.0*)?$/.test(weight);
  });
}
