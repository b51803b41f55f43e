#!/usr/bin/env bun
import { runShort } from "./short/short.ts";

process.exitCode = await runShort(process.argv.slice(2));
process.exit();
