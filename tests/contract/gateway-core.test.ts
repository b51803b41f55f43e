import { expect, test } from "bun:test";
import { coreEndpoints, documentEndpoints } from "../../src/protocol/core-endpoints.ts";
import { gatewayEndpoints, streamEndpoints } from "../../src/protocol/endpoints.ts";
import { createCoreApp } from "../../src/routes/gateway/core.ts";
import { routesAt } from "../../src/routes/http/route.ts";

/** No handler of it is called. */
const { routes } = createCoreApp({
  services: {} as never,
  guards: [],
  faults: { report: () => "" },
  advice: () => "",
});
const told = (all: readonly { method: string; path: string }[]) =>
  all.map(({ method, path }) => `${method} ${path}`).sort();

test("the core has its routes, all of them", () => {
  expect(told(routes)).toEqual(told(Object.values(coreEndpoints)));
});

test("it takes no request that is for another route", () => {
  const all = Object.values({ ...gatewayEndpoints, ...streamEndpoints, ...documentEndpoints });
  const later = all.filter((one) => !Object.values<unknown>(coreEndpoints).includes(one));
  expect(later.length).toBeGreaterThan(20);
  const taken = later.filter(({ method, path }) =>
    routesAt(routes, path.replace(/:\w+/g, "x")).some((route) => route.method === method),
  );
  expect(told(taken)).toEqual([]);
});
