import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { assetsPath, referenceAssetsPath } from "../src/protocol/wire.ts";
import { repositoryRoot } from "./bootstrap.ts";

/** A page with its scripts and styles: one archive, so that a reader of one page does not load the other. */
interface BrowserPage {
  /** Where the archive is made: one file that the executables and the package carry. */
  archive: string;
  /** The folder of its scripts and of the page, `index.html`. */
  source: string;
  entry: string;
  /** Where the assets are served. */
  publicPath: string;
}

export const browserPages: readonly BrowserPage[] = [
  {
    archive: "dist/console.assets",
    source: "src/console",
    entry: "main.tsx",
    publicPath: assetsPath,
  },
  {
    archive: "dist/reference.assets",
    source: "src/console/reference",
    entry: "main.ts",
    publicPath: referenceAssetsPath,
  },
];

const mediaTypes: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  woff2: "font/woff2",
  svg: "image/svg+xml",
  png: "image/png",
};

interface Encoded {
  encoding: "identity" | "gzip" | "br";
  start: number;
  size: number;
}

/** Makes each archive that is not fresh. Returns the files of which all are made, from the repository's root. */
export async function buildBrowserPages(): Promise<{ inputs: string[] }> {
  const inputs: string[] = [];
  for (const page of browserPages) inputs.push(...(await buildPage(page)).inputs);
  return { inputs };
}

/**
 * Bundles one page and packs it into one file: the length of an index as eight hexadecimal digits, the index,
 * then the bytes of each asset, as they are and compressed. Does nothing when it was made from exactly this
 * source. Returns the files of which it is made, from the root of the repository.
 */
async function buildPage(browserPage: BrowserPage): Promise<{ inputs: string[] }> {
  const target = join(repositoryRoot, browserPage.archive);
  const stamp = `${target}.built-from`;
  const fingerprint = fingerprintOf(browserPage);
  if (existsSync(target) && existsSync(stamp)) {
    const before = JSON.parse(readFileSync(stamp, "utf8")) as { fingerprint: string; inputs: string[] };
    if (before.fingerprint === fingerprint) return before;
  }
  const { assets, inputs } = await bundle(browserPage);
  const parts: Uint8Array[] = [];
  let at = 0;
  const index = {
    page: pageOf(browserPage, assets),
    assets: Object.fromEntries(
      assets.map(({ name, bytes }) => {
        const encodings = encodingsOf(bytes).map(({ encoding, bytes: encoded }): Encoded => {
          parts.push(encoded);
          at += encoded.length;
          return { encoding, start: at - encoded.length, size: encoded.length };
        });
        return [
          name,
          { type: mediaTypes[name.split(".").at(-1) ?? ""] ?? "application/octet-stream", encodings },
        ];
      }),
    ),
  };
  const head = new TextEncoder().encode(JSON.stringify(index));
  const length = new TextEncoder().encode(head.length.toString(16).padStart(8, "0"));
  mkdirSync(dirname(target), { recursive: true });
  const aside = `${target}-${process.pid}`;
  writeFileSync(aside, Buffer.concat([length, head, ...parts]));
  renameSync(aside, target);
  writeFileSync(stamp, JSON.stringify({ fingerprint, inputs }));
  return { inputs };
}

interface Asset {
  name: string;
  bytes: Uint8Array;
  /** `entry`: what the page names itself; `early`: what the entry imports before its first line runs. */
  load: "entry" | "early" | "later";
}

async function bundle({
  source,
  entry,
  publicPath,
}: BrowserPage): Promise<{ assets: Asset[]; inputs: string[] }> {
  const built = await Bun.build({
    entrypoints: [join(repositoryRoot, source, entry)],
    root: join(repositoryRoot, source),
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    metafile: true,
    jsx: { runtime: "automatic", importSource: "preact", development: false },
    define: { "process.env.NODE_ENV": '"production"' },
    publicPath,
    naming: { entry: "[name]-[hash].[ext]", chunk: "chunk-[hash].[ext]", asset: "[name]-[hash].[ext]" },
  });
  const outputs = built.metafile?.outputs ?? {};
  const nameOf = (path: string) => path.replace(/^.*\//, "");
  const first = built.outputs.find(({ kind }) => kind === "entry-point");
  const early = new Set<string>();
  const open = [nameOf(first?.path ?? "")];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (early.has(name)) continue;
    early.add(name);
    const output = Object.entries(outputs).find(([path]) => nameOf(path) === name)?.[1];
    for (const one of output?.imports ?? []) {
      if (one.kind === "import-statement") open.push(nameOf(one.path));
    }
  }
  const assets = await Promise.all(
    built.outputs.map(async (output): Promise<Asset> => {
      const name = nameOf(output.path);
      const isNamed = output === first || name.endsWith(".css");
      return {
        name,
        bytes: new Uint8Array(await output.arrayBuffer()),
        load: isNamed ? "entry" : early.has(name) ? "early" : "later",
      };
    }),
  );
  return { assets, inputs: Object.keys(built.metafile?.inputs ?? {}) };
}

/** The page with the names that its assets got. What it needs first is asked for at once. */
function pageOf({ source, publicPath }: BrowserPage, assets: readonly Asset[]): string {
  const tags = (wanted: Asset["load"], ending: string, tag: (url: string) => string) =>
    assets
      .filter(({ name, load }) => load === wanted && name.endsWith(ending))
      .map(({ name }) => tag(publicPath + name))
      .join("\n    ");
  const styles = tags("entry", ".css", (url) => `<link rel="stylesheet" href="${url}" />`);
  const scripts = [
    tags("early", ".js", (url) => `<link rel="modulepreload" href="${url}" />`),
    tags("entry", ".js", (url) => `<script type="module" src="${url}"></script>`),
  ];
  return readFileSync(join(repositoryRoot, source, "index.html"), "utf8")
    .replace("<!-- styles -->", () => styles)
    .replace("<!-- scripts -->", () => scripts.filter((text) => text !== "").join("\n    "));
}

function encodingsOf(bytes: Uint8Array): { encoding: Encoded["encoding"]; bytes: Uint8Array }[] {
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  return [
    { encoding: "br", bytes: brotliCompressSync(bytes, { params: quality }) },
    { encoding: "gzip", bytes: gzipSync(bytes, { level: 9 }) },
    { encoding: "identity", bytes },
  ];
}

function fingerprintOf({ source }: BrowserPage): string {
  const hash = createHash("sha256").update(Bun.version);
  const inSource = (folder: string) =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  const others = ["bun.lock", "tsconfig.json", "scripts/console-assets.ts"].map((path) =>
    join(repositoryRoot, path),
  );
  for (const path of [...inSource(source), ...inSource("src/protocol"), ...others]) {
    hash.update(`\0${path.slice(repositoryRoot.length)}\0`).update(readFileSync(path));
  }
  return hash.digest("hex");
}

if (import.meta.main) await buildBrowserPages();
