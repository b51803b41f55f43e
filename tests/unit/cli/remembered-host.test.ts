import { expect, test } from "bun:test";
import { chooseListener } from "../../../src/cli/gateway/gateway-flags.ts";

const access = { token: undefined, allowUnauthenticated: false, allowOrigins: [] };
const refusal = (wished: string | undefined, desired: string) => {
  try {
    chooseListener({ host: wished }, { desired_host: desired }, access);
  } catch (error) {
    return (error as Error).message;
  }
  return null;
};

test("an address that nobody asks for now is named as a remembered one, with the flag that ends it", () => {
  expect(refusal(undefined, "0.0.0.0")).toContain("0.0.0.0 without a token");
  expect(refusal(undefined, "0.0.0.0")).toContain("is remembered: --host 127.0.0.1 takes it back");
  expect(refusal("0.0.0.0", "127.0.0.1")).not.toContain("remembered");
  expect(refusal("127.0.0.1", "0.0.0.0")).toBeNull();
});
