import { describe, expect, test } from "bun:test";
import { toOrigins } from "../../src/cli/gateway/gateway-flags.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";

describe("--allow-origin", () => {
  test.each([
    { given: "http://localhost:3000", want: "http://localhost:3000" },
    { given: "HTTPS://App.Example:443/", want: "https://app.example" },
    { given: "http://[::1]:8080", want: "http://[::1]:8080" },
  ])("$given is what browsers write $want", ({ given, want }) => {
    expect(toOrigins([given, want])).toEqual([want]);
  });

  test.each([
    "*",
    "null",
    "",
    "localhost:3000",
    "https://*.app.example",
    "https://user@app.example",
    "https://app.example/page",
    "https://app.example?x",
    "https://app.example#x",
    "file:///etc",
    "chrome-extension://abc",
  ])("%j is no origin", (given) => {
    expect(() => toOrigins([given])).toThrow("--allow-origin takes one origin");
  });

  test("is heeded by the coordination server and by the gateway of a launched agent, and by no other", async () => {
    await using fixture = createCliFixture();
    const friend = "http://localhost:3000";
    const asked = async (baseUrl: string, path: string, origin: string) => {
      const reply = await fetch(baseUrl + path, { headers: { origin }, proxy: false } as RequestInit);
      return [reply.status, reply.headers.get("access-control-allow-origin")];
    };
    const refused = await fixture.run("svc-coord", ["serve", "--port", "0", "--allow-origin", "*"]);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("takes one origin")]);
    await using coordinator = await startCoordinator(fixture, {
      flags: ["--allow-origin", "https://app.example", "--allow-origin", friend],
    });
    expect(await asked(coordinator.baseUrl, "/svc/agents", friend)).toEqual([200, friend]);
    expect(await asked(coordinator.baseUrl, "/svc/agents", "http://localhost:3001")).toEqual([403, null]);

    const launch = ["agents", "launch", "--tool", "demo", "--gateway-background", "--json", "--agent-name"];
    const open = (await fixture.mgr(...launch, "open", "--allow-origin", friend)).json();
    const plain = (await fixture.mgr(...launch, "plain")).json();
    const baseUrlOf = (launched: Record<string, unknown>) => String(launched["gateway_base_url"]);
    expect(await asked(baseUrlOf(open), "/v1/status", friend)).toEqual([200, friend]);
    expect(await asked(baseUrlOf(plain), "/v1/status", friend)).toEqual([403, null]);
  });
});
