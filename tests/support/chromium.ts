import { existsSync } from "node:fs";
import { installPackages } from "./debian-packages.ts";

export const chromiumPath = "/usr/bin/chromium";

/** Debian's Chromium, and a font without which every letter is a box. */
export function installChromium(): Promise<void> {
  return installPackages({
    purpose: "Chromium, which the tests of the console drive, is not installed",
    packages: ["chromium", "fonts-dejavu-core"],
    isThere: () => existsSync(chromiumPath),
  });
}
