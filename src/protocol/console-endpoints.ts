import { ConsoleSession, SignedOut, SignInCode } from "./console.ts";
import { endpoint } from "./endpoint.ts";

/** What the console in a browser asks the server that it came from; the same at a coordinator and at a gateway. */
export const consoleEndpoints = {
  consoleSession: endpoint({
    method: "GET",
    path: "/svc/console/session",
    summary: "Whom the console talks to, and how it signed in",
    status: 200,
    reply: ConsoleSession,
  }),
  createSignInCode: endpoint({
    method: "POST",
    path: "/svc/console/sign-in-codes",
    summary: "Make a one-time link by which a browser signs in",
    description:
      "The browser that opens the link first gets a cookie for this server, within two minutes. A browser that signed in by such a link may make another one.",
    status: 200,
    reply: SignInCode,
  }),
  signOut: endpoint({
    method: "POST",
    path: "/svc/console/sign-out",
    summary: "Sign this browser out",
    description: "Its cookie is worth nothing afterwards. Harmless to repeat.",
    status: 200,
    reply: SignedOut,
  }),
} as const;
