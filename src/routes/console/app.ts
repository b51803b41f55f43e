import { Elysia } from "elysia";
import type { ConsoleSession } from "../../protocol/console.ts";
import { consoleEndpoints } from "../../protocol/console-endpoints.ts";
import { documentEndpoints } from "../../protocol/core-endpoints.ts";
import { assetsPath, consolePage, referenceAssetsPath, signInPath } from "../../protocol/wire.ts";
import { type ConsoleAssets, toConsolePage } from "../../services/extensions/console/assets.ts";
import type { SignIn } from "../../services/extensions/console/sign-in.ts";
import { type Handlers, mount, type Routes } from "../http/mount.ts";

/** The services behind the console's routes. */
export interface ConsoleServices {
  assets: ConsoleAssets;
  /** The reference page of the API. */
  reference: ConsoleAssets;
  signIn: SignIn;
  /** Creates a nonce, once for each page. */
  nonce: () => string;
  /** Whether this server requires a token. */
  requiresToken: boolean;
  /** How a person gets another sign-in link, one sentence. */
  linkAdvice: string;
  identity: () => Pick<ConsoleSession, "surface" | "agent" | "version">;
  /**
   * Path and query of the first request of the scripts, which the page starts early. Its answer must name the
   * event up to which it is current.
   */
  firstData?: string;
  /**
   * Called before a person reads: an authorized browser gets the page, or a program asks for the sign-in
   * state before it gives a person a link.
   */
  onReaderExpected?: () => void;
}

/**
 * The pages of the console and of the API, their scripts and styles, and the sign-in of a browser. This
 * origin serves all of them.
 */
export function consoleRoutes(services: ConsoleServices): Routes {
  const { assets, reference, signIn } = services;
  const app = new Elysia({ name: "console", seed: services })
    .use(mount({ name: "console-session", endpoints: consoleEndpoints, handlers: sessionHandlers(services) }))
    // A browser gets the console; a program is redirected to the description of the API.
    .get(
      consolePage,
      async ({ request }) => {
        if (!wantsPage(request)) return redirect(documentEndpoints.referencePage.path);
        const nonce = services.nonce();
        const { surface } = services.identity();
        const mayRead = signInStateOf(services, request) !== "bearer";
        if (mayRead) services.onReaderExpected?.();
        const firstData = mayRead ? (services.firstData ?? null) : null;
        const page = toConsolePage(await assets.page(), { nonce, surface, firstData });
        return new Response(page, { headers: { ...pageHeaders(consolePolicy(nonce)), vary: "accept" } });
      },
      hidden,
    )
    .get(
      documentEndpoints.referencePage.path,
      async () => new Response(await reference.page(), { headers: pageHeaders(referencePolicy) }),
    )
    .get(`${assetsPath}:name`, ({ params, request }) => serveAsset(assets, params.name, request), hidden)
    .get(
      `${referenceAssetsPath}:name`,
      ({ params, request }) => serveAsset(reference, params.name, request),
      hidden,
    )
    .get(
      signInPath,
      ({ request }) => {
        // A HEAD request of a program that previews links must not use the code up.
        const code = request.method === "GET" ? new URL(request.url).searchParams.get("code") : null;
        const cookie = code === null ? null : signIn.redeem(code);
        return cookie === null ? refusedLink(services.linkAdvice) : signedIn(cookie);
      },
      hidden,
    );
  return app as unknown as Routes;
}

const sessionHandlers = (services: ConsoleServices): Handlers<typeof consoleEndpoints> => ({
  consoleSession: ({ request }) => {
    services.onReaderExpected?.();
    return { schema_version: 1, ...services.identity(), signed_in: signInStateOf(services, request) };
  },
  createSignInCode: () => {
    const { code, expiresAtUtc } = services.signIn.createCode();
    return { schema_version: 1, sign_in_path: `${signInPath}?code=${code}`, expires_at_utc: expiresAtUtc };
  },
  signOut: ({ request }) =>
    Response.json(
      { status: "ok", action: "sign_out" },
      { headers: { "set-cookie": services.signIn.signOut(request.headers.get("cookie")) } },
    ),
});

/** The sign-in state of an admitted request. The page is open to all, so its request may lack a token. */
function signInStateOf(
  { requiresToken, signIn }: ConsoleServices,
  request: Request,
): ConsoleSession["signed_in"] {
  if (!requiresToken) return "not_needed";
  return signIn.accepts(request.headers.get("cookie")) ? "cookie" : "bearer";
}

/** Keeps a route out of the OpenAPI document. */
const hidden = { detail: { hide: true } } as const;

async function serveAsset(assets: ConsoleAssets, name: string, request: Request): Promise<Response> {
  const asset = await assets.find(name, request.headers.get("accept-encoding") ?? "");
  if (asset === null) return Response.json({ detail: "no such asset of this version" }, { status: 404 });
  const { type, encoding, bytes } = asset;
  return new Response(bytes, {
    headers: {
      ...safetyHeaders,
      "content-type": type,
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
    },
  });
}

const safetyHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** A page loads from and sends to this origin only, and no page may frame it. */
const policyWith = (styles: string) => [
  "default-src 'none'",
  "script-src 'self'",
  `style-src ${styles}`,
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** The console also forbids turning text into code. */
const consolePolicy = (nonce: string) => [
  ...policyWith(`'self' 'nonce-${nonce}'`),
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

const referencePolicy = policyWith("'self'");

function pageHeaders(policy: readonly string[]): Record<string, string> {
  return {
    ...safetyHeaders,
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": policy.join("; "),
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
  };
}

function wantsPage(request: Request): boolean {
  return (request.headers.get("accept") ?? "").includes("text/html");
}

const redirect = (location: string) =>
  new Response(null, { status: 302, headers: { location, vary: "accept" } });

const plainPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function plainPage(
  title: string,
  text: string,
  init: { status: number; headers?: Record<string, string> },
): Response {
  return new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · svc</title><main><h1>${title}</h1><p>${text}</p></main></html>`,
    {
      status: init.status,
      headers: {
        ...safetyHeaders,
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": plainPolicy,
        ...init.headers,
      },
    },
  );
}

/**
 * A page instead of a redirect: a browser sends no strict cookie after a redirect that began on another page
 * or in another program.
 */
function signedIn(cookie: string): Response {
  const headers = { "set-cookie": cookie, refresh: `0; url=${consolePage}` };
  return plainPage("Signed in", `<a href="${consolePage}">Open the console</a>`, { status: 200, headers });
}

function refusedLink(advice: string): Response {
  const text = `This link was used or is too old. ${advice}`;
  return plainPage("Not signed in", text, { status: 403 });
}
