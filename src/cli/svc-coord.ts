#!/usr/bin/env bun
import { runCoordinator } from "./programs.ts";

process.exitCode = await runCoordinator(process.argv.slice(2));
process.exit();
