import { describe, expect, test } from "bun:test";
import { consoleRoutes } from "../../src/routes/console/app.ts";
import { consoleServices } from "../support/console-services.ts";
import { createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { surfaces } from "../support/http-surface.ts";

const token = "right-token";
const host = "127.0.0.1:4100";
const origin = `http://${host}`;
const bearer = { authorization: `Bearer ${token}` };
/** What a browser says of a request that our own page makes. */
const own = { host, origin, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" };
const html = { accept: "text/html,application/xhtml+xml" };

const servers = [
  {
    id: "the coordinator",
    data: "/svc/agents",
    make: (given: string | undefined, allowedOrigins?: string[]) => {
      const bundle = createCoordinatorBundle({
        ...(given ? { token: given } : {}),
        ...(allowedOrigins ? { allowedOrigins } : {}),
      });
      return { bundle, app: bundle.app, clock: bundle.gateway.clock };
    },
  },
  {
    id: "a gateway",
    data: "/v1/status",
    make: (given: string | undefined, allowedOrigins?: string[]) => {
      const bundle = createGatewayBundle({
        ...(given ? { token: given } : {}),
        ...(allowedOrigins ? { allowedOrigins } : {}),
      });
      return { bundle, app: bundle.app, clock: bundle.clock };
    },
  },
];

test("a browser that may read is pointed at the first data, and the server hears of each reader to come", async () => {
  for (const requiresToken of [false, true]) {
    const services = consoleServices({ clock: createFakeClock(), surface: "coordinator", requiresToken });
    let readers = 0;
    const app = consoleRoutes({ ...services, onReaderExpected: () => void readers++ });
    const open = async (headers: Record<string, string>) => {
      const page = await app.fetch(new Request(`${origin}/`, { headers: { ...html, ...headers } }));
      expect(page.status).toBe(200);
      return [
        readers,
        (await page.text()).includes('<link rel="preload" as="fetch" crossorigin href="/first" />'),
      ];
    };
    expect(await open({})).toEqual(requiresToken ? [0, false] : [1, true]);
    const cookie = services.signIn.redeem(services.signIn.createCode().code)?.split(";")[0] ?? "";
    expect(await open({ cookie })).toEqual([requiresToken ? 1 : 2, true]);
    readers = 0;
    // What `svc console` asks before it gives a person the link.
    expect((await app.fetch(new Request(`${origin}/svc/console/session`))).status).toBe(200);
    expect(readers).toBe(1);
  }
});

describe.each(servers)("the console of $id", ({ make, data }) => {
  describe.each(surfaces)("$surface", ({ open }) => {
    test("a browser gets the page, a program the description of the API", async () => {
      const { bundle, app } = make(undefined);
      await using _ = bundle;
      await using http = open((request) => app.fetch(request));
      const page = await http.request("/", { headers: html });
      expect(page.status).toBe(200);
      const policy = page.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-");
      for (const part of ["frame-ancestors 'none'", "require-trusted-types-for 'script'", "base-uri 'none'"])
        expect(policy).toContain(part);
      expect(policy).not.toContain("unsafe");
      const nonce = /'nonce-([0-9a-f]{32})'/.exec(policy)?.[1];
      expect(await page.text()).toContain(`content="${nonce}"`);
      const again = await http.request("/", { headers: html });
      expect(again.headers.get("content-security-policy")).not.toContain(nonce ?? "none");
      expect(page.headers.get("x-content-type-options")).toBe("nosniff");
      expect(page.headers.get("cache-control")).toBe("no-store");
      const led = await http.request("/", { redirect: "manual", headers: { accept: "*/*" } });
      expect([led.status, led.headers.get("location")]).toEqual([302, "/docs"]);
    });

    test("the page of the API runs and asks this server alone", async () => {
      const { bundle, app } = make(token);
      await using _ = bundle;
      await using http = open((request) => app.fetch(request));
      const page = await http.request("/docs");
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(page.headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      expect(page.headers.get("x-frame-options")).toBe("DENY");
      const [, script = ""] = /<script src="([^"]+)"/.exec(await page.text()) ?? [];
      expect((await http.request(script)).status).toBe(200);
    });

    test("an asset is kept for ever, in the encoding that the client takes", async () => {
      const { bundle, app } = make(undefined);
      await using _ = bundle;
      await using http = open((request) => app.fetch(request));
      const asset = (encoding: string) =>
        http.request("/svc/console/assets/main-1.js", { headers: { "accept-encoding": encoding } });
      const plain = await asset("identity");
      expect([plain.headers.get("content-encoding"), await plain.text()]).toEqual([null, "console.log(1);"]);
      expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(plain.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
      expect((await asset("br;q=1, gzip;q=0")).headers.get("content-encoding")).toBeNull();
      expect((await asset("br, gzip")).headers.get("content-encoding")).toBe("gzip");
      const ofReference = await http.request("/svc/console/assets/reference/main-1.js");
      expect([ofReference.status, await ofReference.text()]).toEqual([200, "console.log(1);"]);
      for (const name of [
        "none.js",
        "reference",
        "reference/none.js",
        "__proto__",
        "..%2fmain-1.js",
        "toString",
      ])
        expect((await http.request(`/svc/console/assets/${name}`)).status).toBe(404);
    });
  });

  async function setup(allowedOrigins?: string[]) {
    const { bundle, app, clock } = make(token, allowedOrigins);
    const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
      Promise.resolve(app.fetch(new Request(`${origin}${path}`, { method, headers: { host, ...headers } })));
    const link = async () => {
      const answer = await ask("/svc/console/sign-in-codes", bearer, "POST");
      expect(answer.status).toBe(200);
      return ((await answer.json()) as { sign_in_path: string }).sign_in_path;
    };
    const follow = async (path: string, method = "GET") => {
      const answer = await ask(path, html, method);
      return { status: answer.status, set: answer.headers.get("set-cookie"), headers: answer.headers };
    };
    const signIn = async () => (await follow(await link())).set?.split(";")[0] ?? "";
    const status = async (headers: Record<string, string>, method = "GET") =>
      (await ask(data, headers, method)).status;
    return {
      bundle,
      clock,
      ask,
      link,
      follow,
      signIn,
      status,
      [Symbol.asyncDispose]: () => bundle[Symbol.asyncDispose](),
    };
  }

  test("a link signs one browser in, once", async () => {
    await using server = await setup();
    const link = await server.link();
    // A preview of the link does not use it up.
    expect((await server.follow(link, "HEAD")).set).toBeNull();
    const first = await server.follow(link);
    expect(first.status).toBe(200);
    expect(first.set).toMatch(
      /^svc-console-[0-9a-f]{16}=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect(first.headers.get("refresh")).toBe("0; url=/");
    expect(first.headers.get("referrer-policy")).toBe("no-referrer");
    expect(await server.follow(link)).toMatchObject({ status: 403, set: null });
    const cookie = first.set?.split(";")[0] ?? "";
    expect(await server.status({ ...own, cookie })).toBe(200);
    const session = await server.ask("/svc/console/session", { ...own, cookie });
    expect(await session.json()).toMatchObject({ signed_in: "cookie" });
    const shown = await server.ask("/svc/console/session", bearer);
    expect(await shown.json()).toMatchObject({ signed_in: "bearer" });
  });

  test("a code is worth nothing after two minutes, or when it was invented", async () => {
    await using server = await setup();
    const link = await server.link();
    await server.clock.advance(120_000);
    expect((await server.follow(link)).status).toBe(403);
    for (const path of [
      "/svc/console/sign-in",
      "/svc/console/sign-in?code=",
      `${link.slice(0, -64)}${"0".repeat(64)}`,
    ])
      expect((await server.follow(path)).status).toBe(403);
  });

  test("a code is given to nobody without the token", async () => {
    await using server = await setup();
    expect((await server.ask("/svc/console/sign-in-codes", own, "POST")).status).toBe(401);
    expect((await server.ask("/svc/console/session", own)).status).toBe(401);
  });

  test("a cookie counts only for a page of this very origin", async () => {
    await using server = await setup(["http://127.0.0.1:5173"]);
    const cookie = await server.signIn();
    const { origin: _, ...withoutOrigin } = own;
    expect(await server.status({ ...withoutOrigin, cookie })).toBe(200);
    const refused: Record<string, string>[] = [
      // A page on another port of the same host, which the browser sends the cookie too.
      { ...own, cookie, origin: "http://127.0.0.1:5174", "sec-fetch-site": "same-site" },
      { ...withoutOrigin, cookie, "sec-fetch-site": "same-site" },
      { ...withoutOrigin, cookie, "sec-fetch-site": "cross-site" },
      // An origin that may call shows the token.
      { ...own, cookie, origin: "http://127.0.0.1:5173", "sec-fetch-site": "same-site" },
      // A link that is followed from elsewhere, or an address that is typed.
      { ...withoutOrigin, cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
      { ...withoutOrigin, cookie, "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
      // Neither header: no browser of today.
      { host, cookie },
      { ...own, cookie, origin: "null" },
    ];
    for (const headers of refused) expect([401, 403]).toContain(await server.status(headers));
  });

  test("a cookie of another server, a changed one and one that signed out are refused", async () => {
    await using server = await setup();
    await using other = await setup();
    const cookie = await server.signIn();
    const foreign = await other.signIn();
    const [name] = cookie.split("=");
    const renamed = `${name}=${foreign.split("=")[1]}`;
    for (const wrong of [foreign, renamed, `${cookie}0`, `${name}=`, "", `x${cookie}`])
      expect(await server.status({ ...own, cookie: wrong })).toBe(401);
    expect(await server.status({ ...own, cookie: `${foreign}; ${cookie}` })).toBe(200);
    const out = await server.ask("/svc/console/sign-out", { ...own, cookie }, "POST");
    expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
    expect(await server.status({ ...own, cookie })).toBe(401);
  });

  test("a browser that asks nothing for twelve hours is signed out, one that asks is not", async () => {
    await using server = await setup();
    const cookie = await server.signIn();
    for (const hours of [11, 11]) {
      await server.clock.advance(hours * 3600_000);
      expect(await server.status({ ...own, cookie })).toBe(200);
    }
    await server.clock.advance(12 * 3600_000);
    expect(await server.status({ ...own, cookie })).toBe(401);
  });
});
