import { gzipSync } from "node:zlib";
import { assetsPath, consolePage, signInPath } from "../../src/protocol/wire.ts";
import type { ConsoleServices } from "../../src/routes/console/app.ts";
import { createConsoleAssets } from "../../src/services/extensions/console/assets.ts";
import { createSignIn } from "../../src/services/extensions/console/sign-in.ts";
import type { Clock } from "../../src/system/clock.ts";
import { createIds } from "../../src/system/ids.ts";

const script = "console.log(1);";

const consoleTemplate =
  '<!doctype html><meta name="style-nonce" content="%STYLE_NONCE%"><!-- first data --><script src="/svc/console/assets/main-1.js"></script>';
const referenceTemplate = '<!doctype html><script src="/svc/console/assets/reference/main-1.js"></script>';

/** An archive with one script, in the form of scripts/console-assets.ts. */
function archive(page: string): Uint8Array {
  const packed = gzipSync(script);
  const index = {
    page,
    assets: {
      "main-1.js": {
        type: "text/javascript; charset=utf-8",
        encodings: [
          { encoding: "gzip", start: 0, size: packed.length },
          { encoding: "identity", start: packed.length, size: script.length },
        ],
      },
    },
  };
  const head = Buffer.from(JSON.stringify(index));
  const length = head.length.toString(16).padStart(8, "0");
  return Buffer.concat([Buffer.from(length), head, packed, Buffer.from(script)]);
}

/** The console of an app in memory; who signs in is decided by the real service. */
export function consoleServices(deps: {
  clock: Clock;
  surface: "coordinator" | "gateway";
  requiresToken: boolean;
}): ConsoleServices {
  const { clock, surface, requiresToken } = deps;
  const ids = createIds();
  const agent = { agent_id: "id-fake", agent_name: "fake", tool: "demo" };
  return {
    assets: createConsoleAssets(async () => archive(consoleTemplate)),
    reference: createConsoleAssets(async () => archive(referenceTemplate)),
    signIn: createSignIn({ clock, ids }),
    nonce: () => ids.hex(16),
    requiresToken,
    linkAdvice: "Make another",
    firstData: "/first",
    identity: () => ({ surface, agent: surface === "gateway" ? agent : null, version: "0.0.0" }),
  };
}

/** Whether a route is what a browser loads: no operation of the API. */
export function isOfPage(path: string): boolean {
  return (
    path.endsWith("/socket") || path === consolePage || path === signInPath || path.startsWith(assetsPath)
  );
}
