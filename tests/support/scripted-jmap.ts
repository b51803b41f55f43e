import { createJmapClient, type JmapClient } from "../../src/services/mail/jmap/client.ts";
import { createClock } from "../../src/system/clock.ts";
import { boxes, session } from "../unit/mail/jmap/recorded.ts";

type MethodAnswer = Record<string, unknown> | { error: Record<string, unknown> };

/** A JMAP server that answers as a test says: what no real one can be made to do. */
export interface ScriptedJmap extends AsyncDisposable {
  url: string;
  client: JmapClient;
  /** Names of the methods that were called, in order. */
  calls: string[];
  /** By method; more than one answer stand for the calls one after the other. */
  answers: Record<string, (args: Record<string, unknown>) => MethodAnswer | MethodAnswer[]>;
  /** Takes the place of the next answers to a request; false lets it be answered as usual. */
  beforeCall: () => Response | Promise<Response> | null;
  /** The stream of changes; null offers none. */
  events: (() => Response) | null;
}

export function startScriptedJmap(options: { timeoutMs?: number; session?: object } = {}): ScriptedJmap {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/.well-known/jmap") return Response.redirect("/deep/session", 301);
      if (pathname === "/deep/session") {
        const right = request.headers.get("authorization") === `Basic ${btoa("ada:the-secret")}`;
        const body = { ...session, apiUrl: "api", ...options.session };
        return right ? Response.json(body) : new Response("go away, the-secret", { status: 401 });
      }
      if (pathname.startsWith("/jmap/eventsource"))
        return fixture.events?.() ?? new Response(null, { status: 204 });
      if (pathname !== "/deep/api") return new Response("not here", { status: 404 });
      const instead = await fixture.beforeCall();
      return instead ?? Response.json(answer(await request.json()));
    },
  });

  function answer({ methodCalls }: { methodCalls: [string, Record<string, unknown>, string][] }) {
    const methodResponses = methodCalls.flatMap(([name, args, id]) => {
      fixture.calls.push(name);
      const given = fixture.answers[name]?.(args) ?? { error: { type: "unknownMethod" } };
      return [given].flat().map((one) => {
        const [told, body] = "error" in one ? ["error", one.error] : [name, one];
        return [told, body, id];
      });
    });
    return { methodResponses, sessionState: "0" };
  }

  const url = `http://127.0.0.1:${server.port}/.well-known/jmap`;
  const login = { identity: "ada", password: "the-secret" };
  const fixture: ScriptedJmap = {
    url,
    client: createJmapClient({
      clock: createClock(),
      url,
      login: () => login,
      timeoutMs: options.timeoutMs ?? 5000,
    }),
    calls: [],
    answers: {
      "Mailbox/get": () => ({ list: boxes }),
      "Identity/get": () => ({ list: [{ id: "i", email: "ada@svc.localhost" }] }),
    },
    beforeCall: () => null,
    events: null,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
  return fixture;
}
