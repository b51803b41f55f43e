import { Elysia } from "elysia";
import type { ConsoleSession } from "../../protocol/console.ts";
import { consoleEndpoints } from "../../protocol/console-endpoints.ts";
import { documentEndpoints } from "../../protocol/core-endpoints.ts";
import { assetsPath, consolePage, referenceAssetsPath, signInPath } from "../../protocol/wire.ts";
import { type ConsoleAssets, toConsolePage } from "../../services/extensions/console/assets.ts";
import type { SignIn } from "../../services/extensions/console/sign-in.ts";
import { type Handlers, mount, type Routes } from "../http/mount.ts";

/** What the routes of the console call. */
export interface ConsoleServices {
  assets: ConsoleAssets;
  /** The page that shows the description of the API. */
  reference: ConsoleAssets;
  signIn: SignIn;
  /** A new nonce for each page. */
  nonce: () => string;
  /** Whether this server asks for a token. */
  asksForToken: boolean;
  /** How a person gets another link that signs in, one sentence. */
  linkAdvice: string;
  identity: () => Pick<ConsoleSession, "surface" | "agent" | "version">;
  /**
   * Path and query of what the scripts ask for first. Only an answer that says up to which event it counts
   * may be early.
   */
  firstData?: string;
  /**
   * Somebody is about to read: a browser that may gets the page, or a program asks how to sign a browser in,
   * before it gives a person the link.
   */
  onReaderSoon?: () => void;
}

/**
 * The pages of the console and of the API, their scripts and styles, and how a browser signs in. All of it is
 * served by this origin.
 */
export function consoleRoutes(services: ConsoleServices): Routes {
  const { assets, reference, signIn } = services;
  const app = new Elysia({ name: "console", seed: services })
    .use(mount({ name: "console-session", endpoints: consoleEndpoints, handlers: sessionHandlers(services) }))
    // A person who was given the address alone begins here; a program is shown the description of the API.
    .get(
      consolePage,
      async ({ request }) => {
        if (!wantsPage(request)) return redirect(documentEndpoints.referencePage.path);
        const nonce = services.nonce();
        const { surface } = services.identity();
        const mayRead = signedInAs(services, request) !== "bearer";
        if (mayRead) services.onReaderSoon?.();
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
        // A look ahead by a program that shows previews of links must not use the code up.
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
    services.onReaderSoon?.();
    return { schema_version: 1, ...services.identity(), signed_in: signedInAs(services, request) };
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

/** How a request that is let in is; one for the page, which is open to all, may show no token either. */
function signedInAs(
  { asksForToken, signIn }: ConsoleServices,
  request: Request,
): ConsoleSession["signed_in"] {
  if (!asksForToken) return "not_needed";
  return signIn.accepts(request.headers.get("cookie")) ? "cookie" : "bearer";
}

/** No operation of the API. */
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

/** Nothing comes from elsewhere, nothing is sent elsewhere, and no page frames this one. */
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

/** No text becomes code either. */
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
 * No redirect: a browser does not send a strict cookie on one that began on another page or in another
 * program.
 */
function signedIn(cookie: string): Response {
  const headers = { "set-cookie": cookie, refresh: `0; url=${consolePage}` };
  return plainPage("Signed in", `<a href="${consolePage}">Open the console</a>`, { status: 200, headers });
}

function refusedLink(advice: string): Response {
  const text = `This link was used or is too old. ${advice}`;
  return plainPage("Not signed in", text, { status: 403 });
}
